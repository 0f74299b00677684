"""Random outputs of a network, and plain loops, for tests of objectives."""

import math
from collections.abc import Iterator, Sequence

import torch

from annotate.annotation import Annotation
from annotate.vocabulary import FOUR_PLAYERS, tile34_of
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


def random_scores(annotations: Sequence[Annotation], seed: int) -> list[list[float]]:
    """Returns a score for each action of each decision."""
    generator = torch.Generator().manual_seed(seed)
    return [(2 * torch.randn(len(a.actions), generator=generator)).tolist() for a in annotations]


def scored_batches(
    annotations: Sequence[Annotation], scores: Sequence[Sequence[float]]
) -> Iterator[tuple[torch.Tensor, Batch]]:
    """Yields the scores [B, A] and the decisions of two batches, which are padded differently; none is empty."""
    first = (1 + len(annotations)) // 3
    for rows in (slice(0, first), slice(first, None)):
        if annotations[rows]:
            batch = batch_of_annotations(annotations[rows], FOUR_PLAYERS)
            score_BA = torch.full(batch.candidate_BA.shape, -math.inf)
            for row, values in enumerate(scores[rows]):
                score_BA[row, : len(values)] = torch.tensor(values)
            yield score_BA, batch


def kind_of(action: int) -> str:
    """Returns the kind of an action as metrics name it."""
    block, factors = FOUR_PLAYERS.action.describe(action)
    if block == "discard":
        return "riichi" if factors["riichi"] else "discard"
    return "kan" if block in ("ankan", "kakan", "daiminkan") else block


def tile_of(action: int) -> int | None:
    """Returns the kind of tile that is discarded, if any."""
    block, factors = FOUR_PLAYERS.action.describe(action)
    return tile34_of(factors["tile"]) if block == "discard" else None


def log_softmax(values: list[float]) -> list[float]:
    total = math.log(sum(math.exp(v) for v in values))
    return [v - total for v in values]
