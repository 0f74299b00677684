"""The rounds of games as columns: each round's start, its score changes and the end of its game. Does not use torch.

Shapes: N rounds, S seats (0 is the first dealer of the game), B decisions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from annotate.game.grading import ranks_of
from annotate.game.record import STICK
from annotate.game.results import GameSummary
from annotate.vocabulary import Vocabulary
from kanachan.data.columns import Columns, splitmix64, token_value

TYPES: dict[str, type[np.integer]] = {
    "game": np.uint64,
    **dict.fromkeys(("number", "wind", "dealer", "room", "style", "grade", "rank"), np.uint8),
    **dict.fromkeys(("honba", "deposits", "score", "delta", "final_score", "grading_delta"), np.int32),
}
"""types of the columns of rounds"""
BY_SEAT = frozenset({"grade", "score", "delta", "final_score", "rank", "grading_delta"})
"""columns with a number for each seat"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundColumns:
    """Some rounds, one per row, sorted by game and by their order within the game."""

    game: NDArray[np.uint64]  # [N], game_key of the game's id
    number: NDArray[np.uint8]
    """[N], place among the known rounds of its game, from 0"""
    wind: NDArray[np.uint8]  # [N], 0 East
    dealer: NDArray[np.uint8]  # [N], a seat
    honba: NDArray[np.int32]  # [N]
    deposits: NDArray[np.int32]
    """[N], riichi sticks on the table at the start"""
    room: NDArray[np.uint8]  # [N]
    style: NDArray[np.uint8]  # [N], 0 East only, 1 East and South
    grade: NDArray[np.uint8]  # [N, S]
    score: NDArray[np.int32]  # [N, S], at the start
    delta: NDArray[np.int32]
    """[N, S], all score changes of the round: `score + delta` are the scores at the start of the next round"""
    final_score: NDArray[np.int32]
    """[N, S], at the end of the game, including leftover deposits"""
    rank: NDArray[np.uint8]  # [N, S], at the end of the game, 0 first
    grading_delta: NDArray[np.int32]  # [N, S], change by the game

    def __len__(self) -> int:
        return len(self.game)

    @property
    def num_seats(self) -> int:
        return self.score.shape[1]

    @property
    def is_last(self) -> NDArray[np.bool_]:
        """Whether a row is the last of its game [N]."""
        is_last = np.ones(len(self), bool)
        is_last[:-1] = self.game[1:] != self.game[:-1]
        return is_last

    @property
    def is_whole(self) -> NDArray[np.bool_]:
        """Whether the continuation of each round is known [N]: the next row is the next round, or for the last row of a
        game, the game ended with it. This is determined from scores, deposits, dealer and honba."""
        after_NS = self.score + self.delta
        deposits_N = self.deposits - self.delta.sum(axis=1) // STICK  # deposits left on the table
        is_whole = (after_NS + STICK * deposits_N[:, None] * (self.rank == 0) == self.final_score).all(axis=1)
        place = self.wind.astype(np.int64) * self.num_seats + self.dealer
        is_repeated = (place[1:] == place[:-1]) & (self.honba[1:] == self.honba[:-1] + 1)
        is_advanced = (place[1:] == place[:-1] + 1) & ((self.honba[1:] == 0) | (self.honba[1:] == self.honba[:-1] + 1))
        is_followed = (is_repeated | is_advanced) & (after_NS[:-1] == self.score[1:]).all(axis=1)
        is_followed &= self.deposits[1:] == deposits_N[:-1]
        is_whole[:-1] = np.where(self.is_last[:-1], is_whole[:-1], is_followed)
        return is_whole

    def rows(self, first: int, last: int) -> Self:
        """Returns the rows `first` up to, but not including, `last`, without copying."""
        return type(self)(**{f.name: getattr(self, f.name)[first:last] for f in fields(self)})

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Self:
        """Copies some rows, given by their places or a mask."""
        return type(self)(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})


def rounds_of_game(game: int, summary: GameSummary) -> RoundColumns:
    wind, dealer, honba, deposits, score, delta = zip(*summary.rounds, strict=True)
    of_game = {
        "game": game,
        "room": summary.room,
        "style": summary.style,
        "grade": summary.grades,
        "final_score": summary.final_scores,
        "rank": ranks_of(summary.final_scores),
        "grading_delta": summary.grading_deltas,
    }
    columns: dict[str, Any] = {name: [value] * len(wind) for name, value in of_game.items()}
    columns |= {"number": range(len(wind)), "wind": wind, "dealer": dealer, "honba": honba}
    columns |= {"deposits": deposits, "score": score, "delta": delta}
    return RoundColumns(**{name: np.array(column, TYPES[name]) for name, column in columns.items()})


def concatenated(parts: Sequence[RoundColumns]) -> RoundColumns:
    """Joins one or more parts of rounds in their order."""
    return RoundColumns(
        **{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(RoundColumns)}
    )


class RoundIndex:
    """Finds the rows of rounds by game, wind, dealer and honba."""

    def __init__(self, rounds: RoundColumns) -> None:
        key_N = _keys(rounds.game, rounds.wind, rounds.dealer, rounds.honba)
        self._row_N = np.argsort(key_N, kind="stable")
        self._key_N = key_N[self._row_N]

    def rows_of(self, columns: Columns, vocabulary: Vocabulary) -> NDArray[np.int64]:
        """Returns the row of each decision's round [B], or -1 if there is none; seats must not be rotated yet."""
        wind_B, dealer_B = (token_value(columns.sparse, vocabulary, name) for name in ("wind", "round"))
        honba_B = columns.numeric[:, vocabulary.numeric.index("honba")]
        if len(self._row_N) == 0:
            return np.full(len(columns), -1)
        key_B = _keys(columns.game, wind_B, dealer_B, honba_B)
        place_B = np.minimum(np.searchsorted(self._key_N, key_B), len(self._row_N) - 1)
        return np.where(self._key_N[place_B] == key_B, self._row_N[place_B], -1)


def _keys(
    game_B: NDArray[np.uint64], wind_B: NDArray[np.integer], dealer_B: NDArray[np.integer], honba_B: NDArray[np.integer]
) -> NDArray[np.uint64]:
    round_B = wind_B.astype(np.uint64) << np.uint64(8) | dealer_B.astype(np.uint64)
    return splitmix64(
        game_B ^ splitmix64(honba_B.astype(np.int64).astype(np.uint64)) ^ splitmix64(round_B << np.uint64(32))
    )
