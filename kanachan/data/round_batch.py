"""Converts the rounds of games to tensors, with one row of rounds per game.

Shapes: N rounds, G games, T rounds of a game (padded), S seats.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kanachan.data.round_columns import RoundColumns
from kanachan.data.round_state import RoundState


@dataclass(frozen=True, slots=True)
class Games:
    """The rounds of each game."""

    first_G: NDArray[np.int64]
    """the first round of each game"""
    length_G: NDArray[np.int64]

    @classmethod
    def of(cls, rounds: RoundColumns) -> "Games":
        end_G = np.flatnonzero(rounds.is_last) + 1
        length_G = np.diff(end_G, prepend=0)
        return cls(end_G - length_G, length_G)

    def __len__(self) -> int:
        return len(self.first_G)

    def grid(self, game_G: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Returns the rounds of some games [G, T], padded with each game's last round, and False at padding."""
        length_G1 = self.length_G[game_G, None]
        place_T = np.arange(length_G1.max(initial=0))
        return self.first_G[game_G, None] + np.minimum(place_T, length_G1 - 1), place_T < length_G1


@dataclass(slots=True)
class RoundBatch:
    """The rounds of some games, and the results of the games."""

    state: RoundState
    """[G, T, …]"""
    is_round_GT: Tensor
    """False at padding"""
    rank_GS: Tensor
    """int64: rank of each seat at the end, 0 is first"""
    grading_GS: Tensor
    """float32: the grading points of the game"""
    weight: Tensor
    """float32: the number of rounds in the batch, divided by the mean over the micro-batches of the step"""

    @classmethod
    def of(cls, rounds: RoundColumns, games: Games, game_G: NDArray[np.int64], weight: float = 1.0) -> "RoundBatch":
        row_GT, is_round_GT = games.grid(game_G)
        row_G = games.first_G[game_G]
        return cls(
            RoundState.of_rounds(rounds.take(row_GT)),
            torch.from_numpy(is_round_GT),
            torch.from_numpy(rounds.rank[row_G].astype(np.int64)),
            torch.from_numpy(rounds.grading_delta[row_G].astype(np.float32)),
            torch.tensor(weight),
        )

    def __len__(self) -> int:
        return len(self.is_round_GT)

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Self:
        def moved(tensor: Tensor) -> Tensor:
            return tensor.to(device, non_blocking=non_blocking)

        tensors = (self.is_round_GT, self.rank_GS, self.grading_GS, self.weight)
        return type(self)(self.state.each(moved), *map(moved, tensors))
