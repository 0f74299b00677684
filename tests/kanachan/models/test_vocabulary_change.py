"""Weights of a network for one vocabulary as the start of a network for another."""

from collections.abc import Sequence
from itertools import permutations

import pytest
import torch
from torch import Tensor, nn

from annotate.vocabulary import FOUR_PLAYERS, THREE_PLAYERS, Vocabulary
from kanachan.config import MODEL_SIZES, ObjectiveConfig
from kanachan.data.batch import TokenLayout
from kanachan.models.transformer import Network
from kanachan.models.vocabulary_change import VocabularyChange
from kanachan.objectives.networks import build_network

NORTH, RED_FIVE, SOUTH = 33, 10, 31


def network_of(vocabulary: Vocabulary) -> Network:
    torch.manual_seed(len(vocabulary.numeric))
    return build_network("imitation", MODEL_SIZES["tiny"], ObjectiveConfig(), vocabulary)[0]


def changed(old: Vocabulary, new: Vocabulary, part: str) -> tuple[nn.Module, nn.Module, nn.Module]:
    """A part of a network for `old`, of a new network for `new`, and of the new one with the rows of the old one."""
    given, current, taken = (getattr(network_of(vocabulary), part) for vocabulary in (old, new, new))
    change = VocabularyChange(old, new)
    taken.load_state_dict(change.tensors(given.state_dict(), current.state_dict()))
    return given, current, taken


def sparse_rows(module: nn.Module, vocabulary: Vocabulary, block: str, places: Sequence[tuple[int, ...]]) -> Tensor:
    first, found = TokenLayout(vocabulary).sparse_first, vocabulary.sparse[block]
    return module.token_embedding.weight[
        module.suits.shared_N[[first + found.token(*place) for place in places]].long()
    ]


def event_row(module: nn.Module, vocabulary: Vocabulary, block: str, *place: int) -> Tensor:
    token = TokenLayout(vocabulary).event_first + vocabulary.progression[block].token(*place)
    return module.token_embedding.weight[module.suits.shared_N[token].long()]


def action_row(module: nn.Module, vocabulary: Vocabulary, block: str, *place: int) -> Tensor:
    token = 1 + vocabulary.action[block].token(*place)
    return module.candidate_embedding.weight[module.candidate_suits.shared_N[token].long()]


@pytest.mark.parametrize("block", ["hand", "drawn", "room", "style", "wind", "dora", "seat"])
def test_tiles_seats_and_the_table_keep_their_rows(block: str) -> None:
    four, _, taken = changed(FOUR_PLAYERS, THREE_PLAYERS, "encoder")
    places = [THREE_PLAYERS.sparse[block].indices(t) for t in tokens_of(THREE_PLAYERS, block)]
    assert places
    mine, theirs = (sparse_rows(m, v, block, places) for m, v in ((taken, THREE_PLAYERS), (four, FOUR_PLAYERS)))
    assert torch.equal(mine, theirs)


def tokens_of(vocabulary: Vocabulary, block: str) -> range:
    found = vocabulary.sparse[block]
    return range(found.first, found.first + found.size)


@pytest.mark.parametrize("left", [0, 1, 30, 54])
def test_the_same_number_of_tiles_left_keeps_its_row_although_the_walls_differ(left: int) -> None:
    four, _, taken = changed(FOUR_PLAYERS, THREE_PLAYERS, "encoder")
    mine = sparse_rows(taken, THREE_PLAYERS, "left", [(54 - left,)])
    assert torch.equal(mine, sparse_rows(four, FOUR_PLAYERS, "left", [(69 - left,)]))


def test_a_call_keeps_its_row_if_the_tile_is_from_the_same_seat() -> None:
    four, _, taken = changed(FOUR_PLAYERS, THREE_PLAYERS, "encoder")
    same = (0, 1, 3)  # the last of three seats is to the actor's left, as the last of four
    for caller, source in permutations(range(3), 2):
        mine, theirs = (source - caller - 1) % 3, (same[source] - same[caller] - 1) % 4
        row = event_row(taken, THREE_PLAYERS, "pon", caller, mine, RED_FIVE)
        assert torch.equal(row, event_row(four, FOUR_PLAYERS, "pon", same[caller], theirs, RED_FIVE))


def test_the_last_seat_keeps_its_rows_although_its_number_differs() -> None:
    four, _, taken = changed(FOUR_PLAYERS, THREE_PLAYERS, "encoder")
    for mine, theirs in ((0, 0), (1, 1), (2, 3)):
        for block, place in (("discard", (NORTH, 1, 0)), ("ankan", (5,))):
            row = event_row(taken, THREE_PLAYERS, block, mine, *place)
            assert torch.equal(row, event_row(four, FOUR_PLAYERS, block, theirs, *place))
        for block, last in (("standing", (7,)), ("round", ())):
            row = sparse_rows(taken, THREE_PLAYERS, block, [(mine, *last)])
            assert torch.equal(row, sparse_rows(four, FOUR_PLAYERS, block, [(theirs, *last)]))
        assert torch.equal(taken.number_weight[2 + mine], four.number_weight[2 + theirs])
        assert torch.equal(taken.place_embedding.weight[1 + mine], four.place_embedding.weight[1 + theirs])
    # the next seat's pon of the last seat's tile
    row = event_row(taken, THREE_PLAYERS, "pon", 1, 0, RED_FIVE)
    assert torch.equal(row, event_row(four, FOUR_PLAYERS, "pon", 1, 1, RED_FIVE))
    # the actor's seat token is never rotated
    own = sparse_rows(taken, THREE_PLAYERS, "seat", [(2,)])
    assert torch.equal(own, sparse_rows(four, FOUR_PLAYERS, "seat", [(2,)]))


def test_an_action_on_the_previous_seats_tile_keeps_its_row_although_the_number_differs() -> None:
    four, _, taken = changed(FOUR_PLAYERS, THREE_PLAYERS, "decoder")
    for mine, theirs in ((0, 0), (1, 2)):
        for block, place in (("ron", ()), ("daiminkan", (NORTH,))):
            row = action_row(taken, THREE_PLAYERS, block, mine, *place)
            assert torch.equal(row, action_row(four, FOUR_PLAYERS, block, theirs, *place))


def test_everything_except_kita_is_taken_over() -> None:
    four, new, taken = changed(FOUR_PLAYERS, THREE_PLAYERS, "encoder")
    is_new = (taken.token_embedding.weight == new.token_embedding.weight).all(dim=1)
    assert int(is_new.sum()) == 3


def test_from_three_to_four_players_chi_the_fourth_seat_and_late_positions_are_new() -> None:
    V4 = FOUR_PLAYERS
    three, new, taken = changed(THREE_PLAYERS, V4, "encoder")
    assert torch.equal(taken.number_weight[[0, 1, 2, 3, 5]], three.number_weight)
    assert torch.equal(taken.number_weight[4], new.number_weight[4])
    assert torch.equal(event_row(taken, V4, "chi", 0, 0), event_row(new, V4, "chi", 0, 0))
    assert torch.equal(event_row(taken, V4, "pon", 2, 0, 5), event_row(new, V4, "pon", 2, 0, 5))
    assert torch.equal(event_row(taken, V4, "pon", 0, 1, 5), event_row(new, V4, "pon", 0, 1, 5))
    row = event_row(three, THREE_PLAYERS, "pon", 0, 1, SOUTH)
    assert torch.equal(event_row(taken, V4, "pon", 0, 2, SOUTH), row)
    assert torch.equal(taken.place_embedding.weight[[0, 1, 2, 4]], three.place_embedding.weight)
