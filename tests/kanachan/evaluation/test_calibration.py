"""Reliability by deciles."""

import numpy as np

from kanachan.evaluation.calibration import reliability


def test_reliability_groups_predictions_by_decile() -> None:
    value_B = np.random.default_rng(3).permutation(100).astype(float)
    bins = reliability(np.arange(100), value_B, 2 * value_B, replicates=1000)
    assert [b.predicted for b in bins] == [10 * i + 4.5 for i in range(10)]
    assert [b.actual.value for b in bins] == [20 * i + 9 for i in range(10)]
