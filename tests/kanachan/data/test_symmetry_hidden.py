"""What symmetries make of hidden hands and walls."""

import numpy as np
import pytest

from annotate.vocabulary import FOUR_PLAYERS, TILE_NAMES, tile_of_slot
from kanachan.data.columns import Columns, columns_of_played
from kanachan.data.symmetry import SeatRotation, suit_permutations
from tests.support.random_annotations import random_annotations, with_hidden

V = FOUR_PLAYERS
COLUMNS = columns_of_played(with_hidden(random_annotations(40, seed=3), seed=0), [None] * 40, [None] * 40, V)


def described(columns: Columns, row: int) -> tuple[list[tuple[int, str]], list[str]]:
    """The hidden tokens of a row: others' tiles with their seats, and the wall in its order."""
    assert columns.hidden is not None and columns.wall is not None
    hand, first = V.hidden["hand"], V.hidden["wall"].first
    held = [hand.indices(token) for token in row_of(columns, row, "hidden")]
    wall = [TILE_NAMES[token - first] for token in row_of(columns, row, "wall")]
    return sorted((seat, TILE_NAMES[tile_of_slot(slot)]) for seat, slot in held), wall


def row_of(columns: Columns, row: int, name: str) -> list[int]:
    ragged = getattr(columns, name)
    return [int(token) for token in ragged.values[ragged.starts[row] : ragged.starts[row + 1]]]


@pytest.mark.parametrize("which", range(6))
def test_permuting_suits_renames_the_tiles_of_hands_and_wall(which: int) -> None:
    def renamed(tile: str) -> str:
        return tile[0] + "mps"[V.suit_orders[which]["mps".index(tile[1])]] if tile[1] in "mps" else tile

    assert any(described(COLUMNS, row)[1] for row in range(10))
    permuted = suit_permutations(V).apply(COLUMNS, np.full(len(COLUMNS), which))
    for row in range(10):
        hands, wall = described(COLUMNS, row)
        expected = sorted((seat, renamed(tile)) for seat, tile in hands)
        assert described(permuted, row) == (expected, [renamed(tile) for tile in wall])


def test_rotating_seats_leaves_hands_and_wall_which_are_counted_from_the_actor() -> None:
    rotated = SeatRotation(V).actor_first(COLUMNS)
    assert (COLUMNS.seat != 0).any()
    assert all(described(rotated, row) == described(COLUMNS, row) for row in range(20))
