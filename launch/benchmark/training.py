"""Benchmark of training, in decisions a second, data included, next to a plain implementation.

The plain implementation: lines of text parsed again in each epoch, `default_collate`, every row padded to one fixed
length, and torch's `nn.TransformerEncoder` over situation and candidates together. Its situations are not augmented.

Shapes: B decisions, T tokens, A candidates, D width.
"""

from collections.abc import Callable, Iterator
from itertools import chain, repeat
from pathlib import Path

import torch
import torch.nn.functional as F
from estimates import Estimate, in_turns
from loading import batches_of
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from annotate.annotation import parse_line
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import ModelConfig, ObjectiveConfig, OptimConfig
from kanachan.data.batch import Batch
from kanachan.objectives.networks import build_network
from kanachan.training.optimizers import make_optimizer
from kanachan.training.throughput import matrix_flops_per_second, training_flops

LENGTH = 184
"""tokens of a row of the plain network: numbers, sparse features, events, candidates, padding"""
STEPS = 3
"""of what `steps_of` returns"""
_V = FOUR_PLAYERS
_FIRST = (1 + len(_V.numeric), 1 + len(_V.numeric) + _V.sparse.size)  # of sparse features, of events
_FIRST_ACTION = _FIRST[1] + _V.progression.size


class Lines(Dataset):
    """A data set that parses a line whenever it is read."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        annotation = parse_line(self.lines[index], _V)
        tokens = [
            *range(1, _FIRST[0]),
            *(_FIRST[0] + token for token in annotation.sparse),
            *(_FIRST[1] + token for token in annotation.progression),
        ]
        first_candidate = len(tokens)
        tokens += [_FIRST_ACTION + token for token in annotation.actions]
        assert len(tokens) <= LENGTH
        position = torch.arange(LENGTH)
        return {
            "token": F.pad(torch.tensor(tokens), (0, LENGTH - len(tokens))),
            "is_candidate": (position >= first_candidate) & (position < len(tokens)),
            "numeric": torch.tensor(annotation.numeric, dtype=torch.float32) / 10_000,
            "chosen": torch.tensor(first_candidate + annotation.chosen),
        }


class PlainNetwork(nn.Module):
    """The network of the plain implementation."""

    def __init__(self, model: ModelConfig) -> None:
        super().__init__()
        self.token = nn.Embedding(_FIRST_ACTION + _V.action.size, model.width, padding_idx=0)
        self.position = nn.Parameter(torch.randn(LENGTH, model.width))
        self.number = nn.Parameter(torch.randn(len(_V.numeric), model.width))
        layer = nn.TransformerEncoderLayer(
            model.width, model.heads, model.feedforward, model.dropout, F.gelu, batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, model.layers, enable_nested_tensor=False)
        self.head = nn.Linear(model.width, 1)

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Computes the cross-entropy of the actions taken."""
        hidden_BTD = self.token(batch["token"]) + self.position
        number_BND = batch["numeric"][:, :, None] * self.number
        hidden_BTD = hidden_BTD + F.pad(number_BND, (0, 0, 0, LENGTH - number_BND.shape[1]))
        hidden_BTD = self.encoder(hidden_BTD, src_key_padding_mask=batch["token"] == 0)
        logit_BT = self.head(hidden_BTD).squeeze(2).masked_fill(~batch["is_candidate"], -torch.inf)
        return F.cross_entropy(logit_BT, batch["chosen"])


def measure_train(lines: list[str], shards: Path, model: ModelConfig, batch: int, repeats: int) -> Estimate:
    """Measures decisions a second, from shards on disk to updated weights, against the plain way from lines of text."""
    micro_batch = 64 if batch % 64 == 0 else batch
    network, objective = build_network("imitation", model, ObjectiveConfig(), _V)
    seen: list[Batch] = []

    def losses() -> Iterator[Tensor]:
        for micro in batches_of(shards, batch, micro_batch, actor_first=True):
            seen.append(micro)
            yield objective.loss(network(micro), micro)["loss"] * micro_batch / batch

    plain_network = PlainNetwork(model)
    loader = DataLoader(Lines(lines), batch_size=batch, shuffle=True, drop_last=True)
    plain_losses = (plain_network(each) for each in chain.from_iterable(repeat(loader)))
    ours, plain = in_turns(
        steps_of(network, losses(), batch // micro_batch), steps_of(plain_network, plain_losses, 1), repeats
    )
    speed, plain_speed = STEPS * batch / ours, STEPS * batch / plain
    work, matrix_speed = training_flops(model, seen), matrix_flops_per_second(torch.device("cpu"), torch.float32)
    return Estimate(
        part="train",
        what=f"train, {sum(p.numel() for p in network.parameters()):,} parameters, batch {batch}",
        unit="decisions/s",
        ours=speed,
        plain=f"nn.TransformerEncoder on {LENGTH} tokens, lines parsed, default_collate",
        plainly=plain_speed,
        more={
            "decisions that share their events": len(seen) * micro_batch / sum(len(b.event_GE) for b in seen),
            "GFLOP a decision": work / 1e9,
            "matrix products, GFLOP/s": matrix_speed / 1e9,
            "share of the matrix products' speed": speed * work / matrix_speed,
        },
    )


def measure_bf16(shards: Path, model: ModelConfig, batch: int, repeats: int) -> Estimate:
    """Measures decisions a second with matrix products in bf16, against fp32, each with separate batches."""
    (parameters, in_bf16), (_, in_fp32) = (
        fresh_steps(shards, model, batch, use_bf16=use_bf16) for use_bf16 in (True, False)
    )
    bf16, fp32 = in_turns(in_bf16, in_fp32, repeats)
    return Estimate(
        part="train",
        what=f"train in bf16, {parameters:,} parameters, batch {batch}",
        unit="decisions/s",
        ours=STEPS * batch / bf16,
        plain="the same in fp32",
        plainly=STEPS * batch / fp32,
    )


def fresh_steps(shards: Path, model: ModelConfig, batch: int, *, use_bf16: bool) -> tuple[int, Callable[[], None]]:
    """Returns the parameters of a fresh network, and a function that trains it for `STEPS` steps."""
    micro_batch = 64 if batch % 64 == 0 else batch
    network, objective = build_network("imitation", model, ObjectiveConfig(), _V)

    def losses() -> Iterator[Tensor]:
        for micro in batches_of(shards, batch, micro_batch, actor_first=True):
            with torch.autocast("cpu", torch.bfloat16, enabled=use_bf16):
                loss = objective.loss(network(micro), micro)["loss"] * micro_batch / batch
            yield loss

    return sum(p.numel() for p in network.parameters()), steps_of(network, losses(), batch // micro_batch)


def steps_of(network: nn.Module, losses: Iterator[Tensor], per_step: int) -> Callable[[], None]:
    """Returns a function that takes `STEPS` steps, each over so many micro-batches."""
    network.train()
    optimizer = make_optimizer(network, OptimConfig())

    def train() -> None:
        for _ in range(STEPS):
            for _ in range(per_step):
                next(losses).backward()
            nn.utils.clip_grad_norm_(network.parameters(), OptimConfig.clip)
            optimizer.step()
            optimizer.zero_grad()

    return train
