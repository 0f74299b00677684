"""Hidden tokens in batches: what they are, what symmetries make of them, and that nothing has them unasked."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from annotate.vocabulary import FOUR_PLAYERS, TILE_NAMES, tile_of_slot
from kanachan.config import DataConfig
from kanachan.data.batch import WALL_TILES, Batch, TokenLayout, collate
from kanachan.data.columns import Columns, columns_of_annotations, columns_of_played
from kanachan.data.loader import Share
from kanachan.data.symmetry import SeatRotation, suit_permutations
from kanachan.training.shard_source import ShardSource
from tests.support.played_folders import played_folder
from tests.support.random_annotations import random_annotations, with_hidden

V = FOUR_PLAYERS
PLAIN, ORACLE = TokenLayout(V), TokenLayout(V, hidden=True)
HANDS = range(PLAIN.num_tokens, PLAIN.num_tokens + 3 * 136)
WALL = range(HANDS.stop, HANDS.stop + WALL_TILES * 37)
_ANNOTATIONS = with_hidden(random_annotations(40, seed=3), seed=0)
COLUMNS = columns_of_played(_ANNOTATIONS, [None] * 40, [None] * 40, V)


def same(one: Batch, other: Batch) -> bool:
    """Whether all inputs of two batches are the same."""
    names = ("table_BS", "standing_BP2", "tile_BT", "numeric_BN", "event_GE", "group_B", "seen_B", "candidate_BA")
    return all(torch.equal(getattr(one, name), getattr(other, name)) for name in names)


def described(columns: Columns, row: int) -> tuple[list[tuple[int, str]], list[str]]:
    """The hidden tokens of a row's batch: others' tiles with their seats, and the wall in its order."""
    tokens = [t for t in collate(columns, ORACLE).tile_BT[row].tolist() if t >= PLAIN.num_tokens]
    hands = [divmod(t - HANDS.start, 136) for t in tokens if t in HANDS]
    wall = [divmod(t - WALL.start, 37) for t in tokens if t in WALL]
    assert len(hands) + len(wall) == len(tokens)
    assert [place for place, _ in wall] == list(range(len(wall)))
    return sorted((seat, TILE_NAMES[tile_of_slot(slot)]) for seat, slot in hands), [TILE_NAMES[t] for _, t in wall]


def test_a_batch_has_the_hands_and_the_first_tiles_of_the_wall() -> None:
    hand, wall = V.hidden["hand"], V.hidden["wall"]
    for row, annotation in enumerate(_ANNOTATIONS):
        tokens = annotation.hidden or ()
        others = [hand.indices(token) for token in tokens if token < wall.first]
        live = [TILE_NAMES[token - wall.first] for token in tokens if token >= wall.first]
        hands = sorted((seat, TILE_NAMES[tile_of_slot(slot)]) for seat, slot in others)
        assert described(COLUMNS, row) == (hands, live[:WALL_TILES])


def test_a_batch_without_hidden_tokens_is_the_same_whether_or_not_hands_and_wall_are_known() -> None:
    unknown = replace(COLUMNS, hidden=None, wall=None)
    assert same(collate(COLUMNS, PLAIN), collate(unknown, PLAIN))
    assert int(collate(COLUMNS, PLAIN).tile_BT.max()) < PLAIN.num_tokens
    assert not same(collate(COLUMNS, PLAIN), collate(COLUMNS, ORACLE))


def test_hands_are_hidden_tokens_where_the_wall_is_unknown() -> None:
    columns = columns_of_annotations(_ANNOTATIONS, V)
    assert columns.wall is None
    for row in range(5):
        assert described(columns, row) == (described(COLUMNS, row)[0], [])


@pytest.mark.parametrize("which", range(6))
def test_permuting_suits_renames_the_tiles_of_hands_and_wall(which: int) -> None:
    def renamed(tile: str) -> str:
        return tile[0] + "mps"[V.suit_orders[which]["mps".index(tile[1])]] if tile[1] in "mps" else tile

    permuted = suit_permutations(V).apply(COLUMNS, np.full(len(COLUMNS), which))
    for row in range(10):
        hands, wall = described(COLUMNS, row)
        expected = sorted((seat, renamed(tile)) for seat, tile in hands)
        assert described(permuted, row) == (expected, [renamed(tile) for tile in wall])


def test_rotating_seats_leaves_hands_and_wall_which_are_counted_from_the_actor() -> None:
    rotated = SeatRotation(V).actor_first(COLUMNS)
    assert (COLUMNS.seat != 0).any()
    assert all(described(rotated, row) == described(COLUMNS, row) for row in range(20))


@pytest.mark.parametrize("varlen", [False, True])
def test_shards_of_self_play_are_read_with_hidden_tokens_where_they_are_asked_for(tmp_path: Path, varlen: bool) -> None:
    shards = played_folder(tmp_path / "shards", games=1, fractions="1,0,0")
    config = DataConfig(path=str(shards), batch=16, micro_batch=16)
    plain, oracle = (ShardSource(config, 0, varlen=varlen, sees_hidden=sees) for sees in (False, True))
    assert (plain.has_walls, oracle.has_walls) == (False, True)
    ours, theirs = (next(iter(source.train_batches(Share(0, 1)))) for source in (oracle, plain))
    assert torch.equal(ours.game_B, theirs.game_B)
    assert int(theirs.tile_BT.max()) < PLAIN.num_tokens < int(ours.tile_BT.max())
    assert ((ours.tile_BT >= HANDS.start) & (ours.tile_BT < HANDS.stop)).any(dim=1).all()
