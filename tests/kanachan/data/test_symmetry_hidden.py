"""How symmetries change hidden hands."""

import numpy as np
import pytest

from annotate.vocabulary import FOUR_PLAYERS, TILE_NAMES, tile_of_slot
from kanachan.data.columns import Columns, columns_of_annotations
from kanachan.data.symmetry import SeatRotation, suit_permutations
from tests.support.random_annotations import random_annotations, with_hidden

V = FOUR_PLAYERS
COLUMNS = columns_of_annotations(with_hidden(random_annotations(40, seed=3), seed=0), V)


def described(columns: Columns, row: int) -> list[tuple[int, str]]:
    """The hidden hands of a row: the other players' tiles, each with its seat."""
    assert columns.hidden is not None
    held = [V.hidden["hand"].indices(int(token)) for token in columns.hidden.rows(row, row + 1).values]
    return sorted((seat, TILE_NAMES[tile_of_slot(slot)]) for seat, slot in held)


@pytest.mark.parametrize("which", range(6))
def test_permuting_suits_renames_the_tiles_of_hidden_hands(which: int) -> None:
    def renamed(tile: str) -> str:
        return tile[0] + "mps"[V.suit_orders[which]["mps".index(tile[1])]] if tile[1] in "mps" else tile

    permuted = suit_permutations(V).apply(COLUMNS, np.full(len(COLUMNS), which))
    for row in range(10):
        hands = described(COLUMNS, row)
        assert hands and described(permuted, row) == sorted((seat, renamed(tile)) for seat, tile in hands)


def test_rotating_seats_keeps_hidden_hands_as_they_are_counted_from_the_actor() -> None:
    rotated = SeatRotation(V).actor_first(COLUMNS)
    assert (COLUMNS.seat != 0).any()
    assert all(described(rotated, row) == described(COLUMNS, row) for row in range(20))
