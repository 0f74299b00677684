"""Metrics of predicted points and ranks against their definitions."""

import math

import numpy as np
import pytest

from kanachan.evaluation.value_metrics import log_likelihood_metrics, value_metrics


def test_value_metrics_equal_their_definitions() -> None:
    rng = np.random.default_rng(2)
    game_B, target_B = np.repeat(np.arange(50), 8), rng.normal(2000, 4000, 400)
    value_B, baseline_B = target_B + rng.normal(100, 1000, 400), target_B + rng.normal(0, 3000, 400)
    metrics = value_metrics(game_B, value_B, target_B, baseline_B)
    error, baseline_error = ((value_B - target_B) ** 2).mean(), ((baseline_B - target_B) ** 2).mean()
    assert metrics["explained_variance"].value == pytest.approx(1 - error / target_B.var())
    assert metrics["baseline/explained_variance"].value == pytest.approx(1 - baseline_error / target_B.var())
    assert metrics["skill"].value == pytest.approx(1 - error / baseline_error)
    assert metrics["bias"].value == pytest.approx((value_B - target_B).mean())
    assert all(f.low < f.value < f.high and f.decisions == 400 for f in metrics.values())


def test_log_likelihoods_are_means_over_decisions() -> None:
    log_probability = {"network": np.log([0.5, 0.25, 0.5]), "baseline": np.log([0.25] * 3)}
    metrics = log_likelihood_metrics(np.array([1, 1, 2]), log_probability)
    assert metrics["network"].value == pytest.approx(math.log(0.5 * 0.25 * 0.5) / 3)
    assert metrics["baseline"].value == pytest.approx(-math.log(4))
