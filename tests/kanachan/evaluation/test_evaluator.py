"""The grading points of each rank, estimated from a train split."""

from collections import defaultdict

import pytest

from annotate.annotation import Annotation
from annotate.vocabulary import FOUR_PLAYERS as V
from annotate.vocabulary import NUM_GRADES
from kanachan.data.columns import columns_of_annotations
from kanachan.evaluation.evaluator import points_of_ranks
from tests.support.random_annotations import random_annotations, seat_of

TRAIN, TEST = random_annotations(150, seed=0), random_annotations(90, seed=2)


def test_the_points_of_a_rank_are_their_mean_by_room_style_and_own_grade() -> None:
    means: dict[tuple[int, ...], list[int]] = defaultdict(list)
    overall = defaultdict(list)

    def case(annotation: Annotation) -> tuple[int, ...]:
        values = [V.sparse.describe(token) for token in annotation.sparse]
        own = [
            v["grade_or_rank"]
            for name, v in values
            if name == "standing" and v["seat"] == seat_of(annotation) and v["grade_or_rank"] < NUM_GRADES
        ]
        return (*[v[name] for name in ("room", "style") for block, v in values if block == name], *own)

    for annotation in TRAIN:
        rank, delta = annotation.results[V.results.index("rank")], annotation.results[-1]
        means[*case(annotation), rank].append(delta)
        overall[rank].append(delta)
    points = points_of_ranks(columns_of_annotations(TRAIN, V), columns_of_annotations(TRAIN + TEST, V), V)
    for annotation, points_R in zip(TRAIN + TEST, points, strict=True):
        for rank in range(4):
            seen = means.get((*case(annotation), rank)) or overall[rank]
            assert points_R[rank] == pytest.approx(sum(seen) / len(seen))
