"""Metrics of predicted values: explained variance, errors, log-likelihood."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kanachan.evaluation.bootstrap import REPLICATES, Estimate, Floats, Statistic, cluster_bootstrap, ratio_statistic

_Sum = TypeVar("_Sum", float, Floats)


def value_metrics(
    game_B: NDArray[np.int64], value_B: Floats, target_B: Floats, baseline_B: Floats, replicates: int = REPLICATES
) -> dict[str, Estimate]:
    """Computes how well values predict their targets.

    - `explained_variance`: 1 - mean squared error / variance of the target
    - `baseline/explained_variance`: the same of the baseline
    - `skill`: 1 - mean squared error / mean squared error of the baseline
    - `bias`: mean of value minus target

    Args:
        baseline_B: the prediction of a baseline that sees scores and round only (`kanachan.evaluation.baselines`).
    """
    error_B = value_B - target_B
    statistics = {
        "explained_variance": explained_variance_statistic(value_B, target_B),
        "baseline/explained_variance": explained_variance_statistic(baseline_B, target_B),
        "skill": Statistic(
            (lambda: error_B**2, lambda: (baseline_B - target_B) ** 2),
            lambda s: 1 - s[:, 0] / s[:, 1],
            np.ones(len(target_B), dtype=bool),
        ),
        "bias": ratio_statistic(error_B),
    }
    return cluster_bootstrap(game_B, statistics, replicates)


def explained_variance_statistic(value_B: Floats, target_B: Floats) -> Statistic:
    """Returns the statistic of the explained variance: 1 - mean squared error / variance of the target."""
    centred_B, everywhere_B = target_B - target_B.mean(), np.ones(len(target_B), dtype=bool)
    return Statistic(
        (lambda: everywhere_B, lambda: centred_B, lambda: centred_B**2, lambda: (value_B - target_B) ** 2),
        lambda s: explained_variance(s[:, 0], s[:, 1], s[:, 2], s[:, 3]),
        everywhere_B,
    )


def explained_variance(count: _Sum, target: _Sum, target_square: _Sum, error_square: _Sum) -> _Sum:
    """Computes the explained variance from sums over decisions, or, with a count of 1, from means."""
    return 1 - error_square / (target_square - target**2 / count)


def log_likelihood_metrics(
    game_B: NDArray[np.int64], log_probability: dict[str, Floats], replicates: int = REPLICATES
) -> dict[str, Estimate]:
    """Computes the mean log probability (nats) of the outcome, by name of the predictor.

    Chance is -ln 4 = -1.386 for the actor's rank and -ln 24 = -3.178 for the order of four seats, of three -ln 3 and
    -ln 6.
    """
    return cluster_bootstrap(
        game_B, {name: ratio_statistic(values) for name, values in log_probability.items()}, replicates
    )
