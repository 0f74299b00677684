"""The network of the reward predictor: its features, also of unusual rounds, and that the seats agree."""

import pytest
import torch
from torch import Tensor

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import RewardConfig
from kanachan.data.round_state import RoundState
from kanachan.models.reward_network import RewardNetwork, SeatFeatures
from tests.support.random_rounds import random_rounds

ROUNDS = random_rounds(games=3, seed=0)
GAMES = RoundState.of_rounds(ROUNDS.take(ROUNDS.game == ROUNDS.game[0])).each(lambda column: column[None])
"""one game [1, T]"""


def network() -> RewardNetwork:
    torch.manual_seed(0)
    made = RewardNetwork(RewardConfig(width=8), FOUR_PLAYERS, 5, 7)
    torch.nn.init.normal_(made.head.weight, std=0.3)  # it is zero before training
    return made.eval()


@torch.no_grad()
def test_the_seats_agree_on_the_order() -> None:
    made = network()
    order_XSO = made(GAMES).order_XSO
    from_first_XSO = made.orders.seen_from_first(order_XSO)
    assert torch.equal(from_first_XSO, from_first_XSO[..., :1, :].expand_as(from_first_XSO))
    assert not torch.equal(order_XSO, made.views(GAMES).order_XSO)


@torch.no_grad()
def test_points_of_a_round_change_only_the_outputs_of_their_hypothesis() -> None:
    made = network()
    feature_XSF = made.features(GAMES)
    points_XSH = torch.tensor([-8000.0, 0.0, 12_000.0]).expand(*feature_XSF.shape[:-1], 3)
    assert not made.after_round(feature_XSF, points_XSH).any()  # before training
    torch.nn.init.normal_(made.after_round.head.weight)
    together_XSHY = made.after_round(feature_XSF, points_XSH)
    for hypothesis in range(3):
        alone_XSY = made.after_round(feature_XSF, points_XSH[..., hypothesis, None])[..., 0, :]
        torch.testing.assert_close(together_XSHY[..., hypothesis, :], alone_XSY)
    assert not torch.allclose(together_XSHY[..., 0, :], together_XSHY[..., 2, :])


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
    feature_XSF = SeatFeatures(FOUR_PLAYERS)(found)
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


def test_with_equal_scores_the_lower_seat_ranks_first() -> None:
    feature_SF = seat_features(state([25_000] * 4))
    is_before_SS = feature_SF[:, 7:10]
    assert is_before_SS.sum(dim=1).tolist() == [0, 1, 2, 3]


def test_leads_are_resolved_finely_only_in_last_rounds() -> None:
    score = [30_000, 20_000, 27_000, 23_000]
    before, last = state(score, wind=1, dealer=2, style=1), state(score, wind=1, dealer=3, style=1)
    num_leads = 3 * 6  # of the pairs of seats, at three resolutions
    assert not seat_features(before)[..., -num_leads:].any()
    assert seat_features(last)[..., -num_leads:].all()
