"""Computes the calibration error, and the reliability in groups of similar predictions.

Shapes: B decisions, R ranks.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from annotate.vocabulary import Vocabulary
from kanachan.data.columns import Columns
from kanachan.evaluation.bootstrap import Column, Estimate, Floats, Statistic, cluster_bootstrap, ratio_statistic
from kanachan.objectives.targets import Results, final_rank

Mask = NDArray[np.bool_]

CALIBRATION_BINS = 15
NUM_TENTHS = 10


class Bin(NamedTuple):
    """A group of decisions with similar predictions."""

    predicted: float
    """mean prediction"""
    actual: Estimate
    """mean outcome"""


def calibration_statistic(confidence_B: Column, is_right_B: Column) -> Statistic:
    """Returns the statistic of the expected calibration error: the mean distance between confidence and accuracy over
    15 bins of equal width, weighted by their decisions. It has no interval, because resampling itself adds an error to
    each bin."""
    everywhere_B = np.ones(len(confidence_B), dtype=bool)
    bin_B = np.minimum((confidence_B * CALIBRATION_BINS).astype(int), CALIBRATION_BINS - 1)
    gap_B = confidence_B - is_right_B

    def gap(number: int) -> Callable[[], Column]:
        return lambda: np.where(bin_B == number, gap_B, 0.0)

    def error(sums_RC: Floats) -> Floats:
        return calibration_error(sums_RC[:, :-1], sums_RC[:, -1])

    return Statistic(
        (*map(gap, range(CALIBRATION_BINS)), lambda: everywhere_B), error, everywhere_B, has_interval=False
    )


def calibration_error(gap_RG: Floats, count_R: Floats) -> Floats:
    """Computes the expected calibration error from sums of prediction minus outcome, by resample and group of similar
    predictions, and from the total numbers of decisions by resample."""
    error_R: Floats = np.abs(gap_RG).sum(axis=1) / count_R
    return error_R


def reliability(game_B: NDArray[np.int64], value_B: Floats, target_B: Floats, replicates: int) -> list[Bin]:
    """Groups predictions by deciles, each with its mean outcome; for reliable values, the two means are equal."""
    bins = []
    for rows in np.array_split(np.argsort(value_B, kind="stable"), NUM_TENTHS):
        if len(rows):
            outcome = cluster_bootstrap(game_B[rows], {"": ratio_statistic(target_B[rows])}, replicates)[""]
            bins.append(Bin(float(value_B[rows].mean()), outcome))
    return bins


def reliability_of_ranks(
    columns: Columns, probability_BR: Floats, vocabulary: Vocabulary, groups: Mapping[str, Mask], replicates: int
) -> dict[str, list[Bin]]:
    """Compares, in each group of decisions, the probabilities of all ranks with how often the actor reached them."""
    rank_B = final_rank(Results.of_columns(columns, vocabulary)).numpy()
    is_reached_BR = rank_B[:, None] == np.arange(probability_BR.shape[1])
    game_B = columns.game.view(np.int64)
    return {
        name: reliability(
            np.repeat(game_B[where_B], probability_BR.shape[1]),
            probability_BR[where_B].ravel(),
            is_reached_BR[where_B].ravel().astype(np.float64),
            replicates,
        )
        for name, where_B in groups.items()
        if where_B.any()
    }


def is_last_round(wind_B: NDArray[Any], dealer_B: NDArray[Any], style_B: NDArray[Any], num_seats: int) -> Mask:
    """Returns whether each round is the last regular round of its game or a later one, [B]."""
    # style 0 ends with East, 1 with South
    return wind_B.astype(np.int64) * num_seats + dealer_B >= (style_B.astype(np.int64) + 1) * num_seats - 1
