"""Returns of rounds: what they add up to, and to which decisions they belong."""

from pathlib import Path

import numpy as np
import pytest

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.data.columns import columns_of_annotations, token_value
from kanachan.data.round_columns import RoundIndex
from kanachan.data.round_shards import open_rounds
from kanachan.data.shards import open_shards
from kanachan.inference.reward_predictor import RewardPredictor
from kanachan.models.seat_orders import SeatOrders
from kanachan.objectives.reward import Outcome
from kanachan.reinforcement.returns import RoundReturns, Utility
from tests.support.played_folders import played_folder
from tests.support.random_annotations import random_annotations
from tests.support.random_rounds import random_rounds

ROUNDS = random_rounds(games=12, seed=0)
UTILITIES = (Utility(), Utility("ranks", (90.0, 45.0, 0.0, -135.0)), Utility("grading_points"))


@pytest.fixture(scope="module")
def predictor(reward: Path) -> RewardPredictor:
    return RewardPredictor.load(reward)


@pytest.mark.parametrize("utility", UTILITIES)
def test_the_returns_of_a_game_add_up_to_its_utility_less_the_expected_utility(
    predictor: RewardPredictor, utility: Utility
) -> None:
    return_NS = RoundReturns(ROUNDS, predictor, utility).return_NS
    before_NS = utility.expected(predictor.of_rounds(ROUNDS))
    for game in set(ROUNDS.game.tolist()):
        (rows,) = np.nonzero(ROUNDS.game == game)
        brought_S = utility.achieved(ROUNDS)[rows[0]] - before_NS[rows[0]]
        np.testing.assert_allclose(return_NS[rows].sum(axis=0), brought_S, rtol=1e-3, atol=1e-3)


def test_the_returns_of_the_seats_in_ranks_add_up_to_zero(predictor: RewardPredictor) -> None:
    return_NS = RoundReturns(ROUNDS, predictor, Utility()).return_NS
    assert np.abs(return_NS).max() > 0.1
    np.testing.assert_allclose(return_NS.sum(axis=1), 0, atol=1e-4)


def test_certain_ranks_are_worth_their_points(predictor: RewardPredictor) -> None:
    orders = SeatOrders(4)
    outcome = predictor.of_rounds(ROUNDS.rows(0, 1))
    certain = Outcome(*(tensor.clone() for tensor in outcome))
    certain.order_log_probability.fill_(-1e9)
    for seat, rank in enumerate((2, 0, 3, 1)):
        order = int(np.flatnonzero((np.roll((2, 0, 3, 1), -seat) == orders.rank_OS.numpy()).all(axis=1))[0])
        certain.order_log_probability[0, seat, order] = 0
        assert Utility().expected(certain)[0, seat] == (1.5, 0.5, -0.5, -1.5)[rank]


def test_a_round_before_a_missing_one_has_no_return(predictor: RewardPredictor) -> None:
    (rows,) = np.nonzero(ROUNDS.game == ROUNDS.game[40])
    missing = int(rows[len(rows) // 2])
    assert (ROUNDS.delta[missing] != 0).any()
    without = ROUNDS.take(np.arange(len(ROUNDS)) != missing)
    is_unknown_N = np.isnan(RoundReturns(without, predictor, Utility()).return_NS).all(axis=1)
    assert np.flatnonzero(is_unknown_N).tolist() == [missing - 1]


def test_a_decision_has_the_return_of_its_round(tmp_path: Path, predictor: RewardPredictor) -> None:
    folder = played_folder(tmp_path / "shards", games=1, fractions="1,0,0")
    shards, rounds = open_shards(folder, "train"), open_rounds(folder, "train")
    columns = shards.gather(np.arange(len(shards)))
    returns = RoundReturns(rounds, predictor, Utility())
    dealer_B = token_value(columns.sparse, FOUR_PLAYERS, "round")
    row_B = RoundIndex(rounds).rows_of(columns, FOUR_PLAYERS)
    np.testing.assert_array_equal(rounds.dealer[row_B], dealer_B)
    np.testing.assert_array_equal(returns.of(columns), returns.return_NS[row_B])
    assert np.isfinite(returns.of(columns)).all()


def test_a_decision_of_an_unknown_round_has_no_return(predictor: RewardPredictor) -> None:
    columns = columns_of_annotations(random_annotations(5, seed=1), FOUR_PLAYERS)
    for rounds in (ROUNDS, ROUNDS.rows(0, 0)):
        return_BS = RoundReturns(rounds, predictor, Utility()).of(columns)
        assert return_BS.shape == (5, 4) and np.isnan(return_BS).all()


@pytest.mark.parametrize(("points", "words"), [((1.0, float("nan")), "finite"), ((1.0, 1.0), "all equal")])
def test_an_impossible_utility_is_refused(points: tuple[float, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Utility("ranks", points)
