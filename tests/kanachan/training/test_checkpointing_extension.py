"""Runs that are trained further than planned."""

import shutil
import signal
from pathlib import Path

import pytest

from kanachan.cli import train
from kanachan.models.weights import read_weights
from kanachan.training import best_weights
from kanachan.training.checkpointing import read_checkpoint
from tests.support.forked import made_by_one
from tests.support.stopped import wait_for_rows
from tests.support.tiny_runs import losses_of, rows_of, run, same_weights

LONGER = ("--run.steps", "20")
SETTINGS = (
    *("--run.steps", "10", "--data.batch", "60", "--data.micro_batch", "30", "--run.validation_interval", "420"),
    *("--optim.average", "0.9", "--run.early_stopping", "null"),
)
"""a validation after 7 steps; after 8 steps the learning rate falls"""

pytestmark = pytest.mark.usefixtures("threads")


@pytest.fixture(scope="module")
def ended(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of 10 steps that has ended."""
    out = tmp_path_factory.mktemp("runs") / "imitation"
    assert run("imitation", shards, out, *SETTINGS) == 0
    return out


@pytest.fixture
def copy(ended: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(ended, tmp_path / "run"))


def extended(out: Path, *length: str) -> int:
    return train.main(["--resume", str(out), *length])


@pytest.fixture(scope="module")
def planned(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that was planned as long from the start."""
    out = tmp_path_factory.mktemp("planned") / "imitation"
    assert run("imitation", shards, out, *SETTINGS, *LONGER) == 0
    return out


def test_a_run_trained_further_equals_one_planned_with_that_length(copy: Path, ended: Path, planned: Path) -> None:
    assert rows_of(ended)[:9] == rows_of(planned)[:9]  # 8 steps and a validation, before it cools down
    assert rows_of(ended)[9:] != rows_of(planned)[9 : len(rows_of(ended))]
    assert extended(copy, *LONGER) == 0
    assert rows_of(copy) == rows_of(planned)
    assert same_weights(copy, planned)


def test_a_run_at_a_constant_rate_can_be_cooled_down_later_as_if_planned(shards: Path, tmp_path: Path) -> None:
    open_ended, planned = tmp_path / "open", tmp_path / "planned"
    longer = ("--run.steps", "14", "--optim.cooldown", "3")
    assert run("imitation", shards, open_ended, *SETTINGS, "--optim.cooldown", "0") == 0
    assert extended(open_ended, *longer) == 0
    assert run("imitation", shards, planned, *SETTINGS, *longer) == 0
    assert losses_of(open_ended) == losses_of(planned)
    assert same_weights(open_ended, planned)


@pytest.mark.slow
def test_a_run_without_validation_trained_further_equals_one_planned_with_that_length(
    shards: Path, tmp_path: Path
) -> None:
    data = Path(shutil.copytree(shards, tmp_path / "data"))
    (data / "validation-00000.arrow").unlink()
    for name, length in (("short", ()), ("planned", LONGER)):
        assert run("imitation", data, tmp_path / name, *SETTINGS, *length) == 0
    assert extended(tmp_path / "short", *LONGER) == 0
    assert rows_of(tmp_path / "short") == rows_of(tmp_path / "planned")
    assert same_weights(tmp_path / "short", tmp_path / "planned")


@pytest.mark.slow
def test_a_run_trained_further_until_it_stops_early_ends_with_its_own_best_weights(
    shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = {5: 3.0, 10: 2.9, 15: 2.8, 20: 2.0}  # the last one is after the rate has fallen
    monkeypatch.setattr(best_weights, "validation_metrics", lambda trainer: {"loss": losses[trainer.global_step]})
    settings = ("--run.validation_interval", "160", "--run.early_stopping", "3")
    assert run("imitation", shards, tmp_path / "short", *settings) == 0
    losses |= {20: 2.9, 25: 3.0, 30: 3.1, 35: 3.2}
    assert extended(tmp_path / "short", "--run.steps", "40") == 0
    card = read_weights(tmp_path / "short").card
    assert (card["steps"], card["metrics"]) == (20, {"loss": 2.9})
    losses |= dict.fromkeys((5, 10, 15), 4.0)
    assert run("imitation", shards, tmp_path / "planned", *settings, "--run.steps", "40") == 0
    assert same_weights(tmp_path / "short", tmp_path / "planned")


@pytest.mark.parametrize("patience", [1, 2])
def test_a_run_that_stopped_early_at_a_step_with_a_checkpoint_can_be_trained_further(
    shards: Path, tmp_path: Path, patience: int
) -> None:
    stops = ("--run.validation_interval", "60", "--run.early_stopping", str(patience), "--run.checkpoint_minutes", "0")
    still = ("--optim.learning_rate", "1e-12", "--optim.cooldown", "0")  # so that no validation is better
    assert run("imitation", shards, tmp_path / "run", *SETTINGS, *stops, *still) == 0
    before = losses_of(tmp_path / "run")
    assert extended(tmp_path / "run", "--run.steps", "40") == 0
    assert len(losses_of(tmp_path / "run")) >= len(before) + patience


def test_a_run_killed_while_it_is_trained_further_is_resumed_as_if_nothing_had_happened(
    copy: Path, ended: Path, planned: Path, tmp_path: Path
) -> None:
    process = made_by_one(["--resume", str(copy), *LONGER, "--run.checkpoint_minutes", "0"], tmp_path / "log")
    wait_for_rows(copy, len(rows_of(ended)) + 3)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL, "the run had ended before"
    assert same_weights(copy, ended)  # the old weights stay until the longer run ends
    assert extended(copy) == 0
    assert rows_of(copy) == rows_of(planned)
    assert same_weights(copy, planned)


def test_the_new_length_can_be_given_in_passes(copy: Path) -> None:
    assert extended(copy, "--run.passes", "1.5") == 0  # a pass is 10 steps
    last = read_checkpoint(copy / "checkpoints" / "last.ckpt")
    assert last["global_step"] == read_weights(copy).card["steps"] == 15


def test_a_run_whose_rate_falls_from_the_first_step_keeps_its_length(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("imitation", shards, tmp_path, "--run.steps", "3", "--optim.cooldown", "3") == 0
    assert extended(tmp_path, *LONGER) == 1
    assert "has fallen from the first step on" in capsys.readouterr().err


def test_a_run_that_already_has_the_length_is_not_trained_further(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert extended(copy, "--run.steps", "10") == 0
    assert "has ended already" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([*LONGER, "--optim.cooldown", "15"], "has taken 8 steps at the full learning rate"),
        (["--run.steps", "9"], "begins after 7: give more --run.steps\n"),
        (["--run.steps", "7"], "has taken 8 steps"),
        ([*LONGER, "--optim.warmup", "2"], "optim.warmup was 5"),
    ],
)
def test_changes_of_steps_already_taken_are_refused(
    changes: list[str], words: str, copy: Path, ended: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        assert extended(copy, *changes) == 1
    except SystemExit as error:
        assert error.code == 2
    assert words in capsys.readouterr().err
    assert rows_of(copy) == rows_of(ended)


def test_a_repeated_command_does_not_train_further_unless_the_run_is_named(copy: Path, shards: Path) -> None:
    with pytest.raises(SystemExit):
        run("imitation", shards, copy, *SETTINGS, *LONGER, "--resume", "auto")
