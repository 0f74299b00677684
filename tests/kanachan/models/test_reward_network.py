"""The networks of the reward predictor: what a prediction depends on, and that it holds for all games."""

from typing import get_args, get_type_hints

import pytest
import torch
from torch import Tensor

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import RewardConfig
from kanachan.data.round_state import RoundState
from kanachan.models.reward_network import RewardNetwork, SeatFeatures
from tests.support.random_rounds import random_rounds

NETWORKS = get_args(get_type_hints(RewardConfig)["network"])
ROUNDS = random_rounds(games=3, seed=0)
GAMES = RoundState.of_rounds(ROUNDS.take(ROUNDS.game == ROUNDS.game[0])).each(lambda column: column[None])
"""one game [1, T]"""


def network(name: str) -> RewardNetwork:
    torch.manual_seed(0)
    made = RewardNetwork(RewardConfig(network=name, width=8), FOUR_PLAYERS, 5)  # type: ignore[arg-type]
    torch.nn.init.normal_(made.head.weight, std=0.3)  # zero before training
    return made.eval()


@pytest.mark.parametrize("name", NETWORKS)
def test_a_new_network_predicts_all_orders_alike(name: str) -> None:
    made = RewardNetwork(RewardConfig(network=name), FOUR_PLAYERS, 5)  # type: ignore[arg-type]
    assert not made(GAMES).order_XSO.any()


@pytest.mark.parametrize("name", NETWORKS)
@torch.no_grad()
def test_the_seats_agree_on_the_order(name: str) -> None:
    made = network(name)
    order_XSO = made(GAMES).order_XSO
    from_first_XSO = made.orders.seen_from_first(order_XSO)
    assert torch.equal(from_first_XSO, from_first_XSO[..., :1, :].expand_as(from_first_XSO))
    assert not torch.equal(order_XSO, made.views(GAMES).order_XSO)


@torch.no_grad()
def test_only_the_recurrent_network_sees_earlier_rounds() -> None:
    score_XS = GAMES.score_XS.clone()
    score_XS[:, 0] = score_XS[:, 0].flip(-1) + torch.arange(4) * 1000
    changed = GAMES._replace(score_XS=score_XS)
    for name in NETWORKS:
        made = network(name)
        differs_T = (made(GAMES).order_XSO != made(changed).order_XSO).flatten(2).any(dim=2)[0]
        assert differs_T[0] and bool(differs_T[1:].any()) == (name == "gru")


@pytest.mark.parametrize("name", NETWORKS)
@torch.no_grad()
def test_no_later_round_is_seen(name: str) -> None:
    made, half = network(name), GAMES.wind_X.shape[1] // 2
    whole, start = made(GAMES), made(GAMES.each(lambda column: column[:, :half]))
    assert torch.allclose(whole.order_XSO[:, :half], start.order_XSO, atol=1e-6)
    assert torch.allclose(whole.grading_XSK[:, :half], start.grading_XSK, atol=1e-6)


def state(score: list[int], **of_table: int) -> RoundState:
    names = ("wind", "dealer", "honba", "deposits", "room", "style")
    columns = [torch.tensor([of_table.get(name, 0)]) for name in names]
    return RoundState(torch.tensor([score]), torch.full((1, 4), 14), *columns)


UNUSUAL = {
    "a bankruptcy": state([-8_000, 60_000, 30_000, 18_000], wind=0, dealer=2, room=4, style=1),
    "a West round": state([29_000, 25_000, 24_000, 22_000], wind=2, dealer=3, honba=2, room=4, style=1),
    "an East game in South": state([25_000] * 4, wind=1, dealer=3, deposits=4, room=0, style=0),
    "very many points": state([400_000, -100_000, -100_000, -100_000], wind=1, honba=30, room=2, style=1),
}


@pytest.mark.parametrize("found", UNUSUAL.values(), ids=UNUSUAL)
@torch.no_grad()
def test_features_of_unusual_rounds_are_finite(found: RoundState) -> None:
    feature_XSF = SeatFeatures(FOUR_PLAYERS, last_leads=True)(found)
    assert torch.isfinite(feature_XSF).all() and feature_XSF.shape[:2] == (1, 4)


def seat_features(found: RoundState) -> Tensor:
    return SeatFeatures(FOUR_PLAYERS)(found)[0]


def test_a_seat_sees_the_scores_from_itself_onwards() -> None:
    feature_SF = seat_features(state([10_000, 20_000, 30_000, 40_000]))
    assert feature_SF[:, :4].mul(10_000).round().tolist() == [
        [10_000, 20_000, 30_000, 40_000],
        [20_000, 30_000, 40_000, 10_000],
        [30_000, 40_000, 10_000, 20_000],
        [40_000, 10_000, 20_000, 30_000],
    ]


def test_of_equal_scores_the_lower_seat_ranks_first() -> None:
    feature_SF = seat_features(state([25_000] * 4))
    is_before_SS = feature_SF[:, 7:10]
    assert is_before_SS.sum(dim=1).tolist() == [0, 1, 2, 3]


def test_leads_of_last_rounds_are_added_in_last_rounds_alone() -> None:
    score = [30_000, 20_000, 27_000, 23_000]
    before, last = state(score, wind=1, dealer=2, style=1), state(score, wind=1, dealer=3, style=1)
    coarse, fine = SeatFeatures(FOUR_PLAYERS), SeatFeatures(FOUR_PLAYERS, last_leads=True)
    assert torch.equal(fine(last)[..., : coarse.size], coarse(last))
    assert not fine(before)[..., coarse.size :].any()
    assert fine(last)[..., coarse.size :].all()
