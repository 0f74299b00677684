"""Computes estimates with 95 % intervals, using a bootstrap that resamples whole games."""

from collections.abc import Callable, Mapping
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any]  # of floats or booleans
Floats = NDArray[np.float64]
StatisticFunction = Callable[[Floats], Floats]  # sums [R, C] to [R]
FEWEST_GAMES = 6
"""with fewer games, the differences of all games have the same sign by chance in more than 5 % of cases: 2 / 2**5"""
_REPLICATES_AT_ONCE = 50


class Estimate(NamedTuple):
    """A metric, its 95 % interval by games (NaN if it has none), and the numbers of decisions and games from which it
    is computed."""

    value: float
    low: float
    high: float
    decisions: int
    games: int

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval excludes zero, by more than a rounding error."""
        return self.low > 1e-6 or self.high < -1e-6

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes zero and is of enough games for a conclusion."""
        return self.excludes_zero and self.games >= FEWEST_GAMES


class Statistic(NamedTuple):
    """The definition of a metric: a function of sums of columns over the decisions."""

    columns: tuple[Callable[[], Column], ...]
    """functions that return a column [B]; called only when it is summed, because all columns together are large"""
    statistic: StatisticFunction
    """function of the sums of these columns"""
    where_B: Column
    """1 for the decisions over which the metric is computed, else 0"""
    has_interval: bool = True
    """False if resamples are biased, all too high or too low"""


def ratio_statistic(value_B: Column, where_B: Column | None = None) -> Statistic:
    """Returns the statistic of the mean of values over the rows where `where_B` (0 or 1) is 1, or over all rows."""
    taken_B = np.ones(len(value_B), dtype=bool) if where_B is None else where_B
    columns = (lambda: np.where(taken_B, value_B, 0.0), lambda: taken_B)
    return Statistic(columns, _ratio, taken_B)


def ratio_of_sums(numerator_B: Column, denominator_B: Column) -> Statistic:
    """Returns the statistic of one column's sum divided by another's, which is not negative."""
    return Statistic((lambda: numerator_B, lambda: denominator_B), _ratio, denominator_B > 0)


def _ratio(sums_RC: Floats) -> Floats:
    ratio_R: Floats = sums_RC[:, 0] / sums_RC[:, 1]
    return ratio_R


def cluster_bootstrap(
    game_B: NDArray[np.int64], statistics: Mapping[str, Statistic], replicates: int
) -> dict[str, Estimate]:
    """Computes statistics with 95 % intervals, all from the same resamples of games with replacement."""
    games, game_index_B = np.unique(game_B, return_inverse=True)
    # Columns with equal sums are merged, so that equal metrics have bitwise equal resamples: a matrix product may round
    # its columns differently.
    place_of: dict[bytes, int] = {}
    place_C = []
    for make in (make for statistic in statistics.values() for make in statistic.columns):
        sum_G = np.bincount(game_index_B, make(), len(games))
        place_C.append(place_of.setdefault(sum_G.tobytes(), len(place_of)))
    sums_GD = np.stack([np.frombuffer(sum_G) for sum_G in place_of], axis=1)
    rng = np.random.default_rng(0)
    share_G = np.full(len(games), 1 / len(games))
    sums_RC = np.concatenate(
        [
            rng.multinomial(len(games), share_G, size=min(_REPLICATES_AT_ONCE, replicates - first)) @ sums_GD
            for first in range(0, replicates, _REPLICATES_AT_ONCE)
        ]
    )[:, place_C]
    total_1C = sums_GD.sum(axis=0, keepdims=True)[:, place_C]
    estimates, last = {}, 0
    with np.errstate(invalid="ignore", divide="ignore"):
        for name, (columns, statistic, where_B, has_interval) in statistics.items():
            span, last = slice(last, last + len(columns)), last + len(columns)
            value = float(statistic(total_1C[:, span])[0])
            drawn_R = statistic(sums_RC[:, span] if has_interval else sums_RC[:0, span])
            drawn_R = drawn_R[~np.isnan(drawn_R)]  # the drawn games may lack a rare kind of decision
            # infinity is a valid value: stable dan is infinite if no fourth place was drawn
            method: Literal["linear", "inverted_cdf"] = "linear" if np.isfinite(drawn_R).all() else "inverted_cdf"
            num_games = int((np.bincount(game_index_B, where_B) > 0).sum())
            low, high = np.quantile(drawn_R, _levels(num_games), method=method) if len(drawn_R) else (np.nan, np.nan)
            estimates[name] = Estimate(value, float(low), float(high), int(where_B.sum()), num_games)
    return estimates


def _levels(num_games: int) -> tuple[float, float]:
    """Returns the quantiles of the resamples that are the ends of an interval, if so many games have decisions over
    which the metric is computed.

    The 2.5th and 97.5th percentiles would be too close: resamples have the variance of the games instead of the
    population's, which is also unknown, so that Student's distribution replaces the normal one. Quantiles keep the ends
    within the metric's range."""
    freedom, z = num_games - 1, 1.959964
    if freedom < 1:
        return 0.0, 1.0
    # expansion of Student's quantile for many degrees of freedom; error below 0.2 % from five on
    student = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    student += (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    low = NormalDist().cdf(-student * (num_games / freedom) ** 0.5)
    return low, 1 - low
