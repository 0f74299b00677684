"""Statistics of matches: against counts by hand, on random results, and with games missing."""

import math
from dataclasses import replace

import numpy as np
import pytest

from kanachan.play.match import Format, Match
from kanachan.play.statistics import PairedTest, match_statistics, rank_difference
from tests.support.matches import random_results

POINTS = (90.0, 45.0, 0.0, -135.0)
POINTS_OF_THREE = (135.0, 0.0, -135.0)
of_four_and_three = pytest.mark.parametrize(("format_", "points"), [("1v3", POINTS), ("1v2", POINTS_OF_THREE)])


@of_four_and_three
def test_metrics_equal_counts_by_hand(format_: Format, points: tuple[float, ...]) -> None:
    results, num_seats = random_results(0, format_=format_), len(points)
    match = Match(players=("x", "y"), format=format_)
    statistics = match_statistics(results[::-1], match, points, replicates=20)
    for letter in "AB":
        at = [(r, seat) for r in results for seat in range(num_seats) if r.players[seat] == letter]
        rounds = sum(r.rounds for r, _ in at)
        ranks = [r.ranks[seat] for r, seat in at]
        found = {name: estimate.value for name, estimate in statistics.players[letter].items()}
        assert found["mean_rank"] == pytest.approx(1 + sum(ranks) / len(at))
        shares = [ranks.count(place) / len(at) for place in range(num_seats)]
        assert [found[f"rank_{place + 1}"] for place in range(num_seats)] == pytest.approx(shares)
        assert f"rank_{num_seats + 1}" not in found
        assert found["points"] == pytest.approx(sum(points[rank] for rank in ranks) / len(at))
        assert found["grading_points"] == pytest.approx(sum(r.grading_deltas[seat] for r, seat in at) / len(at))
        assert found["win_rate"] == pytest.approx(sum(r.wins[seat] for r, seat in at) / rounds)
        assert found["deal_in_rate"] == pytest.approx(sum(r.deal_ins[seat] for r, seat in at) / rounds)
        assert found["won_points"] == pytest.approx(1000)
        gained = points[0] * ranks.count(0) + points[1] * ranks.count(1)
        assert found["stable_dan"] == pytest.approx(gained / (15 * ranks.count(num_seats - 1)) - 2)
    for name, estimate in statistics.differences.items():
        a, b = (statistics.players[letter][name].value for letter in "AB")
        assert estimate.value == pytest.approx(a - b)
        assert estimate.low <= estimate.value <= estimate.high or name == "won_points"
    assert statistics.test.difference == pytest.approx(np.mean([rank_difference(r) for r in results]))


def test_points_of_the_highest_grade_are_not_known() -> None:
    match = Match(players=("x", "y"), grades=(14, 15))
    statistics = match_statistics(random_results(0), match, POINTS, replicates=20)
    assert all("grading_points" not in of for of in (*statistics.players.values(), statistics.differences))


@of_four_and_three
def test_equal_ranks_everywhere_are_seven_dan_at_tenhous_houou_tables(
    format_: Format, points: tuple[float, ...]
) -> None:
    """At 7 dan the first two places win 90 + 45 and the last loses 135; with three players the first wins 135."""
    # A is in every seat in turn
    results = [
        replace(result, ranks=list(range(len(points)))) for result in random_results(0, walls=1, format_=format_)
    ]
    statistics = match_statistics(results, Match(players=("x", "y"), format=format_), points, replicates=5)
    assert statistics.players["A"]["stable_dan"].value == pytest.approx(7)
    assert statistics.players["B"]["stable_dan"].value == pytest.approx(7)


def test_random_results_are_rarely_significant() -> None:
    tests = [
        match_statistics(random_results(s), Match(players=("x", "y")), POINTS, replicates=2).test for s in range(40)
    ]
    assert sum(test.p < 0.05 for test in tests) <= 6
    assert 0.3 < np.mean([test.p for test in tests]) < 0.7


def test_the_number_of_games_needed_detects_the_difference_in_four_of_five_matches() -> None:
    test = PairedTest(0.0, 1.0, wall_deviation=0.8, walls=100, whole_walls=100)
    walls = test.games_for(0.2, games_per_wall=4) / 4
    rng = np.random.default_rng(0)
    means = rng.normal(0.2, 0.8 / math.sqrt(walls), 4000)
    assert np.mean(means > 1.96 * 0.8 / math.sqrt(walls)) == pytest.approx(0.8, abs=0.03)


def test_walls_with_missing_games_do_not_count_for_the_deviation_of_walls() -> None:
    whole, match = random_results(0), Match(players=("x", "y"))
    partial = [replace(result, wall=30 + result.wall) for result in random_results(1, walls=300) if result.seating == 2]
    wanted, found = (match_statistics(games, match, POINTS, replicates=2).test for games in (whole, whole + partial))
    assert found.wall_deviation == pytest.approx(wanted.wall_deviation)
    assert (found.walls, found.whole_walls) == (330, 30)
    assert found.games_for(0.05, 4) == wanted.games_for(0.05, 4)
