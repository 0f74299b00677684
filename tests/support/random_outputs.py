"""Random outputs of a network, and plain loops, for tests of objectives."""

import math

import torch

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.data.batch import Batch, batch_of_annotations
from kanachan.models.transformer import Output
from kanachan.objectives.objective import Objective
from tests.support.random_annotations import random_annotations


def random_batch() -> Batch:
    return batch_of_annotations(random_annotations(12, seed=3), FOUR_PLAYERS)


def random_output(objective: Objective, batch: Batch, seed: int = 0) -> Output:
    generator = torch.Generator().manual_seed(seed)
    shape = (*batch.candidate_BA.shape, objective.num_candidate_outputs)
    return Output(
        torch.randn(shape, generator=generator),
        torch.randn(len(batch), objective.num_summary_outputs, generator=generator),
        batch.candidate_BA != 0,
    )


def log_softmax(values: list[float]) -> list[float]:
    total = math.log(sum(math.exp(v) for v in values))
    return [v - total for v in values]
