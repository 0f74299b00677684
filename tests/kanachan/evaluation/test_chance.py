"""The metrics of a uniform choice, against a loop over the decisions and their actions."""

import math

import numpy as np
import pytest

from annotate.annotation import Annotation
from annotate.vocabulary import FOUR_PLAYERS as V
from kanachan.data.columns import columns_of_annotations
from kanachan.evaluation.chance import chance_metrics
from tests.support.random_annotations import random_annotations

ANNOTATIONS = random_annotations(60, seed=3)


def block_of(action: int) -> str:
    return V.action.describe(action)[0]


def where(kind: str) -> list[Annotation]:
    return [a for a in ANNOTATIONS if any(block_of(action) == kind for action in a.actions)]


def test_every_action_is_equally_probable() -> None:
    found = chance_metrics(columns_of_annotations(ANNOTATIONS, V), V, replicates=10)
    sizes = [len(a.actions) for a in ANNOTATIONS]
    assert found["top1"].value == pytest.approx(np.mean([1 / size for size in sizes]))
    assert found["nll"].value == pytest.approx(np.mean([math.log(size) for size in sizes]))


@pytest.mark.parametrize("kind", ["chi", "pon", "ron"])
def test_a_kind_is_chosen_as_often_as_its_share_of_the_actions(kind: str) -> None:
    found = chance_metrics(columns_of_annotations(ANNOTATIONS, V), V, replicates=10)
    agreements, recalls = [], []
    for a in where(kind):
        share = np.mean([block_of(action) == kind for action in a.actions])
        is_taken = block_of(a.actions[a.chosen]) == kind
        agreements.append(share if is_taken else 1 - share)
        recalls += [1 / len(a.actions)] if is_taken else []
    assert found[f"{kind}/accuracy"].value == pytest.approx(np.mean(agreements))
    assert found[f"{kind}/accuracy"].decisions == len(agreements)
    assert (f"{kind}/recall" in found) == bool(recalls)
    assert not recalls or found[f"{kind}/recall"].value == pytest.approx(np.mean(recalls))
