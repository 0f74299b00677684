"""Calibration error, and reliability by groups of similar predictions."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kanachan.evaluation.bootstrap import (
    REPLICATES,
    Column,
    Estimate,
    Floats,
    Statistic,
    cluster_bootstrap,
    ratio_statistic,
)

CALIBRATION_BINS = 15
NUM_TENTHS = 10


class Bin(NamedTuple):
    """A group of decisions with similar predictions."""

    predicted: float
    """mean prediction"""
    actual: Estimate
    """mean outcome"""


def calibration_statistic(confidence_B: Column, is_right_B: Column) -> Statistic:
    """Returns the statistic of the expected calibration error: the mean distance of confidence from accuracy over 15
    bins of equal width, weighted by their decisions."""
    everywhere_B = np.ones(len(confidence_B), dtype=bool)
    bin_B = np.minimum((confidence_B * CALIBRATION_BINS).astype(int), CALIBRATION_BINS - 1)
    gap_B = confidence_B - is_right_B

    def gap(number: int) -> Callable[[], Column]:
        return lambda: np.where(bin_B == number, gap_B, 0.0)

    def error(sums_RC: Floats) -> Floats:
        return calibration_error(sums_RC[:, :-1], sums_RC[:, -1])

    return Statistic((*map(gap, range(CALIBRATION_BINS)), lambda: everywhere_B), error, everywhere_B)


def calibration_error(gap_RG: Floats, count_R: Floats) -> Floats:
    """Computes the expected calibration error from sums of prediction less outcome, by resample and group of similar
    predictions, and the numbers of decisions in all."""
    error_R: Floats = np.abs(gap_RG).sum(axis=1) / count_R
    return error_R


def reliability(
    game_B: NDArray[np.int64], value_B: Floats, target_B: Floats, replicates: int = REPLICATES
) -> list[Bin]:
    """Groups predictions by deciles, each with its mean outcome: where values are reliable, the two are equal."""
    bins = []
    for rows in np.array_split(np.argsort(value_B, kind="stable"), NUM_TENTHS):
        if len(rows):
            outcome = cluster_bootstrap(game_B[rows], {"": ratio_statistic(target_B[rows])}, replicates)[""]
            bins.append(Bin(float(value_B[rows].mean()), outcome))
    return bins
