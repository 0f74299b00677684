"""Intervals from resampling whole games."""

import math

import numpy as np
import pytest

from kanachan.evaluation.bootstrap import Statistic, cluster_bootstrap, ratio_statistic


def test_intervals_come_from_resampling_games() -> None:
    rng = np.random.default_rng(1)
    game_B = np.repeat(np.arange(30), 10)
    value_B = np.repeat(rng.normal(size=30), 10)  # equal within a game: 300 rows hold no more information than 30
    estimate = cluster_bootstrap(game_B, {"mean": ratio_statistic(value_B)}, replicates=1000)["mean"]
    error = value_B.std() / math.sqrt(30)
    assert estimate.value == pytest.approx(value_B.mean())
    assert estimate.high - estimate.low == pytest.approx(2 * 1.96 * error, rel=0.15)


@pytest.mark.parametrize("games", [6, 10, 30])
def test_intervals_of_few_games_contain_the_true_value_as_often_as_they_say(games: int) -> None:
    rng, game_B, draws = np.random.default_rng(2), np.arange(games), 1000
    statistics = {str(draw): ratio_statistic(rng.normal(size=games)) for draw in range(draws)}
    found = cluster_bootstrap(game_B, statistics, replicates=400)
    assert sum(estimate.low < 0 < estimate.high for estimate in found.values()) / draws == pytest.approx(0.94, abs=0.02)


def test_a_metric_of_few_games_has_an_interval_as_wide_as_without_the_others() -> None:
    value_B = np.random.default_rng(3).normal(size=300)
    of_few = cluster_bootstrap(np.arange(300), {"": ratio_statistic(value_B, np.arange(300) < 8)}, replicates=4000)[""]
    alone = cluster_bootstrap(np.arange(8), {"": ratio_statistic(value_B[:8])}, replicates=4000)[""]
    assert of_few.value == alone.value and of_few.decisions == alone.decisions == 8
    assert 1 <= (of_few.high - of_few.low) / (alone.high - alone.low) < 1.3  # their number varies too


def test_an_interval_is_clear_if_enough_games_have_decisions_of_the_metric() -> None:
    value_B = np.random.default_rng(3).normal(5, 1, size=30)
    statistics = {str(games): ratio_statistic(value_B, np.arange(30) < games) for games in (3, 30)}
    few, many = cluster_bootstrap(np.arange(30), statistics, replicates=400).values()
    assert few.excludes_zero and (few.games, few.is_clear) == (3, False)
    assert (many.games, many.is_clear) == (30, True)
    assert not many._replace(low=1e-9).is_clear  # a rounding error


@pytest.mark.parametrize("games", [30, 333, 997])
@pytest.mark.parametrize("width", [1, 3, 5, 7, 21, 33])
def test_equal_columns_have_equal_draws_to_the_last_bit(games: int, width: int) -> None:
    columns = list(np.random.default_rng(games).normal(size=(width, games)))

    def difference(sums_RC: np.ndarray) -> np.ndarray:
        return np.abs(sums_RC[:, :width] - sums_RC[:, width:]).max(axis=1)

    made = [lambda column=column: column for column in columns]
    statistic = Statistic((*made, *made), difference, np.ones(games))
    assert cluster_bootstrap(np.arange(games), {"": statistic}, replicates=50)[""][:3] == (0, 0, 0)
