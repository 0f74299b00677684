"""The baseline that sees only the scores and the round."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from annotate.vocabulary import FOUR_PLAYERS as V
from kanachan.data.columns import Columns, columns_of_annotations
from kanachan.evaluation.baselines import actor_orders, predicted_from_scores
from tests.support.random_annotations import random_annotations


@pytest.fixture(scope="module")
def columns() -> Columns:
    return columns_of_annotations(random_annotations(3000, seed=1, games=60), V)


def own_score(columns: Columns) -> np.ndarray:
    return columns.numeric[np.arange(len(columns)), 2 + columns.seat].astype(float)


def test_it_learns_targets_that_follow_from_scores(columns: Columns) -> None:
    target_B = own_score(columns) - 25_000
    predicted_B = predicted_from_scores(columns.rows(0, 2000), target_B[:2000], columns.rows(2000, 3000), V)
    assert (predicted_B - target_B[2000:]).var() < 0.05 * target_B.var()


def test_noise_is_not_fitted(columns: Columns) -> None:
    rng = np.random.default_rng(0)
    _, game_B = np.unique(columns.game, return_inverse=True)
    target_B = rng.normal(100, 10, 60)[game_B]  # one number for each game, which tells nothing about others
    predicted_B = predicted_from_scores(columns, target_B, columns, V)
    assert predicted_B.std() < 0.6 * target_B.std()


def test_the_tiles_of_the_hand_do_not_change_predictions(columns: Columns) -> None:
    train, target_B = columns.rows(0, 500), own_score(columns)[:500]
    hand = V.sparse["hand"]
    is_hand = (columns.sparse.values >= hand.first) & (columns.sparse.values < hand.first + hand.size)
    values = np.where(is_hand, hand.first, columns.sparse.values).astype(np.uint16)
    changed = replace(columns, sparse=replace(columns.sparse, values=values))
    first_B, second_B = (predicted_from_scores(train, target_B, rows, V) for rows in (columns, changed))
    assert (first_B == second_B).all()


def test_orders_start_with_the_actor(columns: Columns) -> None:
    orders = list(permutations(range(4)))
    order_B = actor_orders(columns, V)
    for row in range(50):
        seat, ranks = int(columns.seat[row]), columns.results[row, 5:9].tolist()
        assert orders[order_B[row]] == tuple(ranks[(seat + i) % 4] for i in range(4))
