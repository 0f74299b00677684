"""kanachan-evaluate --gain: from games of self-play to a verdict, and what it refuses."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.cli.evaluate import main
from kanachan.cli.selfplay import main as selfplay
from kanachan.data.round_shards import open_rounds
from kanachan.data.shards import open_shards
from kanachan.inference.policy import Policy
from kanachan.inference.reward_predictor import RewardPredictor
from kanachan.models.weights import read_weights, write_weights
from kanachan.reinforcement.behaviour import Behaviour
from kanachan.reinforcement.gain import GainMeter
from kanachan.reinforcement.learner_seats import LearnerSeats
from kanachan.reinforcement.returns import RoundReturns, Utility
from tests.support.packed import packed
from tests.support.tiny_critics import written_critic
from tests.support.tiny_rewards import written_reward
from tests.support.tiny_weights import written

SHORT = ["--style", "east", "--fractions", "0,0,1", "-j", "1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The games of a network: `old`, and their shards; `near` and `far` differ a little and much from it; `reward`."""
    folder = tmp_path_factory.mktemp("gain")
    old = written(folder / "old", seed=1)
    written(folder / "far", seed=2)
    written_reward(folder / "reward" / "weights.safetensors")
    weights = read_weights(old)
    torch.manual_seed(0)
    near = {name: tensor * (1 + 0.01 * torch.randn_like(tensor)) for name, tensor in weights.tensors.items()}
    (folder / "near").mkdir()
    write_weights(folder / "near" / "weights.safetensors", near, weights.card)
    players = [f"{folder / 'old'}@2=0.5", "rule=0.5"]
    assert selfplay([*players, "-n", "6", "-o", str(folder / "games"), "--explore", "0.1", *SHORT]) == 0
    return folder


def estimated(folder: Path, new: str, out: Path, *options: str) -> dict[str, Any]:
    command = ["--gain", str(folder / new), str(folder / "old"), str(folder / "games"), "--json", str(out), "--force"]
    reward = ["--reward", str(folder / "reward"), "--bootstrap", "50"]
    assert main([*command, *reward, *options]) == 0
    content: dict[str, Any] = json.loads(out.read_text())
    return content


def test_a_policy_gains_nothing_over_itself(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = estimated(folder, "old", tmp_path / "gain.json")
    assert content["gain"]["value"] == content["gain"]["low"] == content["gain"]["high"] == 0
    assert content["effective_size"] == content["rounds"] and content["mean_weight"]["value"] == 1
    assert content["disagreement"] < 1e-5
    assert (content["games"], content["player"]) == (6, f"{folder / 'old'}@2")
    assert (content["temperature"], content["explore"], content["left_out"]) == (2.0, 0.1, 0)
    assert "no gain shown (+0.0000 ranks a game [+0.0000, +0.0000])" in capsys.readouterr().out


def test_a_small_change_is_measured_whatever_the_batch(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = estimated(folder, "near", tmp_path / "gain.json", "--points", "90,45,0,-135")
    assert content["gain"]["low"] <= content["gain"]["value"] <= content["gain"]["high"]
    assert 0 < content["divergence"]["value"] < 0.005 and content["gain"]["value"] != 0
    assert content["verdict"]["sentence"] in capsys.readouterr().out
    other = estimated(folder, "near", tmp_path / "gain.json", "--batch", "33", "--points", "90,45,0,-135")
    assert other["gain"]["value"] == pytest.approx(content["gain"]["value"], rel=1e-3)


@pytest.mark.parametrize(
    ("options", "unit"),
    [
        (["--utility", "ranks"], "ranks"),
        (["--points", "3,1,0,-4"], "points"),
        (["--utility", "grading_points"], "grading points"),
    ],
)
def test_the_unit_is_that_of_the_utility(folder: Path, tmp_path: Path, options: list[str], unit: str) -> None:
    assert estimated(folder, "near", tmp_path / "gain.json", *options, "--limit", "300")["unit"] == unit


def test_points_of_rounds_need_no_reward_predictor(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policies = (folder / "near", folder / "old", folder / "games")
    command = [*map(str, policies), "--utility", "round_points", "--bootstrap", "50"]
    assert main(["--gain", *command, "--json", str(tmp_path / "gain.json")]) == 0
    content = json.loads((tmp_path / "gain.json").read_text())
    assert content["reward"] is None and content["unit"] == "points of rounds"
    assert content["gain"]["low"] < content["gain"]["high"]
    capsys.readouterr()
    error = refused(capsys, *command, "--reward", folder / "reward")
    assert "--reward has no effect with --utility round_points; leave it out" in error


def test_a_critic_brings_its_utility_and_its_reward_predictor(folder: Path, tmp_path: Path) -> None:
    critic = written_critic(tmp_path / "critic", str(folder / "reward"), Utility(points=(3.0, 1.0, 0.0, -4.0)))
    out = tmp_path / "gain.json"
    command = ["--gain", str(folder / "near"), str(folder / "old"), str(folder / "games"), "--json", str(out)]
    assert main([*command, "--critic", str(critic), "--utility", "ranks", "--bootstrap", "50"]) == 0
    with_critic = json.loads(out.read_text())
    without = estimated(folder, "near", tmp_path / "other.json", "--points", "3,1,0,-4")
    assert with_critic["reward"] == str(folder / "reward") and with_critic["unit"] == "points"
    assert with_critic["gain"]["value"] != without["gain"]["value"]
    assert with_critic["effective_size"] == pytest.approx(without["effective_size"])


def test_a_limit_takes_whole_games(folder: Path, tmp_path: Path) -> None:
    whole = estimated(folder, "near", tmp_path / "gain.json")
    limited = estimated(folder, "near", tmp_path / "gain.json", "--limit", str(whole["decisions"] // 2))
    assert 0 < limited["games"] < 5 and limited["seats"] <= 4 * limited["games"]
    assert limited["decisions"] <= whole["decisions"] // 2
    assert limited["verdict"]["result"] == "too_few_games"


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """The one line of a command that fails."""
    assert main(["--gain", *map(str, arguments)]) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    return line


def test_a_policy_that_is_too_far_is_refused(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    json_option = ("--json", tmp_path / "gain.json")
    error = refused(
        capsys, folder / "far", folder / "old", folder / "games", "--reward", folder / "reward", *json_option
    )
    content = json.loads((tmp_path / "gain.json").read_text())
    assert content["gain"] is None and content["verdict"]["result"] == "too_far"
    assert content["verdict"]["sentence"] in error
    assert f"{folder / 'far'} against {folder / 'old'}: the new policy diverges from the old one by" in error
    assert f"(played as {folder / 'old'}@2 at temperature 2, exploration 0.1, precision fp32, device cpu, ver" in error


def test_games_of_another_network_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = refused(capsys, folder / "old", folder / "far", folder / "games", "--reward", folder / "reward")
    assert f"{folder / 'far'}: its file has the hash" in error and f"{folder / 'old'}@2" in error


def test_recorded_probabilities_that_the_network_does_not_reproduce_are_refused(folder: Path) -> None:
    shards = open_shards(folder / "games", "test", behaviour=True)
    old, seats = Policy.load(folder / "old"), LearnerSeats(shards, str(folder / "old"))
    returns = RoundReturns(
        open_rounds(folder / "games", "test"),
        RewardPredictor.load(folder / "reward"),
        Utility("grading_points"),
        FOUR_PLAYERS,
    )
    meter = GainMeter(old, old, Behaviour(1.0, seats.behaviour.explore), returns.of)
    with pytest.raises(ValueError, match="does not give the actions the probabilities with which they were played"):
        meter.measure_all(shards, seats.are_of, limit=300)


def test_shards_of_peoples_games_are_refused(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shards = packed(tmp_path / "shards", train=0, test=30)
    assert "holds no games as kanachan-selfplay writes them" in refused(capsys, folder / "near", folder / "old", shards)


def test_games_without_their_rounds_are_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(folder / "games", tmp_path / "games")
    shutil.rmtree(tmp_path / "games" / "rounds")
    error = refused(capsys, folder / "near", folder / "old", tmp_path / "games", "--reward", folder / "reward")
    assert "holds no rounds of the split 'test'" in error


def test_a_network_of_another_vocabulary_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = read_weights(folder / "old")
    card = {**weights.card, "vocabulary": "three-players", "fingerprint": "0" * 16}
    write_weights(tmp_path / "weights.safetensors", weights.tensors, card)
    error = refused(capsys, tmp_path, folder / "old", folder / "games")
    assert "made for the vocabulary three-players" in error


def test_a_reward_predictor_is_no_policy_and_a_policy_no_reward_predictor(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "chooses no actions" in refused(capsys, folder / "reward", folder / "old", folder / "games")
    error = refused(capsys, folder / "old", folder / "old", folder / "games", "--reward", folder / "old")
    assert "a reward predictor is expected here" in error


def test_a_critic_of_another_utility_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    critic = written_critic(tmp_path / "critic", str(folder / "reward"), Utility())
    shards = (folder / "near", folder / "old", folder / "games")
    error = refused(capsys, *shards, "--critic", critic, "--utility", "grading_points")
    assert f"{critic}: a critic of Utility(kind='ranks'" in error


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--gain", "reference", "shards"], "--gain needs two WEIGHTS, NEW and OLD"),
        (["reference", "shards", "--utility", "ranks"], "--utility needs --gain"),
        (["--gain", "reference", "reference", "shards", "--compare"], "--compare does not go with --gain"),
        (["--gain", "reference", "reference", "shards", "--unseen"], "--unseen does not go with --gain"),
        (["--gain", "reference", "reference", "shards", "--points", "1,x"], "numbers such as 90,45,0,-135 expected"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as error:
        main(arguments)
    assert error.value.code == 2 and words in capsys.readouterr().err
