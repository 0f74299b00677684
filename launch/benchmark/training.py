"""Decisions a second that are learnt from, beside the same network made of torch's own layers.

Shapes: B decisions, T tokens, D width.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import torch
import torch.nn.functional as F
from figures import Figure, in_turns
from loading import batches_of
from torch import Tensor, nn

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.accounting import training_flops
from kanachan.batch import Batch, TokenLayout
from kanachan.checkpoint import build_network
from kanachan.config import DataConfig, ModelConfig, ObjectiveConfig, OptimConfig
from kanachan.model import Encoder, Network
from kanachan.objectives import Objective
from kanachan.stage import parameter_groups

FIXED_LENGTH = 184
"""tokens to which the plain network's batches are padded: more than any situation has"""
_MATRIX = 1536
_NUM_BATCHES = 2


class PlainEncoder(Encoder):
    """The same embeddings, with torch's own transformer layers."""

    def __init__(self, config: ModelConfig, layout: TokenLayout, max_progression: int) -> None:
        super().__init__(replace(config, layers=1), layout, max_progression)
        layer = nn.TransformerEncoderLayer(
            config.width, config.heads, config.feedforward, config.dropout, F.gelu, batch_first=True, norm_first=True
        )
        self.blocks = nn.ModuleList()
        self.plain = nn.TransformerEncoder(layer, config.layers, enable_nested_tensor=False)

    def forward(self, token_BT: Tensor, position_BT: Tensor, numeric_BN: Tensor) -> Tensor:
        hidden_BTD = self.token_embedding(token_BT) + self.position_embedding(position_BT)
        value_BND = self._embed_numbers(numeric_BN)
        hidden_BTD = hidden_BTD + F.pad(value_BND, (0, 0, 1, hidden_BTD.shape[1] - 1 - value_BND.shape[1]))
        return self.norm(self.plain(hidden_BTD, src_key_padding_mask=token_BT == TokenLayout.PAD))


def measure_train(shards: Path, model: ModelConfig, repeats: int) -> Figure:
    """Decisions a second of forward, backward and optimiser, against torch's layers on batches of fixed length."""
    size, micro_size = DataConfig.batch, DataConfig.micro_batch
    batches = list(islice(batches_of(shards, size, micro_size), _NUM_BATCHES * size // micro_size))
    padded = [_padded(batch) for batch in islice(batches_of(shards, size, size), 1)]
    padded = [_rows(batch, first, first + micro_size) for batch in padded for first in range(0, size, micro_size)]
    network, objective = build_network("imitation", model, ObjectiveConfig(), FOUR_PLAYERS)
    plain_network, _ = build_network("imitation", model, ObjectiveConfig(), FOUR_PLAYERS)
    plain_network.encoder = PlainEncoder(model, TokenLayout(FOUR_PLAYERS), FOUR_PLAYERS.max_progression)
    per_step = size // micro_size
    ours, plain = in_turns(
        _training(network, objective, batches, per_step), _training(plain_network, objective, padded, per_step), repeats
    )
    speed = sum(map(len, batches)) / ours
    plain_speed = sum(map(len, padded)) / plain
    work, matrix_speed = training_flops(model, batches), matrix_flops_per_second(repeats)
    return Figure(
        part="train",
        what=f"train, {sum(p.numel() for p in network.parameters()):,} parameters",
        unit="decisions/s",
        ours=speed,
        plain=f"the same network as nn.TransformerEncoder, batches padded to {FIXED_LENGTH} tokens",
        plainly=plain_speed,
        more={
            "GFLOP a decision": work / 1e9,
            "matrix products, GFLOP/s": matrix_speed / 1e9,
            "share of the matrix products' speed": speed * work / matrix_speed,
            "plain network's share": plain_speed * work / matrix_speed,
        },
    )


def _training(network: Network, objective: Objective, batches: list[Batch], per_step: int) -> Callable[[], None]:
    optimizer = torch.optim.AdamW(parameter_groups(network, OptimConfig()), fused=True)

    def train() -> None:
        for number, batch in enumerate(batches):
            (objective.loss(network(batch), batch)["loss"] / per_step).backward()
            if (number + 1) % per_step == 0:
                nn.utils.clip_grad_norm_(network.parameters(), OptimConfig.clip)
                optimizer.step()
                optimizer.zero_grad()

    return train


def _padded(batch: Batch) -> Batch:
    missing = FIXED_LENGTH - batch.token_BT.shape[1]
    assert missing >= 0
    return replace(
        batch, token_BT=F.pad(batch.token_BT, (0, missing)), position_BT=F.pad(batch.position_BT, (0, missing))
    )


def _rows(batch: Batch, first: int, last: int) -> Batch:
    return Batch(*(getattr(batch, name)[first:last] for name in batch.__dataclass_fields__))


def matrix_flops_per_second(repeats: int) -> float:
    """What this machine makes of the product of two square matrices in single precision."""
    a, b = torch.randn(_MATRIX, _MATRIX), torch.randn(_MATRIX, _MATRIX)
    first, second = in_turns(lambda: a @ b, lambda: b @ a, 3 * repeats)
    return 2 * _MATRIX**3 / min(first, second)
