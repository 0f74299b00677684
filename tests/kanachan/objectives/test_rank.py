"""The objective of ranks against plain loops."""

from itertools import permutations

import pytest

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import ObjectiveConfig
from kanachan.data.batch import Batch
from kanachan.objectives.rank import Rank
from tests.support.random_outputs import random_output


def test_orders_are_numbered_as_the_permutations_of_the_ranks(batch: Batch) -> None:
    objective = Rank(ObjectiveConfig(), FOUR_PLAYERS)
    orders = list(permutations(range(4)))
    expected = [orders.index(tuple(row)) for row in batch.result_BR[:, 5:9].tolist()]
    assert objective.order(batch).tolist() == expected


def test_the_probability_of_the_actors_rank_is_the_sum_over_its_orders(batch: Batch) -> None:
    objective = Rank(ObjectiveConfig(), FOUR_PLAYERS)
    output = random_output(objective, batch)
    probability_BR = objective.situation_rank_probability(output)
    for row in range(len(batch)):
        probability = output.summary_BK[row].softmax(dim=0).tolist()
        expected = [0.0] * 4
        for order, ranks in enumerate(permutations(range(4))):
            expected[ranks[0]] += probability[order]
        assert probability_BR[row].tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("points", [(1.0, 0.0), (2.0, 2.0, 2.0, 2.0)])
def test_useless_rank_points_are_refused(points: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match=r"objective\.rank_points"):
        Rank(ObjectiveConfig(rank_points=points), FOUR_PLAYERS)
