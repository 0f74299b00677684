"""Metrics of decisions, by kind, against plain loops over the decisions."""

import math
from collections import defaultdict

import numpy as np
import pytest

from annotate.annotation import Annotation
from annotate.vocabulary import FOUR_PLAYERS as V
from kanachan.data.columns import columns_of_annotations
from kanachan.evaluation.bootstrap import Estimate
from kanachan.evaluation.decision_metrics import (
    KINDS,
    DecisionMeter,
    DecisionRows,
    chance_metrics,
    concatenated,
    decision_metrics,
)
from tests.support.random_annotations import altered, random_annotations
from tests.support.random_outputs import kind_of, random_scores, scored_batches, tile_of

ANNOTATIONS = random_annotations(400, seed=5, games=20)
SCORES = random_scores(ANNOTATIONS, seed=0)


def measured(annotations: list[Annotation], scores: list[list[float]]) -> DecisionRows:
    meter = DecisionMeter(V)
    return concatenated([meter.rows(*part) for part in scored_batches(annotations, scores)])


@pytest.fixture(scope="module")
def metrics() -> dict[str, Estimate]:
    return decision_metrics(measured(ANNOTATIONS, SCORES), has_probability=True, replicates=100)


def test_metrics_by_kind_equal_a_plain_loop(metrics: dict[str, Estimate]) -> None:
    values = defaultdict(list)
    for annotation, row in zip(ANNOTATIONS, SCORES, strict=True):
        actions, chosen = annotation.actions, annotation.chosen
        top = max(range(len(row)), key=row.__getitem__)
        total = sum(math.exp(s) for s in row)
        probability = [math.exp(s) / total for s in row]
        hit, nll = float(top == chosen), -math.log(probability[chosen])
        values["top1"].append(hit)
        values["nll"].append(nll)
        tiles = [tile_of(action) for action in actions]
        if len({tile for tile in tiles if tile is not None}) >= 2:
            alike = [
                i for i in range(len(row)) if i == chosen or (tiles[chosen] is not None and tiles[i] == tiles[chosen])
            ]
            values["discard/accuracy"].append(float(top in alike))
            values["discard/exact"].append(hit)
            values["discard/nll"].append(-math.log(sum(probability[i] for i in alike)))
        for kind in set(map(kind_of, actions)) - {"discard", "skip"}:
            taken, predicted = kind_of(actions[chosen]) == kind, kind_of(actions[top]) == kind
            values[f"{kind}/accuracy"].append(float(taken == predicted))
            values[f"{kind}/exact"].append(hit)
            values[f"{kind}/nll"].append(nll)
            values[f"{kind}/taken"].append(float(taken))
            values[f"{kind}/predicted"].append(float(predicted))
            if taken:
                values[f"{kind}/recall"].append(hit)
    assert set(values) == set(metrics) - {"ece"}
    assert {name.split("/")[0] for name in metrics} >= {"discard", "riichi", "chi", "pon", "kan", "ron", "tsumo"}
    for name, expected in values.items():
        assert metrics[name].value == pytest.approx(np.mean(expected), abs=1e-5), name
        assert metrics[name].decisions == len(expected), name


def test_every_action_except_skip_has_a_kind() -> None:
    assert {kind_of(action) for action in range(V.action.size)} - {"skip"} == set(KINDS) - {"kita"}


def test_the_calibration_error_equals_a_plain_loop(metrics: dict[str, Estimate]) -> None:
    bins = defaultdict(list)
    for annotation, row in zip(ANNOTATIONS, SCORES, strict=True):
        confidence = math.exp(max(row)) / sum(math.exp(s) for s in row)
        bins[min(int(confidence * 15), 14)].append((confidence, row[annotation.chosen] == max(row)))
    expected = sum(abs(sum(c for c, _ in b) - sum(h for _, h in b)) for b in bins.values()) / len(ANNOTATIONS)
    assert metrics["ece"].value == pytest.approx(expected, abs=1e-5)


def test_without_probabilities_there_is_no_likelihood(metrics: dict[str, Estimate]) -> None:
    without = decision_metrics(measured(ANNOTATIONS, SCORES), has_probability=False, replicates=100)
    assert set(without) == {name for name in metrics if not name.endswith(("nll", "ece"))}


def test_red_fives_and_tsumogiri_count_as_the_same_discard() -> None:
    discard = V.action["discard"]
    actions = sorted([discard.token(0, 0, 0), discard.token(5, 0, 0), discard.token(5, 1, 0), discard.token(6, 0, 0)])
    base = random_annotations(1, seed=0)[0]
    annotation = altered(base, actions=tuple(actions), chosen=actions.index(discard.token(0, 0, 0)))
    rows = measured([annotation, annotation, annotation], [[0.0, 1.0, 2.0, 0.0]] * 3)
    metrics = decision_metrics(rows, has_probability=True, replicates=1)
    assert metrics["discard/exact"].value == 0
    assert metrics["discard/accuracy"].value == 1
    assert metrics["discard/nll"].value == pytest.approx(-math.log(1 - 1 / (2 + math.e + math.e**2)), abs=1e-5)


def test_by_chance_every_action_is_equally_probable() -> None:
    found = chance_metrics(columns_of_annotations(ANNOTATIONS, V), V, replicates=10)
    sizes = [len(a.actions) for a in ANNOTATIONS]
    assert found["top1"].value == pytest.approx(np.mean([1 / size for size in sizes]))
    assert found["nll"].value == pytest.approx(np.mean([math.log(size) for size in sizes]))


@pytest.mark.parametrize("kind", ["chi", "pon", "ron"])
def test_by_chance_a_kind_is_chosen_as_often_as_its_share_of_the_actions(kind: str) -> None:
    found = chance_metrics(columns_of_annotations(ANNOTATIONS, V), V, replicates=10)
    agreements, recalls = [], []
    for a in ANNOTATIONS:
        share = np.mean([kind_of(action) == kind for action in a.actions])
        if share:
            is_taken = kind_of(a.actions[a.chosen]) == kind
            agreements.append(share if is_taken else 1 - share)
            recalls += [1 / len(a.actions)] if is_taken else []
    assert found[f"{kind}/accuracy"].value == pytest.approx(np.mean(agreements))
    assert found[f"{kind}/accuracy"].decisions == len(agreements)
    assert found[f"{kind}/recall"].value == pytest.approx(np.mean(recalls))
