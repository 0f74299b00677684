"""Statistics of predicted values: explained variance, and skill compared with another prediction."""

import numpy as np

from kanachan.evaluation.bootstrap import Column, Floats, Statistic

_ROUNDING = 1e-12  # of the sum of squares


def explained_variance_statistic(value_B: Floats, target_B: Floats) -> Statistic:
    """Returns the statistic of the explained variance: 1 - mean squared error / variance of the target."""
    centred_B, everywhere_B = target_B - target_B.mean(), np.ones(len(target_B), dtype=bool)
    return Statistic(
        (lambda: everywhere_B, lambda: centred_B, lambda: centred_B**2, lambda: (value_B - target_B) ** 2),
        lambda s: explained_variance(s[:, 0], s[:, 1], s[:, 2], s[:, 3]),
        everywhere_B,
    )


def explained_variance(
    count: float | Floats, target: float | Floats, target_square: float | Floats, error_square: float | Floats
) -> Floats:
    """Computes the explained variance from sums over decisions, or with a count of 1, from means; NaN if all targets
    are equal."""
    variance = target_square - target**2 / count
    return 1 - error_square / np.where(variance > _ROUNDING * target_square, variance, np.nan)


def skill_statistic(square_B: Floats, other_square_B: Floats, where_B: Column | None = None) -> Statistic:
    """Returns the statistic of 1 - squared error / squared error of another prediction, over all rows or the rows where
    `where_B` is 1."""
    taken_B = np.ones(len(square_B), dtype=bool) if where_B is None else where_B
    return Statistic(
        (lambda: np.where(taken_B, square_B, 0.0), lambda: np.where(taken_B, other_square_B, 0.0)),
        lambda s: 1 - s[:, 0] / s[:, 1],
        taken_B,
    )
