"""The trained oracle critic: what the rest of a round is expected to bring every seat, given all tiles.

It sees more than any player, and nothing of the action that follows: its value is what returns are compared with
(`kanachan.reinforcement.returns`), and changes no policy's expected gain.

Shapes: B decisions, X all own tokens and events concatenated, D width, S seats.
"""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from annotate.vocabulary import Vocabulary
from kanachan.config import ModelConfig
from kanachan.data.batch import Batch, TokenLayout, collate
from kanachan.data.columns import Columns
from kanachan.data.symmetry import SeatRotation
from kanachan.models.transformer import Encoder, attention_backend
from kanachan.models.weights import Weights, load_tensors, read_weights
from kanachan.objectives.stages import CRITIC
from kanachan.reinforcement.returns import Utility, counted_from_first

CRITIC_KEY = "critic"
"""entry of the card of a critic: its utility, and the weights of the reward predictor that it learned by"""


class CriticNetwork(nn.Module):
    """Predicts a number of every seat, that of the actor first, from what all seats see together; before the first
    step, 0. Outputs of the head are multiplied by `scale`; `is_zero_sum`: the numbers of a decision add up to 0."""

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary, *, scale: float, is_zero_sum: bool) -> None:
        super().__init__()
        self.scale = scale
        self.is_zero_sum = is_zero_sum
        self.encoder = Encoder(config, TokenLayout(vocabulary, hidden=True))
        self.head = nn.Linear(config.width, vocabulary.num_seats)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, batch: Batch) -> Tensor:
        """Returns value_BS, counted from the actor; the batch must have hidden tokens."""
        backend = attention_backend(batch, uses_flex=self.encoder.uses_flex)
        encoded_XD = self.encoder(batch.table_BS, batch.standing_BP2, batch.numeric_BN, backend)
        value_BS = self.head(backend.summary(encoded_XD)).float()
        if self.is_zero_sum:
            value_BS = value_BS - value_BS.mean(dim=1, keepdim=True)
        return self.scale * value_BS


class Critic:
    """A frozen network, its utility, and the card of its weights."""

    def __init__(
        self, network: CriticNetwork, utility: Utility, vocabulary: Vocabulary, card: Mapping[str, Any]
    ) -> None:
        self.network = network.eval().requires_grad_(False)
        self.utility = utility
        self.vocabulary = vocabulary
        self.card = dict(card)
        self.layout = TokenLayout(vocabulary, hidden=True)
        """that of its batches"""
        is_rotated = self.card.get("config", {}).get("data", {}).get("actor_first", True)
        self._seats = SeatRotation(vocabulary) if is_rotated else None

    @classmethod
    def load(cls, path: str | Path, device: torch.device | str = "cpu") -> "Critic":
        """Loads a weights file, or that of a run folder. Raises ValueError: it is missing, cut off or damaged, or not a
        critic; names the file."""
        weights = read_critic(path)
        utility = weights.card[CRITIC_KEY]["utility"]
        utility = Utility(utility["kind"], tuple(utility["points"]))
        network = build_critic(weights.model, utility, weights.vocabulary)
        load_tensors(network, weights.tensors, weights.path)
        return cls(network.to(device), utility, weights.vocabulary, weights.card)

    @torch.no_grad()
    def of(self, columns: Columns, batch: int = 1024) -> NDArray[np.float32]:
        """Predicts value_BS of the seats, counted from seat 0, for decisions of self-play as annotated, before seats
        are rotated, `batch` of them at a time."""
        device = next(self.network.parameters()).device
        rotated = columns if self._seats is None else self._seats.actor_first(columns)
        value_BS = np.empty((len(columns), self.vocabulary.num_seats), np.float32)
        for first in range(0, len(columns), batch):
            rows = rotated.rows(first, min(first + batch, len(columns)))
            values = self.network(collate(rows, self.layout).to(device))
            value_BS[first : first + batch] = values.cpu().numpy()
        return counted_from_first(value_BS, columns.seat)


def build_critic(model: ModelConfig, utility: Utility, vocabulary: Vocabulary) -> CriticNetwork:
    """Builds a new network; torch's seed determines its weights."""
    utility.require(vocabulary.num_seats)
    return CriticNetwork(model, vocabulary, scale=utility.scale, is_zero_sum=utility.is_zero_sum)


def read_critic(path: str | Path) -> Weights:
    """Reads a weights file, which must be that of a critic; raises ValueError, naming it, if it is not."""
    weights = read_weights(path)
    if weights.stage != CRITIC:
        raise ValueError(
            f"{weights.path}: weights of stage {weights.stage}; a critic is expected here (kanachan-train --stage "
            f"{CRITIC})"
        )
    return weights


def critic_card(utility: Utility, reward: str | None, sha256: str | None) -> dict[str, Any]:
    """Returns the entry `CRITIC_KEY` of the card of a critic. `reward`: the reward predictor's path, and of its file
    the `sha256`; None if the utility needs none."""
    return {"utility": asdict(utility), "reward": reward, "sha256": sha256}
