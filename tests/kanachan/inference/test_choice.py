"""From scores to an action, with its log-probability."""

import math

import numpy as np
import pytest

from kanachan.inference.choice import Prediction, choose

SCORE = np.array([0.5, -1.0, 2.0, 1.9], np.float32)
PREDICTION = Prediction(SCORE, None, None, None)
ACTIONS = (10, 20, 30, 40)


def test_without_a_temperature_the_highest_score_is_chosen_with_certainty() -> None:
    assert choose(ACTIONS, PREDICTION) == (30, 0.0)


def test_a_random_number_near_1_chooses_a_possible_action() -> None:
    score = np.array([0.0, -2000.0], np.float32)
    assert choose((1, 2), Prediction(score, None, None, None), 1.0, math.nextafter(1.0, 0.0)).token == 1


@pytest.mark.parametrize(("temperature", "explore"), [(0.5, 0.0), (3.0, 0.0), (0.5, 0.1), (0.5, 1.0)])
def test_actions_follow_the_softmax_except_for_a_share_drawn_uniformly(temperature: float, explore: float) -> None:
    softmax = np.exp(SCORE.astype(float) / temperature)
    mixed = (1 - explore) * softmax / softmax.sum() + explore / len(SCORE)
    uniforms = (np.arange(10_000) + 0.5) / 10_000
    drawn = [choose(ACTIONS, PREDICTION, temperature, uniform, explore) for uniform in uniforms]
    for action, probability in zip(ACTIONS, mixed, strict=True):
        of_it = [found for found in drawn if found.token == action]
        assert len(of_it) / len(drawn) == pytest.approx(probability, abs=2e-4)
        assert all(found.log_probability == pytest.approx(math.log(probability), abs=1e-6) for found in of_it)
