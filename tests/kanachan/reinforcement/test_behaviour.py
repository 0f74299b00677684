"""Distributions that actions are sampled from, compared with the choices of the players."""

import math

import numpy as np
import pytest
import torch

from kanachan.inference.choice import Prediction, choose
from kanachan.reinforcement.behaviour import Behaviour, divergence

SCORE_BA = torch.tensor([[0.5, -1.0, 2.0, 1.9], [3.0, 1.0, -math.inf, -math.inf]])


@pytest.mark.parametrize(("temperature", "explore"), [(1.0, 0.0), (0.5, 0.2), (2.0, 1.0)])
def test_probabilities_are_the_ones_with_which_players_choose(temperature: float, explore: float) -> None:
    log_BA = Behaviour(temperature, explore).log_probabilities(SCORE_BA)
    for row, num_candidates in enumerate((4, 2)):
        score_A = SCORE_BA[row, :num_candidates].numpy()
        chosen = [
            choose(range(num_candidates), Prediction(score_A, None, None, None), temperature, uniform, explore)
            for uniform in (np.arange(2000) + 0.5) / 2000
        ]
        for action in chosen:
            assert action.log_probability == pytest.approx(log_BA[row, action.token].item(), abs=1e-6)
        assert {action.token for action in chosen} == set(range(num_candidates))
        assert log_BA[row].exp().sum().item() == pytest.approx(1)
        assert torch.isneginf(log_BA[row, num_candidates:]).all()


def test_the_divergence_is_the_kullback_leibler_divergence() -> None:
    log_BA, reference_BA = (Behaviour(temperature).log_probabilities(SCORE_BA) for temperature in (0.7, 1.0))
    found = divergence(log_BA, reference_BA)
    pairs = zip(log_BA[1, :2].exp().tolist(), reference_BA[1, :2].exp().tolist(), strict=True)
    expected = sum(p * math.log(p / q) for p, q in pairs)
    assert found[1].item() == pytest.approx(expected)
    assert divergence(log_BA, log_BA).tolist() == [0.0, 0.0]
