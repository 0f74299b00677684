"""Iterations of stage policy: what they run, what the gate decides, and that they resume."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from kanachan.cli import train
from kanachan.config import MODEL_SIZES, DataConfig, OptimConfig, RunConfig, TrainConfig
from kanachan.models.weights import read_weights, write_weights
from kanachan.policy_config import PolicyConfig, SelfPlayConfig
from kanachan.reinforcement.policy_iteration import POLICY_NAME, Iteration, run_iterations
from kanachan.training.metric_names import AXIS
from tests.support.packed import packed
from tests.support.tiny_weights import written


def reported(value: float) -> dict[str, object]:
    gain = {"value": value, "low": value - 0.1, "high": value + 0.1, "decisions": 100}
    half = {"gain": gain, "games": 100}
    halves = {"choosing": half, "reporting": half}
    return {"gain": gain, "divergence": {**gain, "value": 0.001}, "unit": "ranks", **halves}


def config(folder: Path, **selfplay: object) -> TrainConfig:
    played = SelfPlayConfig(games=6, **selfplay)  # type: ignore[arg-type]
    run = RunConfig(out=str(folder / "run"), wandb="disabled", group="group")
    return TrainConfig(
        stage="policy",
        data=DataConfig(),
        model=replace(MODEL_SIZES["tiny"], layers=1),
        selfplay=played,
        run=run,
        init="first.safetensors",
    )


def commands(iteration: Iteration) -> list[str]:
    iteration.folder.mkdir(parents=True)
    return [phase.as_typed for _, phase in iteration.fits()]


def test_fewer_iterations_than_a_run_has_are_refused(tmp_path: Path) -> None:
    given = config(tmp_path, iterations=1)
    for number in range(2):
        iteration = Iteration(given, number, "old")
        iteration.folder.mkdir(parents=True)
        iteration.result.touch()
    with pytest.raises(ValueError, match="selfplay.iterations=1: .*run has 2 iterations already"):
        run_iterations(given)


@pytest.mark.parametrize(
    ("run", "more", "message"),
    [
        ({"strategy": "zero2", "deepspeed": "missing.json"}, {}, "deepspeed missing.json: No such file"),
        ({"strategy": "ddp", "devices": 3}, {"data": DataConfig(batch=64)}, "64 cannot be shared equally by 3 devices"),
        ({"compile": True}, {}, "needs a C.. compiler"),
        ({}, {"optim": OptimConfig(frozen=("summary_head",))}, "optim.frozen: this network has no summary_head"),
    ],
)
def test_settings_that_only_the_updates_use_are_checked_before_the_games(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: dict[str, Any], more: dict[str, Any], message: str
) -> None:
    monkeypatch.setenv("CXX", "missing-compiler")
    given = replace(config(tmp_path), init=str(written(tmp_path / "weights", layers=1)), **more)
    given = replace(given, run=replace(given.run, accelerator="cpu", **run))
    with pytest.raises(ValueError, match=message):
        run_iterations(given)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("games", "message"),
    [
        ({"opponents": ("ruel=0.5",)}, "selfplay.opponents: ruel: no player of this name"),
        ({"opponents": ("reference/3p=0.5",)}, "reference/3p is for 3 players"),
        ({"opponents": ("reference/reward=0.5",)}, "reference/reward: a reward predictor"),
        ({"opponents": ("rule=0.5", "WEIGHTS@1=0.2")}, "has the weights of the policy, which plays at .* 0.7"),
        ({"device": "cuda:99"}, "selfplay.device cuda:99: torch sees"),
    ],
)
def test_games_that_cannot_be_played_or_learned_from_are_refused_before_anything_is_written(
    tmp_path: Path, games: dict[str, Any], message: str
) -> None:
    weights = str(written(tmp_path / "weights", layers=1))
    if "opponents" in games:
        games["opponents"] = tuple(player.replace("WEIGHTS", weights) for player in games["opponents"])
    with pytest.raises(ValueError, match=message):
        run_iterations(replace(config(tmp_path, **games), init=weights))
    assert not (tmp_path / "run").exists()


def test_complete_iterations_are_resumed_without_the_weights_that_they_began_with(tmp_path: Path) -> None:
    given = replace(config(tmp_path), init=str(tmp_path / "gone"))
    result = Iteration(given, 0, "gone").result
    written(tmp_path / "weights", "policy", layers=1).rename(result.parent.mkdir(parents=True) or result)
    assert run_iterations(given) == 0
    assert (tmp_path / "run/weights.safetensors").is_file()


def test_a_run_is_resumed_only_by_the_name_of_its_folder_that_its_games_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    given = replace(config(Path()), init="gone")
    result = Iteration(given, 0, "gone").result
    written(tmp_path / "weights", "policy", layers=1).rename(result.parent.mkdir(parents=True) or result)
    assert run_iterations(given) == 0
    assert train.main(["--resume", "./run/"]) == 0
    with pytest.raises(SystemExit):
        train.main(["--resume", str(tmp_path / "run"), "--selfplay.iterations", "2"])
    assert "give it as it was given before, --resume run, in the folder" in capsys.readouterr().err


def test_games_are_not_complete_until_all_of_their_files_are_in_place(tmp_path: Path) -> None:
    iteration = Iteration(config(tmp_path), 0, "old")
    iteration.folder.mkdir(parents=True)
    packed(iteration.games, train=8, validation=4, test=4)
    _, games = next(iteration.fits())
    assert games.is_done()
    (iteration.games / "README.md").unlink()  # as after a kill while the files were moved there
    assert not games.is_done()


def test_a_split_without_games_ends_the_run_with_advice(tmp_path: Path) -> None:
    given = replace(config(tmp_path), init=str(written(tmp_path / "weights", layers=1)))
    iteration = Iteration(given, 0, "old")
    iteration.folder.mkdir(parents=True)
    packed(iteration.games, train=8, test=4)
    with pytest.raises(ValueError, match="none of the 6 games is in the validation split: start another run with more"):
        run_iterations(given)


def test_an_iteration_consists_of_commands_that_a_user_could_type(tmp_path: Path) -> None:
    found = commands(Iteration(config(tmp_path, opponents=("rule=0.25",)), 2, "old"))
    folder = tmp_path / "run/iteration-002"
    train = f"--data.path {folder}/games --run.seed 2 -o {folder}/reward --resume auto --run.devices 1"
    shared = "--run.wandb disabled --run.group group --run.accelerator auto"
    assert found == [
        f"kanachan-selfplay old@0.7=0.75 rule=0.25 -n 6 --explore 0 --rules tenhou --style south --seed 2 "
        f"--fractions 0.7,0.1,0.2 -o {folder}/games --device cpu",
        f"kanachan-train --stage reward {train} {shared}",
        f"kanachan-train --config {folder}/update.yaml --resume auto",
    ]


def test_several_processes_are_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"TORCHELASTIC_RUN_ID": "x", "LOCAL_WORLD_SIZE": "2", "WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    given = config(tmp_path)
    given = replace(given, run=replace(given.run, accelerator="cpu"))
    with pytest.raises(ValueError, match="2 processes were started"):
        run_iterations(given)
    monkeypatch.setenv("RANK", "1")
    assert run_iterations(given) == 1  # the others end without a message
    assert not (tmp_path / "run").exists()


def test_no_reward_predictor_is_fitted_if_one_is_given(tmp_path: Path) -> None:
    given = replace(config(tmp_path), policy=PolicyConfig(reward="reference/reward"))
    found = commands(Iteration(given, 0, "old"))
    assert [command.split()[:3] for command in found] == [
        ["kanachan-selfplay", "old@0.7", "-n"],
        ["kanachan-train", "--config", str(tmp_path / "run/iteration-000/update.yaml")],
    ]


def test_candidates_have_the_heads_of_the_update_and_the_gate_gets_the_exact_points(tmp_path: Path) -> None:
    old = written(tmp_path / "old", layers=1, round_winner=1.0)  # with a head that no policy has
    given = replace(config(tmp_path), policy=PolicyConfig(reward="reward", points=(4 / 3, 1 / 3, -2 / 3, -1.0)))
    iteration = Iteration(given, 0, str(old))
    update = read_weights(written(iteration.update, "policy", seed=1, layers=1))
    for share in (1.0, 2.0, 0.5):
        gain, _ = iteration.measuring(share)
        assert read_weights(iteration.candidate(share)).tensors.keys() == update.tensors.keys()
        (points,) = [text for text in gain.arguments if text.startswith("--points=")]
        assert tuple(map(float, points.removeprefix("--points=").split(","))) == given.policy.points


RUN = Path("run")


def folder_with_weights(folder: Path) -> Path:
    """Makes a folder with the weights of a tiny policy. Paths are relative to it, as they determine the games."""
    made = read_weights(written(folder / "weights", layers=1))
    write_weights(made.path, made.tensors, {**made.card, "commit": None, "versions": {}})  # the same at every commit
    return folder


def started(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    games = ["--selfplay.games", "48", "--selfplay.style", "east", "--selfplay.opponents", "[rule=0.7]"]
    games += ["--selfplay.iterations", "2", "--selfplay.processes", "2", "--policy.reward", "reference/reward"]
    run = ["-o", str(RUN), "--run.wandb", "disabled", "--run.threads", "1", "--data.batch", "64"]
    run += ["--data.micro_batch", "64", "--policy.keep", "1"]
    command = ["--stage", "policy", "--init", "weights/weights.safetensors", *games, *run, "--resume", "auto", *more]
    program = [sys.executable, "-m", "kanachan", "train"]
    return subprocess.Popen([*program, *command], cwd=folder, env=os.environ, start_new_session=True)


@pytest.mark.slow
def test_iterations_killed_in_every_phase_end_with_the_same_weights(tmp_path: Path) -> None:
    # folders of the same name, as it is in the cards of the weights
    whole, killed = (folder_with_weights(tmp_path / name / "folder") for name in ("whole", "killed"))
    assert started(whole).wait() == 0
    for mark in ("games", "update/checkpoints", "gate"):
        process = started(killed)
        while not (killed / RUN / "iteration-000" / mark).exists():
            assert process.poll() is None, mark
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    process = started(killed)
    while not (killed / RUN / "iteration-001").exists():
        assert process.poll() is None
        time.sleep(0.02)
    shutil.rmtree(killed / RUN / "iteration-000" / "update")  # a user needs space
    assert process.wait() == 0
    expected, found = (read_weights(folder / RUN).tensors for folder in (whole, killed))
    assert all(torch.equal(tensor, found[name]) for name, tensor in expected.items())
    rows = [(folder / RUN / "metrics.csv").read_text().splitlines() for folder in (whole, killed)]
    assert [len(each) for each in rows] == [3, 3], "a heading and a row for each iteration"
    samples = [[row[AXIS] for row in csv.DictReader(each)] for each in rows]
    assert samples[0] == samples[1] and float(samples[0][0]) < float(samples[0][1])


@pytest.mark.slow
def test_a_share_that_the_gate_has_chosen_plays_in_the_next_iteration(tmp_path: Path) -> None:
    first = folder_with_weights(tmp_path) / RUN / "iteration-000"
    process = started(tmp_path)
    while not first.exists():
        assert process.poll() is None
        time.sleep(0.02)
    (first / "gate").mkdir()  # while the games are played, so that the iteration finds its gains already estimated
    for share, gain in ((1.0, -0.1), (0.5, 0.1)):
        (first / f"gate/share-{share:g}.json").write_text(json.dumps(reported(gain)))
    assert process.wait() == 0
    paths = (tmp_path / "weights", first / "update", first / POLICY_NAME)
    old, update, taken = (read_weights(path).tensors for path in paths)
    for name, tensor in taken.items():
        torch.testing.assert_close(tensor, ((old[name] + update[name]) / 2).to(tensor.dtype))
    assert read_weights(first / POLICY_NAME).card["iterations"][0]["share"] == 0.5
    assert f"{RUN}/iteration-000/{POLICY_NAME}@0.7" in (tmp_path / RUN / "iteration-001/commands.txt").read_text()
