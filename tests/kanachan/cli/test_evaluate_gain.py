"""kanachan-evaluate --gain: from games of self-play to a verdict, and the input that it refuses."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from kanachan.cli.evaluate import main
from kanachan.data.round_shards import open_rounds
from kanachan.data.shard_folder import SELF_PLAY
from kanachan.data.shards import open_shards
from kanachan.inference.policy import Policy
from kanachan.inference.reward_predictor import RewardPredictor
from kanachan.models.weights import read_weights, write_weights
from kanachan.reinforcement.behaviour import Behaviour
from kanachan.reinforcement.gain import GainMeter
from kanachan.reinforcement.learner_seats import LearnerSeats
from kanachan.reinforcement.returns import RoundReturns, Utility
from tests.kanachan.conftest import EXPLORE, TEMPERATURE, PlayedGames
from tests.support.tiny_weights import written


@pytest.fixture(scope="module")
def folder(played: PlayedGames, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds a network `old`, shards of its `games`, networks that differ a bit (`near`) and much (`far`), `reward`."""
    folder = tmp_path_factory.mktemp("gain")
    old = shutil.copytree(played.weights.parent, folder / "old")
    shutil.copytree(played.shards, folder / "games")
    written(folder / "far", seed=2, layers=1)
    (folder / "reward").mkdir()
    shutil.copy(played.reward, folder / "reward" / "weights.safetensors")
    weights = read_weights(old)
    torch.manual_seed(0)
    near = {
        name: tensor * (1 + 0.001 * torch.randn_like(tensor)) if tensor.is_floating_point() else tensor
        for name, tensor in weights.tensors.items()
    }
    (folder / "near").mkdir()
    write_weights(folder / "near" / "weights.safetensors", near, weights.card)
    return folder


def compared(folder: Path, new: str) -> list[str]:
    """Returns the arguments for a new network against the old one, in the games."""
    return ["--gain", str(folder / new), str(folder / "old"), str(folder / "games"), "--split", "validation"]


def estimated(folder: Path, new: str, out: Path, *options: str) -> dict[str, Any]:
    options = ("--reward", str(folder / "reward"), "--bootstrap", "50", *options)
    assert main([*compared(folder, new), "--json", str(out), "--force", *options]) == 0
    content: dict[str, Any] = json.loads(out.read_text())
    return content


@pytest.fixture(scope="module")
def near(folder: Path) -> dict[str, Any]:
    """The estimated gain of the policy that differs a little."""
    return estimated(folder, "near", folder / "near.json", "--points", "3,1,0,-4")


def test_a_policy_gains_nothing_over_itself(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = estimated(folder, "old", tmp_path / "gain.json")
    assert content["gain"]["value"] == content["gain"]["low"] == content["gain"]["high"] == 0
    assert content["effective_size"] == content["rounds"] and content["mean_weight"]["value"] == 1
    assert content["disagreement"] < 1e-5
    assert (content["games"], content["player"]) == (2, f"weights/weights.safetensors@{TEMPERATURE}")
    assert (content["temperature"], content["explore"], content["left_out"]) == (TEMPERATURE, EXPLORE, 0)
    assert "too few games for a verdict: 2 in this split" in capsys.readouterr().out


def test_the_gain_of_a_small_change_is_measured_and_reproducible(
    folder: Path, near: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = near
    assert content["gain"]["low"] <= content["gain"]["value"] <= content["gain"]["high"]
    assert 0 < content["divergence"]["value"] < 0.005 and content["gain"]["value"] != 0
    halves = [content[half] for half in ("choosing", "reporting")]
    assert [half["games"] for half in halves] == [1, 1] and halves[0]["gain"] != halves[1]["gain"]
    other = estimated(folder, "near", tmp_path / "gain.json", "--points", "3,1,0,-4")
    assert other["verdict"]["sentence"] in capsys.readouterr().out
    assert other["gain"]["value"] == pytest.approx(content["gain"]["value"], rel=1e-3)


@pytest.mark.parametrize("entries", [lambda made: {"data": made}, lambda made: {"lineage": [made]}])
def test_games_that_the_policy_or_an_earlier_one_has_learned_from_are_refused(
    entries: Callable[[dict[str, Any]], dict[str, Any]],
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    weights, shards = read_weights(folder / "near"), open_shards(folder / "games", "validation")
    played = [{**shards.made[SELF_PLAY][0], "fractions": [0.5, 0.0, 0.5]}]
    write_weights(tmp_path / "weights.safetensors", weights.tensors, weights.card | entries({SELF_PLAY: played}))
    assert main(compared(folder, str(tmp_path))) == 1
    assert f"{tmp_path} has learned from games of its validation split" in capsys.readouterr().err


def test_recorded_probabilities_that_the_network_does_not_reproduce_are_refused(folder: Path) -> None:
    shards = open_shards(folder / "games", "validation", behaviour=True)
    old, seats = Policy.load(folder / "old"), LearnerSeats(shards, str(folder / "old"))
    returns = RoundReturns(
        open_rounds(folder / "games", "validation"),
        RewardPredictor.load(folder / "reward"),
        Utility("grading_points"),
    )
    meter = GainMeter(old, old, Behaviour(1.0, seats.behaviour.explore), returns.of)
    with pytest.raises(ValueError, match="does not give the actions the probabilities with which they were played"):
        meter.measure_all(shards, seats.are_of)


def test_a_policy_that_differs_too_much_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--reward", str(folder / "reward"), "--json", str(tmp_path / "gain.json")]
    assert main([*compared(folder, "far"), *options]) == 1
    content = json.loads((tmp_path / "gain.json").read_text())
    assert content["gain"] is None and content["verdict"]["result"] == "too_far"
    assert "the new policy diverges from the old one by" in capsys.readouterr().err
