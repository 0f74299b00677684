"""Stage reward, end to end on rounds made up at random."""

from pathlib import Path

import pytest

from kanachan.cli import train
from kanachan.models.weights import read_weights
from tests.support.round_folders import round_folder, train_reward
from tests.support.tiny_runs import rows_of, same_weights


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return round_folder(tmp_path_factory.mktemp("data") / "shards", train=60, validation=12)


def test_a_run_learns_and_writes_weights_with_a_card(shards: Path, tmp_path: Path) -> None:
    assert train_reward(shards, tmp_path / "run") == 0
    losses = [float(row["train/loss"]) for row in rows_of(tmp_path / "run") if row["train/loss"]]
    assert sum(losses[-5:]) < sum(losses[:5])
    card = read_weights(tmp_path / "run").card
    assert (card["stage"], card["lineage"]) == ("reward", [])
    assert card["metrics"].keys() >= {"loss", "cross_entropy", "grading_points", "explained_variance"}


def test_a_run_needs_no_validation_split(tmp_path: Path) -> None:
    shards = round_folder(tmp_path / "shards", train=20)
    assert train_reward(shards, tmp_path / "run") == 0
    assert read_weights(tmp_path / "run").card["config"]["run"]["early_stopping"] is None


def test_early_stopping_that_is_asked_for_needs_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shards = round_folder(tmp_path / "shards", train=20)
    assert train_reward(shards, tmp_path / "run", "--run.early_stopping", "3") == 1
    error = capsys.readouterr().err
    assert f"run.early_stopping=3 needs a validation split, and {shards} has none: kanachan-pack --frac" in error


def test_the_progress_is_in_games(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kanachan.training.progress._SECONDS_BETWEEN_LINES", 0)
    assert train_reward(shards, tmp_path / "run") == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("step 10 of 20")]
    assert len(lines) == 1 and "games/s " in lines[0] and "decisions" not in lines[0]


def test_a_run_by_regression_learns(shards: Path, tmp_path: Path) -> None:
    assert train_reward(shards, tmp_path / "run", "--objective.loss", "mse") == 0
    assert read_weights(tmp_path / "run").tensors["head.bias"].shape == (24 + 1,)


def test_a_resumed_run_ends_with_the_same_weights(shards: Path, tmp_path: Path) -> None:
    settings = ("--optim.average", "0.9", "--run.early_stopping", "50", "--reward.dropout", "0.1")
    assert train_reward(shards, tmp_path / "whole", *settings) == 0
    assert train_reward(shards, tmp_path / "half", *settings) == 0
    (tmp_path / "half" / "weights.safetensors").unlink()
    checkpoints = tmp_path / "half" / "checkpoints"
    (checkpoints / "previous.ckpt").replace(checkpoints / "last.ckpt")  # of step 15
    assert train.main(["--resume", str(tmp_path / "half")]) == 0
    assert same_weights(tmp_path / "whole", tmp_path / "half")
    assert rows_of(tmp_path / "whole") == rows_of(tmp_path / "half")


def test_shards_without_rounds_are_refused_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train.main(["--stage", "reward", "--data.path", str(tmp_path), "--run.wandb", "disabled"]) != 0
    assert f"--data.path {tmp_path}: no rounds to train on; kanachan-annotate --pack" in capsys.readouterr().err


def test_too_few_games_for_a_batch_are_refused(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train_reward(shards, tmp_path / "run", "--data.batch", "64") != 0
    assert "60 games to train on, fewer than one batch of data.batch=64: lower it" in capsys.readouterr().err


def test_weights_of_a_reward_predictor_are_no_encoder(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train_reward(shards, tmp_path / "run") == 0
    with pytest.raises(SystemExit):
        train.main(["--stage", "rank", "--data.path", str(shards), "--init", str(tmp_path / "run")])
    assert "a reward predictor, which has no encoder; name weights of another stage" in capsys.readouterr().err
