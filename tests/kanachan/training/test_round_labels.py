"""Soft labels after the round: from the shards of rounds to the weights of a run."""

import errno
import resource
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.cli import train
from kanachan.config import DataConfig, ObjectiveConfig, StageName
from kanachan.data.columns import Columns
from kanachan.data.round_columns import RoundIndex
from kanachan.data.round_shards import open_rounds, write_rounds
from kanachan.data.shard_file import open_shard_file
from kanachan.data.shards import Shards, open_shards
from kanachan.inference.reward_predictor import RewardPredictor
from kanachan.objectives.networks import objective_class
from kanachan.objectives.targets import Results
from kanachan.training.round_labels import RoundLabelling
from kanachan.training.shard_source import ShardSource
from tests.support.packed import packed
from tests.support.random_outputs import random_batch, random_output
from tests.support.random_rounds import random_rounds
from tests.support.tiny_rewards import written_reward
from tests.support.tiny_runs import run


@pytest.fixture(scope="module")
def shards(rule_games: Path) -> Shards:
    return open_shards(rule_games, "train")


@pytest.fixture(scope="module")
def columns(shards: Shards) -> Columns:
    return shards.gather(np.arange(len(shards)))


def settings(reward: Path) -> ObjectiveConfig:
    return ObjectiveConfig(target="round", reward=str(reward))


def labelling(stage: StageName, reward: Path, folder: Path) -> RoundLabelling:
    return RoundLabelling(stage, settings(reward), folder / "labels")


def test_a_decision_is_labelled_with_the_outcome_predicted_at_the_start_of_the_next_round(
    rule_games: Path, shards: Shards, columns: Columns, reward: Path, tmp_path: Path
) -> None:
    label_BL = labelling("rank", reward, tmp_path).prepare(shards)[1].labels_of(columns)
    rounds = open_rounds(rule_games, "train")
    predicted_NSO = RewardPredictor.load(reward).of_rounds(rounds).order_log_probability.exp().numpy()
    round_B = RoundIndex(rounds).rows_of(columns, FOUR_PLAYERS)
    num_last = 0
    for row, (number, seat) in enumerate(zip(round_B, columns.seat, strict=True)):
        if number + 1 < len(rounds) and rounds.game[number + 1] == rounds.game[number]:
            np.testing.assert_array_equal(label_BL[row], predicted_NSO[number + 1, seat])
        else:
            num_last += 1
    assert 0 < num_last < len(columns)


def test_after_the_last_round_the_label_is_the_outcome_itself(
    rule_games: Path, shards: Shards, columns: Columns, reward: Path, tmp_path: Path
) -> None:
    objective = objective_class("rank")(settings(reward), FOUR_PLAYERS)
    label_BL = labelling("rank", reward, tmp_path).prepare(shards)[1].labels_of(columns)
    true_BL = objective.label_of_results(Results.of_columns(columns, FOUR_PLAYERS)).numpy()
    rounds = open_rounds(rule_games, "train")
    is_last_B = rounds.is_last[RoundIndex(rounds).rows_of(columns, FOUR_PLAYERS)]
    np.testing.assert_array_equal((label_BL == true_BL).all(axis=1), is_last_B)


def test_a_decision_of_an_unknown_round_is_labelled_with_the_outcome(tmp_path: Path, reward: Path) -> None:
    folder = packed(tmp_path / "shards", 60)
    made = open_shard_file(folder / "train-00000.arrow")[0]["made"]
    (folder / "rounds").mkdir()
    write_rounds(folder, "train", 0, 1, random_rounds(games=3, seed=0), FOUR_PLAYERS, made)
    shards = open_shards(folder, "train")
    columns = shards.gather(np.arange(len(shards)))
    objective = objective_class("grading")(settings(reward), FOUR_PLAYERS)
    label_BL = labelling("grading", reward, tmp_path).prepare(shards)[1].labels_of(columns)
    expected_BL = objective.label_of_results(Results.of_columns(columns, FOUR_PLAYERS)).numpy()
    np.testing.assert_array_equal(label_BL, expected_BL)


def test_labels_of_grading_points_have_the_predicted_mean(shards: Shards, reward: Path) -> None:
    objective = objective_class("grading")(settings(reward), FOUR_PLAYERS)
    outcome = RewardPredictor.load(reward).of_rounds(open_rounds(shards.folder, "train"))
    label_NSL = objective.label_of_prediction(outcome.order_log_probability, outcome.grading_logit)
    points_NS = label_NSL @ objective.bins.points_K
    torch.testing.assert_close(points_NS, outcome.grading_points, rtol=1e-4, atol=1e-2)


def source(folder: Path, reward: Path, labels: Path) -> ShardSource:
    config = DataConfig(path=str(folder), batch=16, micro_batch=8, validation_batch=16)
    return ShardSource(config, 0, prepare=labelling("rank", reward, labels).prepare)


def test_labels_are_computed_once_into_a_file_and_again_for_another_predictor(
    shards: Shards, columns: Columns, tmp_path: Path
) -> None:
    made = []
    for seed in (0, 0, 1):
        reward = written_reward(tmp_path / "reward.safetensors", seed=seed)
        made.append(labelling("rank", reward, tmp_path).prepare(shards)[1].labels_of(columns))
        files = {path: path.stat().st_mtime_ns for path in (tmp_path / "labels").glob("train-*.npy")}
        assert len(files) == 1 + seed
    np.testing.assert_array_equal(made[0], made[1])
    assert (made[0] != made[2]).any()
    assert {np.load(path).shape[0] for path in files} == {len(open_rounds(shards.folder, "train"))}


def test_a_full_disk_is_an_error_and_the_next_run_removes_what_a_killed_one_left(
    shards: Shards, reward: Path, tmp_path: Path
) -> None:
    left = tmp_path / "labels" / ".train-0.npy.1.part"
    left.parent.mkdir()
    left.touch()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large") as error:
            labelling("rank", reward, tmp_path).prepare(shards)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert str(error.value.filename).endswith(".npy")
    assert [path.name for path in left.parent.iterdir()] == [".lock"]


def test_on_a_file_system_without_locks_the_file_of_another_process_is_left_alone(
    shards: Shards, reward: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOTSUP, "no locks")

    monkeypatch.setattr("fcntl.flock", no_locks)
    being_written = tmp_path / "labels" / ".train-0.npy.1.part"
    being_written.parent.mkdir()
    being_written.touch()
    labelling("rank", reward, tmp_path).prepare(shards)
    assert being_written.exists() and len(list(being_written.parent.glob("train-*.npy"))) == 1


def test_labels_computed_in_parts_equal_labels_computed_at_once(
    shards: Shards, columns: Columns, reward: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = labelling("grading", reward, tmp_path / "1").prepare(shards)[1].labels_of(columns)
    monkeypatch.setattr("kanachan.training.round_labels._ROUNDS_AT_ONCE", 3)
    in_parts = labelling("grading", reward, tmp_path / "2").prepare(shards)[1].labels_of(columns)
    np.testing.assert_allclose(in_parts, at_once, rtol=1e-5, atol=1e-6)


def test_a_run_is_not_resumed_with_another_reward_predictor(
    rule_games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reward = written_reward(tmp_path / "reward.safetensors")
    given = ("--objective.reward", str(reward), "--objective.target", "round")
    assert run("rank", rule_games, tmp_path / "run", *given, "--run.steps", "2") == 0
    written_reward(reward, seed=1)
    assert train.main(["--resume", str(tmp_path / "run"), "--run.steps", "3"]) != 0
    assert "objective.reward: the run was started with the weights" in capsys.readouterr().err


def test_certain_soft_labels_have_the_loss_of_the_outcome() -> None:
    batch = random_batch()
    stages: tuple[StageName, ...] = ("rank", "grading")
    for stage in stages:
        objective = objective_class(stage)(ObjectiveConfig(), FOUR_PLAYERS)
        label_BL = objective.label_of_results(Results.of_batch(batch, FOUR_PLAYERS))
        soft = replace(batch, labels=replace(batch.labels, label_BL=label_BL))
        output = random_output(objective, batch)
        for name, part in objective.loss(output, batch).items():
            torch.testing.assert_close(objective.loss(output, soft)[name], part)
