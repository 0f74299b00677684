"""Which decisions of self-play are the learner's, and their labels."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from kanachan.data.columns import Columns
from kanachan.data.round_shards import open_rounds
from kanachan.data.shards import Shards, open_shards
from kanachan.inference.reward_predictor import RewardPredictor
from kanachan.policy_config import PolicyConfig
from kanachan.reinforcement.played_decisions import DOMINATING, PlayedDecisions
from kanachan.reinforcement.returns import RoundReturns, Utility
from tests.kanachan.conftest import EXPLORE, PlayedGames


@pytest.fixture(scope="module")
def shards(played: PlayedGames) -> Shards:
    return open_shards(played.shards, "train", hidden=True, behaviour=True)


def decisions(played: PlayedGames, **settings: object) -> PlayedDecisions:
    config = replace(PolicyConfig(reward=str(played.reward)), **settings)
    return PlayedDecisions(config, str(played.weights))


def columns_of(shards: Shards) -> Columns:
    return shards.gather(np.arange(len(shards)))


def test_decisions_with_a_probability_are_the_learners_if_the_others_have_none(played: PlayedGames) -> None:
    num_selected = num_rows = 0
    for split in ("train", "validation"):  # in a single split the learner may have all seats
        shards = open_shards(played.shards, split, hidden=True, behaviour=True)
        log_probability = columns_of(shards).log_probability
        selected = columns_of(decisions(played).prepare(shards)[0]).log_probability
        assert log_probability is not None and selected is not None
        assert np.array_equal(selected, log_probability[~np.isnan(log_probability)])
        num_selected, num_rows = num_selected + len(selected), num_rows + len(shards)
    assert 100 < num_selected < num_rows


def returns_of(played: PlayedGames, columns: Columns) -> NDArray[np.float32]:
    predictor = RewardPredictor.load(played.reward)
    returns = RoundReturns(open_rounds(played.shards, "train"), predictor, Utility())
    return returns.of(columns)[np.arange(len(columns)), columns.seat]


def standardised(value_B: NDArray[np.float32]) -> NDArray[np.float32]:
    return (value_B - value_B.mean()) / value_B.std()


def test_a_decision_is_labelled_with_its_probability_and_the_return_of_its_seat(
    played: PlayedGames, shards: Shards
) -> None:
    selected, labeller = decisions(played).prepare(shards)
    columns = columns_of(selected)
    label_B3 = labeller.labels_of(columns)
    assert columns.log_probability is not None
    assert np.array_equal(label_B3[:, 0], columns.log_probability)
    np.testing.assert_allclose(label_B3[:, 1], standardised(returns_of(played, columns)), atol=1e-5)
    assert (label_B3[:, 2] == 1).all()


def test_a_share_of_the_decisions_with_a_dominating_action_represents_all_of_them(
    played: PlayedGames, shards: Shards
) -> None:
    everything = columns_of(decisions(played).prepare(shards)[0])
    kept, labeller = decisions(played, keep=0.25).prepare(shards)
    columns = columns_of(kept)
    label_B3 = labeller.labels_of(columns)
    dominating, kept_dominating = (own_probability(each) > DOMINATING for each in (everything, columns))
    assert (~kept_dominating).sum() == (~dominating).sum()
    assert 0 < kept_dominating.sum() < 0.6 * dominating.sum()
    assert label_B3[:, 2].mean() == pytest.approx(1, rel=1e-5)
    assert np.allclose(label_B3[kept_dominating, 2], 4 * label_B3[~kept_dominating, 2].max())


def own_probability(columns: Columns) -> NDArray[np.float64]:
    """The probability of the action taken, without exploring."""
    assert columns.log_probability is not None
    mixed_B = np.exp(columns.log_probability.astype(float))
    return np.asarray((mixed_B - EXPLORE / columns.actions.lengths) / (1 - EXPLORE))
