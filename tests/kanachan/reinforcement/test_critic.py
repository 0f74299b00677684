"""The values of a critic: whose they are, and that they follow the symmetries of the game."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import MODEL_SIZES
from kanachan.data.batch import collate
from kanachan.data.columns import columns_of_played
from kanachan.data.symmetry import SeatRotation
from kanachan.reinforcement.critic import Critic, build_critic
from kanachan.reinforcement.returns import Utility
from tests.support.random_annotations import random_annotations, with_hidden

_ANNOTATIONS = with_hidden(random_annotations(30, seed=5), seed=1)
COLUMNS = columns_of_played(_ANNOTATIONS, [None] * 30, [None] * 30, FOUR_PLAYERS)
POINTS = {"ranks": (90.0, 45.0, 0.0, -135.0), "grading_points": (1.0, 0.0)}


def critic(kind: str = "ranks", *, actor_first: bool = True) -> Critic:
    """A critic that was never trained but predicts differently for different situations."""
    torch.manual_seed(0)
    utility = Utility(kind, POINTS[kind])  # type: ignore[arg-type]
    network = build_critic(MODEL_SIZES["tiny"], utility, FOUR_PLAYERS)
    torch.nn.init.normal_(network.head.weight)
    torch.nn.init.normal_(network.head.bias)
    card = {"config": {"data": {"actor_first": actor_first}}}
    return Critic(network, utility, FOUR_PLAYERS, card)


def test_values_of_ranks_add_up_to_zero_and_those_of_grading_points_do_not() -> None:
    ranks, grading = critic("ranks").of(COLUMNS), critic("grading_points").of(COLUMNS)
    assert np.abs(ranks).max() > 1
    np.testing.assert_allclose(ranks.sum(axis=1), 0, atol=1e-3)
    assert np.abs(grading.sum(axis=1)).min() > 0.1


def test_a_new_critic_predicts_nothing() -> None:
    network = build_critic(MODEL_SIZES["tiny"], Utility(), FOUR_PLAYERS)
    assert not Critic(network, Utility(), FOUR_PLAYERS, {}).of(COLUMNS).any()


@pytest.mark.parametrize("actor_first", [True, False])
def test_values_of_decisions_are_counted_from_seat_0_and_those_of_a_batch_from_the_actor(actor_first: bool) -> None:
    made = critic(actor_first=actor_first)
    columns = SeatRotation(FOUR_PLAYERS).actor_first(COLUMNS) if actor_first else COLUMNS
    from_actor_BS = made.network(collate(columns, made.layout)).numpy()
    from_first_BS = made.of(COLUMNS, batch=7)
    for row, seat in enumerate(COLUMNS.seat):
        np.testing.assert_allclose(from_first_BS[row], np.roll(from_actor_BS[row], seat), atol=1e-3)


def test_every_hidden_tile_matters_and_the_order_of_hands_does_not() -> None:
    made = critic()
    batch = collate(SeatRotation(FOUR_PLAYERS).actor_first(COLUMNS.rows(0, 1)), made.layout)
    value_BS = made.network(batch)
    reversed_tiles = batch.tile_BT.flip(dims=(1,))
    torch.testing.assert_close(made.network(replace(batch, tile_BT=reversed_tiles)), value_BS, atol=1e-3, rtol=0)
    hidden = (batch.tile_BT[0] >= made.layout.hidden_first).nonzero()[:, 0].tolist()
    assert len(hidden) > 10
    for place in hidden:
        changed = batch.tile_BT.clone()
        changed[0, place] = 0
        assert not torch.allclose(made.network(replace(batch, tile_BT=changed)), value_BS, atol=1e-5)
