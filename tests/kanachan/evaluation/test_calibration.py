"""The calibration error, and reliability by deciles."""

import numpy as np
import pytest

from kanachan.evaluation.bootstrap import cluster_bootstrap
from kanachan.evaluation.calibration import calibration_statistic, reliability


def test_the_calibration_error_of_some_decisions_is_that_of_them_alone() -> None:
    rng = np.random.default_rng(4)
    game_B, confidence_B = rng.integers(0, 8, 500), rng.random(500)
    is_right_B, where_B = rng.random(500) < confidence_B**2, rng.random(500) < 0.3
    some = cluster_bootstrap(game_B, {"ece": calibration_statistic(confidence_B, is_right_B, where_B)})["ece"]
    alone = {"ece": calibration_statistic(confidence_B[where_B], is_right_B[where_B])}
    assert some == pytest.approx(cluster_bootstrap(game_B[where_B], alone)["ece"])
    assert some.decisions == where_B.sum() and some.value > 0.05


def test_reliability_groups_predictions_by_decile() -> None:
    value_B = np.random.default_rng(3).permutation(100).astype(float)
    bins = reliability(np.arange(100), value_B, 2 * value_B)
    assert [b.predicted for b in bins] == [10 * i + 4.5 for i in range(10)]
    assert [b.actual.value for b in bins] == [20 * i + 9 for i in range(10)]
