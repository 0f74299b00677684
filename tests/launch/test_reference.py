"""launch/reference.py, and the reference models that it made: kanachan/reference."""

import json
import runpy
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from annotate.annotation import Observation
from annotate.vocabulary import THREE_PLAYERS
from kanachan.cli import evaluate, models
from kanachan.data.round_shards import open_rounds
from kanachan.inference.choice import choose
from kanachan.inference.policy import Policy
from kanachan.inference.reward_predictor import RewardPredictor
from kanachan.models.reference import shipped_weights
from kanachan.models.weights import lineage_of, read_weights
from kanachan.objectives.stages import REWARD
from tests.support.paths import ROOT
from tests.support.random_annotations import random_annotations
from tests.support.round_folders import round_folder, train_reward
from tests.support.three_players import decisions_of_three, packed_three
from tests.support.tiny_runs import run


def made(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    monkeypatch.setattr(sys, "argv", ["reference", *map(str, arguments)])
    return int(runpy.run_path(str(ROOT / "launch" / "reference.py"))["main"]())


@pytest.fixture(scope="module")
def evaluated(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The weights of a tiny run, and an evaluation of it together with a second stage that uses its encoder."""
    folder = tmp_path_factory.mktemp("evaluated")
    assert run("imitation", shards, folder / "imitation", "--run.steps", "5") == 0
    assert run("rank", shards, folder / "rank", "--run.steps", "5", "--init", str(folder / "imitation")) == 0
    options = ["--split", "validation", "--json", str(folder / "e.json"), "--bootstrap", "10"]
    runs = [str(folder / stage) for stage in ("imitation", "rank")]
    assert evaluate.main([*runs, str(shards), *options]) == 0
    return folder / "imitation" / "weights.safetensors", folder / "e.json"


def observations() -> list[Observation]:
    return [annotation.observation for annotation in random_annotations(20, seed=5)]


def test_half_precision_keeps_the_choices(
    evaluated: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights, evaluation = evaluated
    assert made(monkeypatch, weights, "--evaluation", evaluation, "-o", tmp_path / "r.safetensors") == 0
    assert (tmp_path / "r.safetensors").stat().st_size < 0.7 * weights.stat().st_size
    ours, theirs = (Policy.load(path).evaluate(observations()) for path in (tmp_path / "r.safetensors", weights))
    assert [p.score.argmax() for p in ours] == [p.score.argmax() for p in theirs]


def test_the_card_of_a_later_stage_has_the_training_of_the_whole_lineage(
    evaluated: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imitation, evaluation = evaluated
    rank, out = imitation.parents[1] / "rank", tmp_path / "r.safetensors"
    assert made(monkeypatch, rank, "--evaluation", evaluation, "--ancestors", imitation, "-o", out) == 0
    card = read_weights(out).card
    assert [run["stage"] for run in card["training"]] == ["imitation", "rank"]
    assert card["training"][0]["passes"] == round(5 * 32 / 600, 3)
    assert card["lineage"][0]["sha256"] == lineage_of(read_weights(imitation))[-1]["sha256"]
    stages = [command for command in card["commands"] if command.startswith("kanachan-train")]
    assert "--stage imitation" in stages[0] and "--init imitation" in stages[1] and "--run.steps 5" in stages[1]
    assert card["evaluation"]["verdict"]["measure"] == "nats" and card["licence"] == "MIT"


def test_a_reference_model_that_was_trained_further_keeps_its_earlier_training_in_the_card(
    shards: Path, evaluated: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights, evaluation = evaluated
    paths = [tmp_path / f"{number}.safetensors" for number in range(3)]
    assert made(monkeypatch, weights, "--evaluation", evaluation, "-o", paths[0]) == 0
    for number, (before, after) in enumerate(pairwise(paths)):  # the second time with the same settings
        more = tmp_path / str(number) / "more"
        assert run("imitation", shards, more, "--run.steps", "3", "--init", str(before)) == 0
        assert made(monkeypatch, more, "--evaluation", evaluation, "--ancestors", before, "-o", after) == 0
    card = read_weights(paths[2]).card
    assert [step["steps"] for step in card["training"]] == [5, 3, 3]
    assert sum(command.startswith("kanachan-train") for command in card["commands"]) == 3


@pytest.mark.parametrize("name", [name for name, path in shipped_weights().items() if path.stem != REWARD])
def test_a_reference_model_acts_and_says_how_good_it_is(name: str) -> None:
    policy = Policy.load(name)
    is_of_three = policy.vocabulary is THREE_PLAYERS
    seen = [each.observation for each in decisions_of_three(20)] if is_of_three else observations()
    predictions = policy.evaluate(seen)
    assert all(choose(o.actions, p).token in o.actions for o, p in zip(seen, predictions, strict=True))
    card = read_weights(name).card
    assert card["evaluation"]["decisions"] > 5_000 and "/" not in card["config"]["data"]["path"]


def test_a_reward_predictor_becomes_a_reference_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rounds, weights, out = tmp_path / "rounds", tmp_path / "reward", tmp_path / "r.safetensors"
    round_folder(rounds, train=24, validation=6, test=12)
    assert train_reward(rounds, weights) == 0
    options = ["--json", str(tmp_path / "e.json"), "--bootstrap", "10"]
    assert evaluate.main([str(weights), str(rounds), *options]) == 0
    assert made(monkeypatch, weights, "--evaluation", tmp_path / "e.json", "-o", out) == 0
    (command,) = read_weights(out).card["commands"]
    assert command.startswith("kanachan-train --stage reward") and "--reward.width 8" in command
    capsys.readouterr()
    assert models.main([str(out)]) == 0
    printed = capsys.readouterr().out
    assert "log-likelihood of the order, last rounds" in printed and "160 games" in printed
    ours, theirs = (RewardPredictor.load(path).of_rounds(open_rounds(rounds, "test")) for path in (out, weights))
    assert (ours.order_log_probability - theirs.order_log_probability).abs().max() < 0.01


@pytest.mark.slow
def test_a_network_of_three_players_becomes_a_reference_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shards, rank, out = packed_three(tmp_path / "shards"), tmp_path / "rank", tmp_path / "3p" / "imitation.safetensors"
    weights = tmp_path / "imitation"
    short = ("--run.steps", "1", "--run.validate_batches", "1", "--model.size", "small")
    assert run("imitation", shards, weights, *short, "--init", "reference") == 0
    assert run("rank", shards, rank, *short, "--init", str(weights)) == 0
    options = ["--split", "validation", "--json", str(tmp_path / "e.json"), "--bootstrap", "10"]
    assert evaluate.main([str(weights), str(rank), str(shards), *options]) == 0
    games = ("--evaluation", tmp_path / "e.json", "--ancestors", "reference")
    assert made(monkeypatch, weights, *games, "-o", out) == 0
    card = read_weights(out).card
    assert card["evaluation"]["questions"]["pon/majority/accuracy"]["value"] >= 0.5
    assert card["lineage"][-1]["name"] == "reference" and card["lineage"][-1]["vocabulary"] == "kanachan-4p"
    assert "--init reference" in card["commands"][-1] and str(tmp_path) not in json.dumps(card)
    assert made(monkeypatch, rank, "--evaluation", tmp_path / "e.json", "-o", tmp_path / "3p" / "rank.safetensors") == 0
    command = read_weights(tmp_path / "3p" / "rank.safetensors").card["commands"][-1]
    assert "rank_points" not in command and "objective.prior" not in command  # the defaults of three players
    capsys.readouterr()
    assert models.main([str(out)]) == 0
    printed = capsys.readouterr().out
    assert "vocabulary kanachan-3p" in printed
