"""launch/reference.py, and the reference models that it made: kanachan/reference."""

import json
import runpy
import sys
from pathlib import Path

import pytest

from annotate.observation import Observation
from kanachan.cli import evaluate
from kanachan.inference.policy import Policy
from kanachan.models.weights import read_weights
from tests.support.paths import ROOT
from tests.support.random_annotations import random_annotations
from tests.support.tiny_runs import run

MODELS = sorted((ROOT / "kanachan" / "reference").glob("*.safetensors"))


def made(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    monkeypatch.setattr(sys, "argv", ["reference", *map(str, arguments)])
    return int(runpy.run_path(str(ROOT / "launch" / "reference.py"))["main"]())


@pytest.fixture(scope="module")
def evaluated(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The weights of a tiny run, and its evaluation."""
    folder = tmp_path_factory.mktemp("evaluated")
    assert run("imitation", shards, folder / "imitation", "--run.steps", "5") == 0
    options = ["--split", "validation", "--json", str(folder / "e.json"), "--bootstrap", "10"]
    assert evaluate.main([str(folder / "imitation"), str(shards), *options]) == 0
    return folder / "imitation" / "weights.safetensors", folder / "e.json"


def observations() -> list[Observation]:
    return [annotation.observation for annotation in random_annotations(20, seed=5)]


def test_half_precision_keeps_the_choices(
    evaluated: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights, evaluation = evaluated
    assert made(monkeypatch, weights, "--evaluation", evaluation, "-o", tmp_path / "r.safetensors") == 0
    assert (tmp_path / "r.safetensors").stat().st_size < 0.7 * weights.stat().st_size
    ours, theirs = (Policy.load(path).act(observations()) for path in (tmp_path / "r.safetensors", weights))
    assert [action.token for action in ours] == [action.token for action in theirs]


def test_the_card_has_the_metrics_and_no_folders_of_the_machine(
    evaluated: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights, evaluation = evaluated
    assert made(monkeypatch, weights, "--evaluation", evaluation, "-o", tmp_path / "r.safetensors") == 0
    card = read_weights(tmp_path / "r.safetensors").card
    found = json.loads(evaluation.read_text())["weights"][0]["agreement"]
    assert card["evaluation"]["agreement"] == found
    assert str(tmp_path.parent) not in json.dumps(card)


def test_an_evaluation_of_another_stage_is_refused(
    evaluated: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "e.json").write_text('{"weights": [{"stage": "rank"}]}')
    assert made(monkeypatch, evaluated[0], "--evaluation", tmp_path / "e.json", "-o", tmp_path / "r") == 1
    assert "not the evaluation of one network after imitation" in capsys.readouterr().err


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_a_reference_model_acts_and_says_how_good_it_is(path: Path) -> None:
    actions = Policy.load(path).act(observations())
    assert all(action.token in o.actions for action, o in zip(actions, observations(), strict=True))
    card = read_weights(path).card
    assert card["evaluation"]["decisions"] > 10_000 and "/" not in card["config"]["data"]["path"]


def test_there_is_a_reference_model() -> None:
    assert [path.stem for path in MODELS] == ["imitation"]
