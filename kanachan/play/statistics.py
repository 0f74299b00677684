"""Statistics of a match: metrics with intervals, differences between the players, and a significance test.

The seatings of a wall share their tiles. Therefore intervals come from a bootstrap that resamples whole walls, and the
test randomly flips the signs of whole walls' differences.

Shapes: B games, C columns of sums, R replicates, W walls, F flips.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from annotate.game.grading import CELESTIAL, FIRST_DAN, TENHOU_BONUS, TENHOU_PENALTY_STEP
from annotate.runtime.json_output import plain
from kanachan.evaluation.bootstrap import Estimate, Floats, Statistic, cluster_bootstrap, ratio_of_sums
from kanachan.evaluation.comparison import difference
from kanachan.play.match import PLAYERS, GameResult, Match, num_seatings

_FLIPS = 20_000
_FLIPS_AT_ONCE = 100
_SIGNIFICANCE, _POWER = 0.05, 0.8
_NO_DEVIATION = 1e-9  # treated as 0, because of rounding
FEWEST_WALLS = 10
"""with fewer walls, the variance between walls is too uncertain for reliable intervals"""


class PairedTest(NamedTuple):
    """A test of whether the players' mean ranks differ, paired by walls."""

    difference: float
    """mean rank of A minus mean rank of B"""
    p: float
    """share of random sign flips with a difference at least as large"""
    wall_deviation: float
    """standard deviation of the whole walls' differences; NaN with fewer than two walls"""
    walls: int
    whole_walls: int
    """number of walls whose games have all ended"""

    def games_for(self, wanted: float, games_per_wall: int) -> int | None:
        """Returns the number of games needed to detect the difference `wanted` with 80 % power at 5 % significance;
        None if all walls have the same difference, for example if a player plays against itself."""
        if self.wall_deviation < _NO_DEVIATION:
            return None
        normal = NormalDist()
        distance = normal.inv_cdf(1 - _SIGNIFICANCE / 2) + normal.inv_cdf(_POWER)
        return max(1, math.ceil((distance * self.wall_deviation / wanted) ** 2)) * games_per_wall


class MatchStatistics(NamedTuple):
    """The metrics of a match, by name."""

    players: dict[str, dict[str, Estimate]]
    """metrics by player letter"""
    differences: dict[str, Estimate]
    """differences A minus B"""
    test: PairedTest


def match_statistics(
    results: Sequence[GameResult], match: Match, points: Sequence[float], replicates: int
) -> MatchStatistics:
    """Computes the statistics of finished games, given in any order. `points`: rank points, first to last."""
    results = sorted(results, key=lambda result: result.game)
    wall_B = np.array([result.wall for result in results], np.int64)
    metrics = {player: _metrics(results, player, points, match) for player in PLAYERS}
    differences = {name: difference(metrics["B"][name], metrics["A"][name]) for name in metrics["A"]}
    named = {f"{player}/{name}": metric for player in PLAYERS for name, metric in metrics[player].items()}
    named |= {f"-/{name}": metric for name, metric in differences.items()}
    estimates = cluster_bootstrap(wall_B, named, replicates)
    of_player = {p: {name: estimates[f"{p}/{name}"] for name in differences} for p in PLAYERS}
    return MatchStatistics(of_player, {name: estimates[f"-/{name}"] for name in differences}, _test(results, match))


def _metrics(results: Sequence[GameResult], player: str, points: Sequence[float], match: Match) -> dict[str, Statistic]:
    def total(values: Callable[[GameResult], Sequence[float]]) -> Floats:
        """Returns the sums over the player's seats, by game."""
        return np.array(
            [math.fsum(v for v, p in zip(values(r), r.players, strict=True) if p == player) for r in results]
        )

    def reached(rank: int) -> Floats:
        return total(lambda r: [each == rank for each in r.ranks])

    seats, rounds = total(lambda r: [1] * len(r.players)), total(lambda r: [r.rounds] * len(r.players))
    wins, rank_B = total(lambda r: r.wins), [reached(rank) for rank in range(len(points))]
    metrics = {
        **{f"rank_{rank}": ratio_of_sums(count_B, seats) for rank, count_B in enumerate(rank_B, start=1)},
        "mean_rank": ratio_of_sums(total(lambda r: [1 + rank for rank in r.ranks]), seats),
        "points": ratio_of_sums(total(lambda r: [points[rank] for rank in r.ranks]), seats),
        "grading_points": ratio_of_sums(total(lambda r: r.grading_deltas), seats),
        "stable_dan": _stable_dan(rank_B, match.style),
        "score": ratio_of_sums(total(lambda r: r.scores), seats),
        "win_rate": ratio_of_sums(wins, rounds),
        "deal_in_rate": ratio_of_sums(total(lambda r: r.deal_ins), rounds),
        "call_rate": ratio_of_sums(total(lambda r: r.calls), rounds),
        "riichi_rate": ratio_of_sums(total(lambda r: r.riichis), rounds),
        "won_points": ratio_of_sums(total(lambda r: r.won_points), wins),
    }
    if CELESTIAL in match.grades:  # its points are not known
        del metrics["grading_points"]
    return metrics


def _stable_dan(rank_B: Sequence[Floats], style: int) -> Statistic:
    """Returns the statistic for the stable dan: the Tenhou dan at which the mean gain at Houou tables is 0."""
    gains, step = TENHOU_BONUS[len(rank_B)][style]["houou"], TENHOU_PENALTY_STEP[style]
    lowest = FIRST_DAN - 3  # the dan at which the last place costs nothing

    def statistic(sums_RC: Floats) -> Floats:
        return sums_RC[:, :-1] @ np.array(gains) / (step * sums_RC[:, -1]) - (FIRST_DAN - 1 - lowest)

    columns = tuple([lambda of_rank_B=of_rank_B: of_rank_B for of_rank_B in rank_B])
    return Statistic(columns, statistic, np.ones(len(rank_B[0]), bool))


def rank_difference(result: GameResult) -> float:
    """Computes the mean rank of A minus the mean rank of B in one game."""
    ranks: dict[str, list[int]] = {player: [] for player in PLAYERS}
    for player, rank in zip(result.players, result.ranks, strict=True):
        ranks[player].append(rank)
    a, b = (sum(of_player) / len(of_player) for of_player in ranks.values())
    return a - b


def _test(results: Sequence[GameResult], match: Match) -> PairedTest:
    seatings = num_seatings(match.format)
    sums: dict[int, float] = {}
    for result in results:
        sums[result.wall] = sums.get(result.wall, 0.0) + rank_difference(result) / seatings
    sum_W = np.array(list(sums.values()))
    num_games = Counter(result.wall for result in results)
    # an incomplete wall would count as a wall with a small difference
    whole_W = np.array([num_games[wall] == seatings for wall in sums])
    observed = abs(sum_W.sum()) - 1e-9  # sums of the same numbers in a different order count as equal
    rng = np.random.default_rng(0)
    num_as_large = 0
    for _ in range(0, _FLIPS, _FLIPS_AT_ONCE):
        sign_FW = rng.integers(0, 2, (_FLIPS_AT_ONCE, len(sum_W))) * 2 - 1
        num_as_large += int((abs(sign_FW @ sum_W) >= observed).sum())
    difference_ = float(np.mean([rank_difference(result) for result in results]))
    whole_walls = int(whole_W.sum())
    deviation = float(sum_W[whole_W].std(ddof=1)) if whole_walls > 1 else math.nan
    return PairedTest(difference_, (num_as_large + 1) / (_FLIPS + 1), deviation, len(sum_W), whole_walls)


def as_json(outcome: MatchStatistics) -> dict[str, Any]:
    """Returns the statistics as JSON values, with null for undefined metrics."""

    def intervals(estimates: dict[str, Estimate]) -> dict[str, Any]:
        return {name: {"value": e.value, "low": e.low, "high": e.high} for name, e in estimates.items()}

    values: dict[str, Any] = plain(
        {
            "players": {letter: intervals(estimates) for letter, estimates in outcome.players.items()},
            "differences": intervals(outcome.differences),
            "test": outcome.test,
        }
    )
    return values
