"""kanachan-evaluate against plain loops over the decisions, and its output."""

import io
import json
import math
import re
import sys
from collections import defaultdict
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from annotate.annotation import Annotation, format_line
from annotate.vocabulary import FOUR_PLAYERS as V
from kanachan.cli.evaluate import main
from kanachan.config import StageName
from kanachan.data.batch import batch_of_annotations
from kanachan.data.columns import columns_of_annotations
from kanachan.evaluation.baselines import predicted_from_scores
from kanachan.inference.policy import Policy
from kanachan.inference.reward_predictor import RewardPredictor
from kanachan.objectives.stages import STAGES
from tests.support.packed import packed
from tests.support.random_annotations import random_annotations, seat_of
from tests.support.tiny_weights import written

NUM_TRAIN, NUM_TEST = 150, 90
TRAIN, TEST = random_annotations(NUM_TRAIN, seed=0), random_annotations(NUM_TEST, seed=2)
DRAWS = ["--bootstrap", "200"]
VALUE_STAGES: tuple[StageName, ...] = ("round_delta", "rank", "grading")


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed(tmp_path_factory.mktemp("data") / "shards", train=NUM_TRAIN, test=NUM_TEST)


@pytest.fixture(scope="module")
def entries(
    weights: dict[StageName, Path], shards: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[StageName, dict[str, Any]]:
    """The entries of the JSON file by stage, from one run that measures all networks."""
    out = tmp_path_factory.mktemp("out") / "all.json"
    assert main([*map(str, weights.values()), str(shards), "--json", str(out), *DRAWS]) == 0
    content = json.loads(out.read_text())
    assert (content["split"], content["games"], content["decisions"]) == ("test", 8, NUM_TEST)
    return {entry["stage"]: entry for entry in content["weights"]}


def target_of(annotation: Annotation, stage: StageName) -> float:
    results = dict(zip(V.results, annotation.results, strict=True))
    if stage == "round_delta":
        return results[f"round_delta_{seat_of(annotation)}"]
    return [90, 45, 0, -135][results["rank"]] if stage == "rank" else results["grading_delta"]


def expected_points(policy: Policy) -> dict[str, list[float]]:
    """Returns the points by predictor, computed one decision at a time."""
    found = defaultdict(list)
    for annotation in TEST:
        batch = batch_of_annotations([annotation], V)
        with torch.inference_mode():
            output = policy.network(batch)
            found["action"].append(float(policy.objective.score(output)[0, annotation.chosen]))
            found["situation"].append(float(policy.objective.situation_value(output)[0]))
    train, test = columns_of_annotations(TRAIN, V), columns_of_annotations(TEST, V)
    outcome = RewardPredictor.load("reference/reward").of_observations(test)
    if policy.stage == "rank":
        points_O = np.array([[90, 45, 0, -135][order[0]] for order in permutations(range(4))])
        found["scores"] = (outcome.order_log_probability.double().exp().numpy() @ points_O).tolist()
    elif policy.stage == "grading":
        found["scores"] = outcome.grading_points.tolist()
    else:
        targets = np.array([target_of(a, policy.stage) for a in TRAIN])
        found["scores"] = predicted_from_scores(train, targets, test, V).tolist()
    return found


@pytest.mark.parametrize("stage", VALUE_STAGES)
def test_value_metrics_equal_a_plain_loop(
    weights: dict[StageName, Path], entries: dict[StageName, dict[str, Any]], stage: StageName
) -> None:
    targets = [target_of(annotation, stage) for annotation in TEST]
    mean = sum(targets) / NUM_TEST
    variance = sum((target - mean) ** 2 for target in targets) / NUM_TEST
    points = expected_points(Policy.load(weights[stage]))
    errors = {
        name: [prediction - target for prediction, target in zip(values, targets, strict=True)]
        for name, values in points.items()
    }
    squares = {name: sum(e * e for e in values) / NUM_TEST for name, values in errors.items()}
    for name, values in errors.items():
        metrics = entries[stage]["values"][name]
        expected = {
            "explained_variance": 1 - squares[name] / variance,
            "mean_absolute_error": sum(map(abs, values)) / NUM_TEST,
            "bias": sum(values) / NUM_TEST,
            **({"skill": 1 - squares[name] / squares["scores"]} if name != "scores" else {}),
        }
        assert set(metrics) == set(expected)
        for metric, value in expected.items():
            assert metrics[metric]["value"] == pytest.approx(value, rel=1e-3, abs=1e-4), (name, metric)
            assert metrics[metric]["decisions"] == NUM_TEST
            assert metrics[metric]["low"] <= metrics[metric]["value"] <= metrics[metric]["high"]


def test_likelihoods_of_rank_and_order_equal_a_plain_loop(
    weights: dict[StageName, Path], entries: dict[StageName, dict[str, Any]]
) -> None:
    policy = Policy.load(weights["rank"])
    found = defaultdict(list)
    for annotation in TEST:
        results = dict(zip(V.results, annotation.results, strict=True))
        seat = seat_of(annotation)
        output = policy.output(batch_of_annotations([annotation], V))
        found["rank", "action"].append(output.candidate_BAK[0, annotation.chosen].log_softmax(0)[results["rank"]])
        log_O = output.summary_BK[0].log_softmax(0)
        ranks_from_actor = tuple(results[f"rank_{(seat + i) % 4}"] for i in range(4))
        orders = list(permutations(range(4)))  # of the seats, counted from the actor, as seats are canonicalised
        found["order", "situation"].append(log_O[orders.index(ranks_from_actor)])
        of_rank = [float(log_O[i].exp()) for i, order in enumerate(orders) if order[0] == results["rank"]]
        found["rank", "situation"].append(math.log(sum(of_rank)))
        if len(annotation.progression) == 1:
            found["order/start", "situation"].append(log_O[orders.index(ranks_from_actor)])
    for (what, predictor), values in found.items():
        estimate = entries["rank"]["log_likelihood"][what][predictor]
        assert estimate["value"] == pytest.approx(sum(map(float, values)) / len(values), abs=1e-4), (what, predictor)
        assert estimate["decisions"] == len(values)
    assert set(entries["rank"]["log_likelihood"]["order"]) == {"situation", "scores"}


def test_networks_and_scores_are_compared_on_the_same_decisions(entries: dict[StageName, dict[str, Any]]) -> None:
    entry = entries["rank"]
    assert {what: set(metrics) for what, metrics in entry["less_scores"].items()} == {
        "rank": {"action", "situation"},
        **{what: {"situation"} for what in ("order", "order/start", "order/last")},
    }
    for what, metrics in entry["less_scores"].items():
        apart = entry["log_likelihood"][what]
        for predictor, less in metrics.items():
            assert less["value"] == pytest.approx(apart[predictor]["value"] - apart["scores"]["value"])
            assert less["decisions"] == apart[predictor]["decisions"]
            assert less["low"] <= less["value"] <= less["high"]
    assert all(not entries[stage]["less_scores"] for stage in STAGES if stage != "rank")


@pytest.mark.parametrize("kind", ["shards", "lines"])
def test_with_a_limit_only_the_first_decisions_are_measured(
    kind: str, weights: dict[StageName, Path], shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shards
    if kind == "lines":
        path = tmp_path / "lines.txt"
        path.write_text("".join(f"{format_line(annotation)}\n" for annotation in TEST))
    assert main([str(weights["imitation"]), str(path), "--limit", "30", *DRAWS]) == 0
    assert "30 decisions (the first)" in capsys.readouterr().out


def test_the_same_call_gives_the_same_output_and_fits_the_screen(
    weights: dict[StageName, Path], shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*(str(path.parent) for path in weights.values()), str(shards), *DRAWS]
    texts = []
    for number in range(2):
        out = tmp_path / f"{number}.json"
        assert main([*arguments, "--json", str(out)]) == 0
        texts.append((capsys.readouterr().out, out.read_text()))
    assert texts[0] == texts[1]
    tables = texts[0][0].split("Imitation:")[1]  # the text before it contains paths
    assert max(map(len, tables.splitlines())) <= 110  # untrained networks are very wrong


def test_without_a_train_split_points_of_the_round_have_no_baseline(
    weights: dict[StageName, Path], tmp_path: Path
) -> None:
    folder = packed(tmp_path / "shards", train=0, test=40)
    out = tmp_path / "out.json"
    assert main([str(weights["rank"]), str(weights["round_delta"]), str(folder), "--json", str(out), *DRAWS]) == 0
    rank, round_delta = json.loads(out.read_text())["weights"]
    assert set(rank["values"]) == {"action", "situation", "scores"}
    assert set(round_delta["values"]) == {"action", "situation"}
    assert "skill" in rank["values"]["action"] and "skill" not in round_delta["values"]["action"]


def test_a_damaged_train_split_does_not_matter_to_networks_with_another_baseline(
    weights: dict[StageName, Path], tmp_path: Path
) -> None:
    folder = packed(tmp_path / "shards", train=20, test=40)
    (train,) = folder.glob("train-*.arrow")
    train.write_bytes(train.read_bytes()[:100])
    assert main([str(weights["rank"]), str(folder), *DRAWS]) == 0
    assert main([str(weights["round_delta"]), str(folder), *DRAWS]) == 1


def test_networks_with_different_points_of_ranks_have_a_baseline_each(
    weights: dict[StageName, Path], shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ranks = written(tmp_path / "ranks", "rank", rank_points=(1.5, 0.5, -0.5, -1.5))
    for others, number in (([ranks], 1), ([ranks, weights["rank"]], 2), ([ranks, ranks], 1)):
        assert main([*map(str, others), str(shards), *DRAWS]) == 0
        table = capsys.readouterr().out.split("points predicted from")[1].split("chance")[0]
        assert table.count("scores and round only") == number
    assert re.search(r"scores and round only .* [01]\.\d\d\d \[", table)


def test_the_metrics_are_written_even_if_the_table_cannot_be_printed(
    weights: dict[StageName, Path], shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError("no space left on device")

    monkeypatch.setattr(sys, "stdout", Gone())
    assert main([str(weights["rank"]), str(shards), "--json", str(tmp_path / "out.json"), *DRAWS]) == 1
    assert json.loads((tmp_path / "out.json").read_text())["decisions"] == NUM_TEST
