"""Weights of stage policy work wherever weights of imitation do; here both have the same tensors."""

import json
from pathlib import Path

import pytest

from kanachan.cli import calibrate, evaluate, predict
from kanachan.cli.review import main as review
from kanachan.config import StageName
from kanachan.models.weights import read_weights
from kanachan.objectives.stages import POLICY
from tests.support.bots import START, answers, bot_of
from tests.support.packed import packed, write_lines
from tests.support.random_annotations import random_annotations
from tests.support.reviewed import events_of, write_record
from tests.support.tiny_weights import written

STAGES = ("imitation", POLICY)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> dict[StageName, Path]:
    folder = tmp_path_factory.mktemp("weights")
    return {stage: written(folder / stage, stage, layers=1) for stage in STAGES}


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed(tmp_path_factory.mktemp("data") / "shards", 60, validation=60, test=60)


def test_a_policy_is_evaluated_and_calibrated_and_predicts_like_imitation(
    weights: dict[StageName, Path], shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(weights[stage]) for stage in STAGES]
    path = tmp_path / "evaluation.json"
    assert evaluate.main([*given, str(shards), "--json", str(path), "--bootstrap", "20"]) == 0
    assert "Policy: the action that the policy takes" in capsys.readouterr().out
    one, other = json.loads(path.read_text())["weights"]
    assert one["agreement"] == other["agreement"]

    for stage in STAGES:
        calibrated = str(tmp_path / f"{stage}.safetensors")
        assert calibrate.main([str(weights[stage]), str(shards), "-o", calibrated, "--bootstrap", "20"]) == 0
    temperatures = [read_weights(tmp_path / f"{stage}.safetensors").card["temperature"] for stage in STAGES]
    assert temperatures[0] == temperatures[1] != 1

    lines = write_lines(tmp_path / "lines.txt", random_annotations(10, seed=7))
    for stage in STAGES:
        assert predict.main([str(weights[stage]), lines, "-o", str(tmp_path / f"{stage}.txt")]) == 0
    assert (tmp_path / "imitation.txt").read_text() == (tmp_path / f"{POLICY}.txt").read_text()


def test_a_policy_plays_and_reviews_games(weights: dict[StageName, Path], tmp_path: Path) -> None:
    events = [START, *events_of(5)[1:20]]
    ours, theirs = ([answer.get("pai") for answer in answers(bot_of(weights[s], 0), events)] for s in STAGES)
    assert ours == theirs
    record = write_record(tmp_path / "game.jsonl", events_of(5))
    given = [str(record), str(weights[POLICY]), "--seat", "1", "-o", str(tmp_path / "page.html")]
    assert review([*given, "--json", str(tmp_path / "page.json")]) == 0
    (model,) = json.loads((tmp_path / "page.json").read_text())["models"]
    assert (model["stage"], model["unit"]) == (POLICY, "probability")
