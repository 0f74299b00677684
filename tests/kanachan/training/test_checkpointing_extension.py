"""Runs that are trained further than they were meant to be."""

import shutil
import signal
from pathlib import Path

import pytest

from kanachan.cli import train
from kanachan.config import OptimConfig
from kanachan.models.weights import read_weights
from kanachan.training.checkpointing import newest_checkpoint
from kanachan.training.optimizers import learning_rate_factor
from tests.support.forked import Run, made_by_one, made_by_two
from tests.support.stopped import wait_for_rows
from tests.support.tiny_runs import rows_of, run, same_weights

LONGER = ("--run.steps", "40")
SETTINGS = ("--optim.average", "0.9", "--run.validate_every", "15", "--run.early_stopping", "null")

pytestmark = pytest.mark.usefixtures("threads")


@pytest.fixture(scope="module")
def ended(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of 20 steps that has ended."""
    out = tmp_path_factory.mktemp("runs") / "rank"
    assert run("rank", shards, out, *SETTINGS) == 0
    return out


@pytest.fixture
def copy(ended: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(ended, tmp_path / "run"))


def extended(out: Path, *length: str) -> int:
    return train.main(["--resume", str(out), *length])


def rates(out: Path) -> dict[int, float]:
    return {int(row["step"]): float(row["train/learning_rate"]) for row in rows_of(out) if row["train/loss"]}


def test_a_run_that_has_ended_is_trained_further_at_the_rates_of_the_longer_run(copy: Path) -> None:
    before = rows_of(copy)
    assert extended(copy, *LONGER) == 0
    assert rows_of(copy)[: len(before)] == before
    assert list(rates(copy)) == list(range(1, 41))
    factor = learning_rate_factor(OptimConfig(warmup=5), 40)
    for step, rate in rates(copy).items():
        if step > 20:
            # the row of a step holds the rate of the next one
            assert rate == pytest.approx(1e-3 * factor(step), rel=1e-6), step
    assert read_weights(copy).card["steps"] == 40


def test_a_run_killed_while_it_is_trained_further_is_resumed_as_if_nothing_had_happened(
    copy: Path, ended: Path, tmp_path: Path
) -> None:
    killed = Path(shutil.copytree(ended, tmp_path / "killed"))
    assert extended(copy, *LONGER) == 0
    process = made_by_one(["--resume", str(killed), *LONGER, "--run.checkpoint_every", "4"], tmp_path / "log")
    wait_for_rows(killed, len(rows_of(ended)) + 7)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL, "the run had ended before"
    assert same_weights(killed, ended)  # until the longer run ends
    assert extended(killed) == 0
    assert rows_of(killed) == rows_of(copy)
    assert same_weights(killed, copy)


def test_two_processes_train_a_run_further_as_one_does(copy: Path, ended: Path, tmp_path: Path) -> None:
    two = Path(shutil.copytree(ended, tmp_path / "two"))
    assert extended(copy, "--run.steps", "26") == 0
    longer = ["--resume", str(two), "--run.steps", "26", "--run.strategy", "ddp", "--run.devices", "2"]
    made_by_two([Run(longer)], tmp_path)
    losses = [[float(row["train/loss"]) for row in rows_of(out) if row["train/loss"]] for out in (two, copy)]
    assert len(losses[0]) == 26 and losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_a_run_is_not_shortened_below_what_it_has_done(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert extended(copy, "--run.steps", "19") == 1
    assert "has taken 20 steps already, more than the 19" in capsys.readouterr().err


def test_the_length_is_also_given_in_passes(copy: Path) -> None:
    assert extended(copy, "--run.passes", "1.5") == 0  # of 18 steps
    assert newest_checkpoint(copy / "checkpoints")[1] == read_weights(copy).card["steps"] == 27


def test_a_run_of_its_full_length_is_not_trained_further(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert extended(copy, "--run.steps", "20") == 0
    assert "has ended already" in capsys.readouterr().out


def test_other_settings_stay_as_they_were(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        extended(copy, *LONGER, "--optim.warmup", "2")
    assert "optim.warmup was 5" in capsys.readouterr().err


def test_a_repeated_command_does_not_train_further_unless_the_run_is_named(
    copy: Path, shards: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run("rank", shards, copy, *SETTINGS, *LONGER, "--resume", "auto")
    assert f"give --resume {copy} and the new length alone" in capsys.readouterr().err
