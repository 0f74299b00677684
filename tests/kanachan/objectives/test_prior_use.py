"""Weights with a prior work wherever weights do: in play with cached events, export, prediction and evaluation."""

import json
from pathlib import Path

import numpy as np
import pytest

from annotate.annotation import format_line
from kanachan.cli import evaluate, export, predict
from kanachan.inference.policy import Policy
from kanachan.play.policy_agent import CachedPolicy
from tests.support.graph_outputs import graph_outputs
from tests.support.packed import packed, write_lines
from tests.support.random_annotations import random_annotations
from tests.support.tiny_rewards import written_reward
from tests.support.tiny_weights import written

ANNOTATIONS = random_annotations(40, seed=6, games=3)
LINES = [format_line(annotation) for annotation in ANNOTATIONS]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    folder = tmp_path_factory.mktemp("weights")
    reward = written_reward(folder / "reward.safetensors")
    path = written(folder / "rank", "rank", prior=str(reward), layers=1)
    reward.unlink()
    return Policy.load(path)


@pytest.mark.parametrize("use_bf16", [False, True], ids=["fp32", "bf16"])
def test_cached_networks_in_play_have_the_prior(policy: Policy, use_bf16: bool) -> None:
    observations = [annotation.observation for annotation in ANNOTATIONS]
    cached = CachedPolicy(policy, use_bf16=use_bf16).evaluate(observations, list(range(len(observations))))
    for ours, theirs in zip(cached, policy.evaluate(observations), strict=True):
        np.testing.assert_allclose(ours.score, theirs.score, atol=6 if use_bf16 else 1e-2)


def test_the_graph_of_the_onnx_file_contains_the_prior(policy: Policy) -> None:
    scores_BA = graph_outputs(policy, LINES)["scores"]
    for score_A, prediction in zip(scores_BA, policy.predictions(LINES), strict=True):
        np.testing.assert_allclose(score_A[: len(prediction.score)], prediction.score, rtol=1e-4, atol=1e-3)


def test_weights_with_a_prior_predict_and_are_evaluated_and_exported(tmp_path: Path) -> None:
    reward = written_reward(tmp_path / "reward.safetensors")
    weights = written(tmp_path / "rank", "rank", prior=str(reward), layers=1)
    reward.unlink()
    shards, lines = (
        packed(tmp_path / "shards", 200, validation=60, test=60),
        write_lines(tmp_path / "a.txt", ANNOTATIONS),
    )
    assert predict.main([str(weights), lines, "-o", str(tmp_path / "predicted.txt")]) == 0
    assert evaluate.main([str(weights), str(shards), "--json", str(tmp_path / "e.json"), "--bootstrap", "20"]) == 0
    (entry,) = json.loads((tmp_path / "e.json").read_text())["weights"]
    assert entry["stage"] == "rank"
    assert export.main([str(weights), "-o", str(tmp_path / "hf")]) == 0
