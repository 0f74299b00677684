"""The objective of imitation against a plain loop."""

import math

import pytest
import torch

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import ObjectiveConfig
from kanachan.objectives.networks import objective_class
from tests.support.random_outputs import log_softmax, random_batch, random_output

BATCH = random_batch()


def test_imitation_is_the_cross_entropy_over_real_candidates() -> None:
    objective = objective_class("imitation")(ObjectiveConfig(), FOUR_PLAYERS)
    output = random_output(objective, BATCH)
    expected = []
    for row in range(len(BATCH)):
        logits = output.candidate_BAK[row, BATCH.candidate_BA[row] != 0, 0].tolist()
        expected.append(-log_softmax(logits)[int(BATCH.chosen_B[row])])
    assert float(objective.loss(output, BATCH)["loss"]) == pytest.approx(sum(expected) / len(expected), abs=1e-5)


def test_with_a_teacher_the_loss_is_the_cross_entropy_with_its_probabilities() -> None:
    objective = objective_class("imitation")(ObjectiveConfig(), FOUR_PLAYERS)
    output, teacher = random_output(objective, BATCH), random_output(objective, BATCH, seed=1)
    taught = BATCH.with_soft_labels(objective.predictions(teacher)["probabilities"])
    cross_entropies, divergences = [], []
    for row in range(len(BATCH)):
        is_real = BATCH.candidate_BA[row] != 0
        ours, theirs = (log_softmax(each.candidate_BAK[row, is_real, 0].tolist()) for each in (output, teacher))
        cross_entropies.append(-sum(math.exp(log) * own for log, own in zip(theirs, ours, strict=True)))
        divergences.append(sum(math.exp(log) * (log - own) for log, own in zip(theirs, ours, strict=True)))
    parts = objective.loss(output, taught)
    assert float(parts["loss"]) == pytest.approx(sum(cross_entropies) / len(BATCH), abs=1e-5)
    assert float(parts["teacher_divergence"]) == pytest.approx(sum(divergences) / len(BATCH), abs=1e-5)
    assert torch.equal(parts["cross_entropy"], objective.loss(output, BATCH)["loss"])
