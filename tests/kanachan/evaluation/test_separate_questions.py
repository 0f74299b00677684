"""Metrics of decisions as separate questions, against plain loops over the decisions."""

import math
from collections import defaultdict
from collections.abc import Sequence

import pytest

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.evaluation.bootstrap import Estimate
from kanachan.evaluation.decision_metrics import concatenated
from kanachan.evaluation.separate_questions import YES_OR_NO, AnswerMeter, question_metrics
from tests.support.random_annotations import random_annotations
from tests.support.random_outputs import kind_of, random_scores, scored_batches, tile_of

ANNOTATIONS = random_annotations(600, seed=9, games=30)
SCORES = random_scores(ANNOTATIONS, seed=1)


@pytest.fixture(scope="module")
def metrics() -> dict[str, Estimate]:
    meter = AnswerMeter(FOUR_PLAYERS)
    answers = concatenated([meter.rows(*part) for part in scored_batches(ANNOTATIONS, SCORES)])
    return question_metrics(answers, replicates=50)


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def test_the_question_of_the_tile_compares_only_tiles(metrics: dict[str, Estimate]) -> None:
    right, likelihood, of_tile = [], [], defaultdict(list)
    for annotation, row in zip(ANNOTATIONS, SCORES, strict=True):
        weight: dict[int, float] = defaultdict(float)
        for action, score in zip(annotation.actions, row, strict=True):
            tile = tile_of(action)
            if tile is not None:
                weight[tile] += math.exp(score)
        taken = tile_of(annotation.actions[annotation.chosen])
        if taken is None or len(weight) < 2:
            continue
        right.append(float(max(weight, key=lambda tile: weight[tile]) == taken))
        likelihood.append(math.log(weight[taken] / sum(weight.values())))
        of_tile[taken].append(right[-1])
    assert metrics["discard/accuracy"].decisions == len(right) > 100
    assert metrics["discard/accuracy"].value == pytest.approx(mean(right))
    assert metrics["discard/log_likelihood"].value == pytest.approx(mean(likelihood), abs=1e-6)
    assert metrics["discard/balanced_accuracy"].value == pytest.approx(mean([mean(v) for v in of_tile.values()]))


@pytest.mark.parametrize("kind", [kind for kind in YES_OR_NO if kind != "kita"])
def test_a_yes_or_no_question_sums_over_the_actions_of_the_kind(kind: str, metrics: dict[str, Estimate]) -> None:
    found = []
    for annotation, row in zip(ANNOTATIONS, SCORES, strict=True):
        weights = [math.exp(score) for score in row]
        of_kind = [kind_of(action) == kind for action in annotation.actions]
        if any(of_kind):
            share = sum(w for w, is_of_kind in zip(weights, of_kind, strict=True) if is_of_kind) / sum(weights)
            found.append((of_kind[annotation.chosen], share))
    yes, no = ([share for taken, share in found if taken is which] for which in (True, False))
    assert yes and no
    hits, rejections = [share > 0.5 for share in yes], [share <= 0.5 for share in no]
    base = len(yes) / len(found)
    expected = {
        "accuracy": mean([*hits, *rejections]),
        "balanced_accuracy": (mean(hits) + mean(rejections)) / 2,
        "recall": mean(hits),
        "log_likelihood": mean([*map(math.log, yes), *(math.log(1 - share) for share in no)]),
        "taken": base,
        "majority/accuracy": max(base, 1 - base),
    }
    assert {name for name in metrics if name.startswith(f"{kind}/")} == {f"{kind}/{name}" for name in expected}
    for name, value in expected.items():
        assert metrics[f"{kind}/{name}"].value == pytest.approx(value, abs=1e-5), name
        assert metrics[f"{kind}/{name}"].low <= metrics[f"{kind}/{name}"].high
