"""Observations and decisions as columns of numbers, which shards contain, symmetries permute and batches are made from.
This module does not use torch.

Shapes: B rows (decisions), N numeric features, R results.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from hashlib import sha256
from itertools import pairwise
from struct import pack
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from annotate.annotation import Annotation, Observation
from annotate.vocabulary import Vocabulary

_KEY = re.compile("[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Ragged:
    """Concatenated rows of unequal length: row i is `values[starts[i] : starts[i + 1]]`."""

    values: NDArray[np.uint16]
    starts: NDArray[np.int64]
    """one more element than rows; the first is 0"""

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    def rows(self, first: int, last: int) -> "Ragged":
        """Returns the rows `first` up to, but not including, `last`."""
        starts = self.starts[first : last + 1]
        return Ragged(self.values[starts[0] : starts[-1]], starts - starts[0])

    def take(self, rows: NDArray[np.int64]) -> "Ragged":
        """Returns `rows` in their order."""
        lengths = self.lengths[rows]
        return Ragged(self.values[spans(self.starts[rows], lengths)], np.concatenate([[0], np.cumsum(lengths)]))


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationColumns:
    """Some observations as columns: all inputs of a network."""

    sparse: Ragged
    progression: Ragged
    actions: Ragged
    numeric: NDArray[np.int32]  # [B, N]
    seat: NDArray[np.int64]  # [B], the deciding seat, in the numbering of the other columns

    def __len__(self) -> int:
        return len(self.seat)

    def rows(self, first: int, last: int) -> Self:
        """Returns the rows `first` up to, but not including, `last`, without copying."""
        parts: dict[str, Any] = {f.name: _span(getattr(self, f.name), first, last) for f in fields(self)}
        return type(self)(**parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns(ObservationColumns):
    """Some decisions as columns: observations with their labels."""

    game: NDArray[np.uint64]  # [B], game_key of the game's id
    chosen: NDArray[np.uint8]  # [B], index into the row's actions
    results: NDArray[np.int32]  # [B, R]
    hidden: Ragged | None = None
    """the hands of the next, the opposite and the previous seat (`hand` of the hidden field), if they are known"""
    log_probability: NDArray[np.float32] | None = None
    """[B], in self-play the action's log probability in the distribution it was sampled from; NaN without such one"""
    label: NDArray[np.float32] | None = None
    """[B, L], soft labels instead of the results, if there are any (`kanachan.data.loader.Labeller`); they count seats
    from the actor"""


def spans(first: NDArray[np.integer] | int, lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """Returns the numbers first, first + 1 … of each span, one span after another."""
    starts = np.cumsum(lengths) - lengths
    return np.repeat(first - starts, lengths) + np.arange(int(lengths.sum()))


def _span(column: Any, first: int, last: int) -> Any:
    if column is None:
        return None
    return column.rows(first, last) if isinstance(column, Ragged) else column[first:last]


def game_key(game: str) -> int:
    """Computes the 64-bit key of a game's id: the first 8 bytes of its SHA-256, big endian. An id of 16 hexadecimal
    digits is the key itself, as in text that was made from shards."""
    if _KEY.fullmatch(game):
        return int(game, 16)
    return int.from_bytes(sha256(game.encode()).digest()[:8], "big")


def token_value(sparse: Ragged, vocabulary: Vocabulary, block_name: str) -> NDArray[np.int64]:
    """Returns the index [B] of each row's token within a block; every row has exactly one token of the block."""
    block = vocabulary.sparse[block_name]
    offsets = sparse.values - np.uint16(block.first)  # wraps round below the block
    index_B = offsets[offsets < block.size].astype(np.int64)
    assert len(index_B) == len(sparse), f"{len(index_B)} tokens of {block_name} in {len(sparse)} rows"
    return index_B


def round_keys(columns: Columns, vocabulary: Vocabulary) -> NDArray[np.uint64]:
    """Computes 64-bit keys [B] from the game, the round and the deciding seat of each row, before seats are rotated."""
    is_of_round = np.zeros(vocabulary.sparse.size, bool)
    for name in ("seat", "wind", "round"):
        block = vocabulary.sparse[name]
        is_of_round[block.first : block.first + block.size] = True
    values = columns.sparse.values
    token_B3 = values[is_of_round[values]].reshape(len(columns), 3).astype(np.uint64)
    honba_B = columns.numeric[:, 0].astype(np.uint64)
    place_B = (token_B3 << np.array([0, 16, 32], np.uint64)).sum(axis=1, dtype=np.uint64)
    return splitmix64(splitmix64(columns.game ^ splitmix64(honba_B)) + place_B)


def splitmix64(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Applies SplitMix64's finaliser: every bit of the result depends on every bit of `x`."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def columns_of_observations(observations: Sequence[Observation], vocabulary: Vocabulary) -> ObservationColumns:
    """Converts valid observations to columns."""
    return ObservationColumns(**_observed(observations, vocabulary))


def columns_of_annotations(
    annotations: Sequence[Annotation],
    vocabulary: Vocabulary,
    log_probability: Sequence[float | None] | None = None,
) -> Columns:
    """Converts checked annotations (`annotate.annotation.check`) to columns; with hidden hands if all have them.
    `log_probability`: of each action, in games of self-play; None becomes NaN."""
    key_of = {game: game_key(game) for game in {a.game for a in annotations}}
    return Columns(
        **_observed(annotations, vocabulary),
        game=np.array([key_of[a.game] for a in annotations], np.uint64),
        chosen=np.array([a.chosen for a in annotations], np.uint8),
        results=_flat("i", [a.results for a in annotations]).reshape(-1, len(vocabulary.results)),
        hidden=_hidden_hands([a.hidden for a in annotations], vocabulary),
        log_probability=None if log_probability is None else np.array(log_probability, np.float32),
    )


def _observed(observations: Sequence[Observation | Annotation], vocabulary: Vocabulary) -> dict[str, Any]:
    sparse = _ragged([o.sparse for o in observations])
    return {
        "sparse": sparse,
        "progression": _ragged([o.progression for o in observations]),
        "actions": _ragged([o.actions for o in observations]),
        "numeric": _flat("i", [o.numeric for o in observations]).reshape(-1, len(vocabulary.numeric)),
        "seat": token_value(sparse, vocabulary, "seat"),
    }


def annotations_of_columns(columns: Columns) -> list[Annotation]:
    """Converts columns back to annotations; ids of games become their keys as 16 hexadecimal digits."""
    sparse, progression, actions = map(_tuples, (columns.sparse, columns.progression, columns.actions))
    hidden = None if columns.hidden is None else _tuples(columns.hidden)
    return [
        Annotation(
            game=f"{game:016x}",
            sparse=sparse[i],
            numeric=tuple(columns.numeric[i].tolist()),
            progression=progression[i],
            actions=actions[i],
            chosen=int(columns.chosen[i]),
            results=tuple(columns.results[i].tolist()),
            hidden=None if hidden is None else hidden[i],
        )
        for i, game in enumerate(columns.game.tolist())
    ]


def _hidden_hands(fields: Sequence[tuple[int, ...] | None], vocabulary: Vocabulary) -> Ragged | None:
    known = [field for field in fields if field is not None]
    if not known or len(known) < len(fields):
        return None
    wall = vocabulary.hidden["wall"].first
    return _ragged([tuple(token for token in field if token < wall) for field in known])


def _tuples(column: Ragged) -> list[tuple[int, ...]]:
    values, starts = column.values.tolist(), column.starts.tolist()
    return [tuple(values[first:last]) for first, last in pairwise(starts)]


def _ragged(rows: Sequence[tuple[int, ...]]) -> Ragged:
    starts = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=starts[1:])
    return Ragged(_flat("H", rows), starts)


def _flat(code: str, rows: Sequence[tuple[int, ...]]) -> NDArray[Any]:
    """Returns all numbers of `rows`, in the type with this `struct` code; faster than `np.array`."""
    numbers: list[int] = []
    for row in rows:
        numbers += row
    return np.frombuffer(bytearray(pack(f"{len(numbers)}{code}", *numbers)), code)
