"""Statistics of predicted values."""

import numpy as np

from kanachan.evaluation.bootstrap import cluster_bootstrap
from kanachan.evaluation.value_metrics import explained_variance_statistic


def test_resamples_of_equal_targets_do_not_count_in_an_interval() -> None:
    game_B, target_B = np.repeat([0, 1, 2], 7), np.repeat([0.1, 0.1, 30.0], 7)
    value_B = target_B + np.linspace(-1, 1, len(target_B))
    estimate = cluster_bootstrap(game_B, {"": explained_variance_statistic(value_B, target_B)}, 200)[""]
    assert 0.9 < estimate.low <= estimate.value <= estimate.high < 1
