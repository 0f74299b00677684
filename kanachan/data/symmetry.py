"""Symmetries of mahjong as permutations of the vocabulary: permutations of the suits, and rotations of the seats.

Tables are derived from the axes of the vocabulary's blocks. A table maps each token of a field to the token of the same
event after the permutation; one look-up changes a whole column. Tokens may be unsorted afterwards. The index of the
action taken does not change, because candidates keep their places.

Shapes: P permutations, B rows, N numeric features, R results.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from annotate.blocks import Axis, Field
from annotate.vocabulary import CHIS_PER_SUIT, HAND_SLOT_FIRST, NUM_SUITS, RANKS_PER_SUIT, TILES_PER_SUIT, Vocabulary
from kanachan.data.columns import Columns, ObservationColumns, Ragged

ColumnsT = TypeVar("ColumnsT", bound=ObservationColumns)
AxisMap = Callable[[NDArray[np.int64]], NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Tables:
    """The new token by permutation and old token."""

    sparse: NDArray[np.uint16]  # [P, tokens of the field]
    progression: NDArray[np.uint16]
    action: NDArray[np.uint16]

    def apply(self, columns: ColumnsT, which_B: NDArray[np.integer]) -> ColumnsT:
        """Applies permutation `which_B[i]` to the tokens of row i; other columns do not change."""
        table_of = {"sparse": self.sparse, "progression": self.progression, "actions": self.action}
        changed: dict[str, Any] = {n: _look_up(t, getattr(columns, n), which_B) for n, t in table_of.items()}
        return replace(columns, **changed)


def suit_permutations(vocabulary: Vocabulary) -> Tables:
    """Returns the tables of the permutations of characters, circles and bamboos, in the order of `suit_orders`.

    They are exact symmetries of the rules except for one hand: all green consists only of bamboos and green dragons.
    """
    return _tables(vocabulary, [_suit_maps(np.array(order)) for order in vocabulary.suit_orders])


def seat_rotations(vocabulary: Vocabulary) -> Tables:
    """Returns the tables of the rotations k: seat k becomes seat 0, k + 1 becomes seat 1, and so on.

    Relative seats and winds do not change. Scores are not in the tables: they are columns, not tokens.
    """
    n = vocabulary.num_seats
    return _tables(vocabulary, [{Axis.SEAT: _rotation(shift, n)} for shift in range(n)])


class SeatRotation:
    """Seat canonicalisation: the deciding seat becomes seat 0 in tokens, numeric features and results."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._tables = seat_rotations(vocabulary)
        # The token of the deciding seat would be 0 in every row. Left unchanged, it records the rotation, so that no
        # information is lost: together with the dealer's new seat, it determines the number of the round.
        seat = vocabulary.sparse["seat"]
        self._tables.sparse[:, seat.first : seat.first + seat.size] = np.arange(seat.first, seat.first + seat.size)
        self._numeric_PN = _columns_by_rotation(vocabulary.numeric, vocabulary.num_seats)
        self._results_PR = _columns_by_rotation(vocabulary.results, vocabulary.num_seats)

    def actor_first(self, columns: ColumnsT) -> ColumnsT:
        """Rotates the seats of each row so that its deciding seat is 0."""
        rotated = self._tables.apply(columns, columns.seat)
        labels: dict[str, Any] = {}
        if isinstance(columns, Columns):
            labels["results"] = np.take_along_axis(columns.results, self._results_PR[columns.seat], axis=1)
        return replace(
            rotated,
            numeric=np.take_along_axis(columns.numeric, self._numeric_PN[columns.seat], axis=1),
            seat=np.zeros_like(columns.seat),
            **labels,
        )


def _look_up(table: NDArray[np.uint16], column: Ragged, which_B: NDArray[np.integer]) -> Ragged:
    offsets_B = which_B.astype(np.int64) * table.shape[1]
    return Ragged(table.ravel()[np.repeat(offsets_B, column.lengths) + column.values], column.starts)


def _tables(vocabulary: Vocabulary, maps_P: list[dict[Axis, AxisMap]]) -> Tables:
    fields = (vocabulary.sparse, vocabulary.progression, vocabulary.action)
    return Tables(*(np.stack([_table(field, maps) for maps in maps_P]) for field in fields))


def _table(field: Field, maps: dict[Axis, AxisMap]) -> NDArray[np.uint16]:
    table = np.arange(field.size)
    for block in field.blocks.values():
        if not block.factors:
            continue
        sizes = tuple(factor.size for factor in block.factors)
        indices = np.unravel_index(np.arange(block.size), sizes)
        moved = [
            maps[factor.axis](index) if factor.axis in maps else index
            for factor, index in zip(block.factors, indices, strict=True)
        ]
        table[block.first : block.first + block.size] = block.first + np.ravel_multi_index(tuple(moved), sizes)
    return table.astype(np.uint16)


def _suit_maps(order: NDArray[np.int64]) -> dict[Axis, AxisMap]:
    def permute(per_suit: int) -> AxisMap:
        def moved(index: NDArray[np.int64]) -> NDArray[np.int64]:
            suit, rest = np.divmod(index, per_suit)
            return np.where(suit < NUM_SUITS, order[np.minimum(suit, NUM_SUITS - 1)] * per_suit + rest, index)

        return moved

    first_slot = np.array(HAND_SLOT_FIRST)

    def permute_slots(slot: NDArray[np.int64]) -> NDArray[np.int64]:
        tile = np.searchsorted(first_slot, slot, side="right") - 1
        return first_slot[permute(TILES_PER_SUIT)(tile)] + slot - first_slot[tile]

    return {
        Axis.TILE: permute(TILES_PER_SUIT),
        Axis.TILE34: permute(RANKS_PER_SUIT),
        Axis.CHI: permute(CHIS_PER_SUIT),
        Axis.HAND_SLOT: permute_slots,
    }


def _rotation(shift: int, num_seats: int) -> AxisMap:
    return lambda seat: (seat - shift) % num_seats


def _columns_by_rotation(names: tuple[str, ...], num_seats: int) -> NDArray[np.int64]:
    """Returns the old column at each place after rotation p, [P, columns]. Columns by seat are named `name_seat`."""
    place = {name: i for i, name in enumerate(names)}

    def source(name: str, shift: int) -> int:
        stem, _, seat = name.rpartition("_")
        return place[f"{stem}_{(int(seat) + shift) % num_seats}"] if seat.isdigit() else place[name]

    return np.array([[source(name, shift) for name in names] for shift in range(num_seats)])
