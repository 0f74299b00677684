"""The objective of imitation against a plain loop."""

import pytest

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import ObjectiveConfig
from kanachan.data.batch import Batch
from kanachan.objectives.networks import objective_class
from tests.support.random_outputs import log_softmax, random_batch, random_output


@pytest.fixture(scope="module")
def batch() -> Batch:
    return random_batch()


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_imitation_is_the_cross_entropy_over_real_candidates(batch: Batch, smoothing: float) -> None:
    objective = objective_class("imitation")(ObjectiveConfig(label_smoothing=smoothing), FOUR_PLAYERS)
    output = random_output(objective, batch)
    expected = []
    for row in range(len(batch)):
        logits = output.candidate_BAK[row, batch.candidate_BA[row] != 0, 0].tolist()
        log_probability = log_softmax(logits)
        spread = sum(log_probability) / len(logits)
        expected.append(-(1 - smoothing) * log_probability[int(batch.chosen_B[row])] - smoothing * spread)
    assert float(objective.loss(output, batch)["loss"]) == pytest.approx(sum(expected) / len(expected), abs=1e-5)
