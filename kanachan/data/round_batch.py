"""Converts the rounds of games to tensors, one game after another.

Shapes: N rounds, G games, S seats.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kanachan.data.batch import with_each
from kanachan.data.columns import spans
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

    def rounds_of(self, game_G: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the rounds of some games, one game after another."""
        return spans(self.first_G[game_G], self.length_G[game_G])


@dataclass(slots=True)
class RoundBatch:
    """The rounds of some games, each with the results of its game."""

    state: RoundState
    """[N, …]"""
    rank_NS: Tensor
    """int64: rank of each seat at the end, 0 is first"""
    grading_NS: Tensor
    """float32: the grading points of the game"""
    delta_NS: Tensor
    """float32: the points of each seat in the round"""
    is_followed_N: Tensor
    """bool: whether the next row is the next round of the game"""
    num_games: int
    weight: Tensor
    """float32: the number of rounds in the batch, divided by the mean over the micro-batches of the step"""

    @classmethod
    def of(cls, rounds: RoundColumns, games: Games, game_G: NDArray[np.int64], weight: float = 1.0) -> "RoundBatch":
        chosen = rounds.take(games.rounds_of(game_G))
        return cls(
            RoundState.of_rounds(chosen),
            torch.from_numpy(chosen.rank.astype(np.int64)),
            torch.from_numpy(chosen.grading_delta.astype(np.float32)),
            torch.from_numpy(chosen.delta.astype(np.float32)),
            torch.from_numpy(chosen.is_whole & ~chosen.is_last),
            len(game_G),
            torch.tensor(weight),
        )

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Self:
        return with_each(self, lambda tensor: tensor.to(device, non_blocking=non_blocking))
