"""How a run of kanachan-train ends, and that it can be resumed whatever ends it."""

import os
import random
import resource
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from kanachan.cli import pack, train
from kanachan.data.batch import Batch
from kanachan.training.checkpointing import Schedule, checkpoint_to_resume, read_checkpoint
from kanachan.training.command_line import saved_config
from kanachan.training.curriculum_stage import StageModule
from kanachan.training.stopping import StopSignals
from tests.support.forked import made_by_one
from tests.support.processes import contents
from tests.support.stopped import signal_after_rows, wait_for_rows
from tests.support.tiny_runs import arguments, rows_of, run, same_weights

ENDLESS = ("--run.steps", "1000000", "--run.checkpoint_minutes", "0")

pytestmark = pytest.mark.usefixtures("threads")


@pytest.fixture(scope="module")
def stopped(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of imitation that was stopped when it had written five rows."""
    out = tmp_path_factory.mktemp("stopped") / "run"
    signal_after_rows(out, 5, signal.SIGTERM)
    assert run("imitation", shards, out, *ENDLESS) == 0
    return out


@pytest.fixture
def out(stopped: Path, tmp_path: Path) -> Path:
    """A copy of the stopped run."""
    return Path(shutil.copytree(stopped, tmp_path / "run"))


@pytest.fixture
def last(out: Path) -> Path:
    """The last checkpoint of the copy."""
    return out / "checkpoints" / "last.ckpt"


def test_a_killed_run_is_resumed_as_if_nothing_had_happened(shards: Path, tmp_path: Path) -> None:
    length = ("--run.steps", "20", "--run.checkpoint_minutes", "0", "--run.log_every", "2")
    assert run("grading", shards, tmp_path / "whole", *length) == 0
    rows = random.randrange(1, 7)
    process = made_by_one(arguments("grading", shards, tmp_path / "killed", *length), tmp_path / "log")
    wait_for_rows(tmp_path / "killed", rows)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL, "the run had ended before"
    assert run("grading", shards, tmp_path / "killed", *length, "--resume", "auto") == 0
    assert rows_of(tmp_path / "killed") == rows_of(tmp_path / "whole"), f"killed after {rows} rows"
    assert same_weights(tmp_path / "killed", tmp_path / "whole"), f"killed after {rows} rows"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGUSR1, 0), (signal.SIGINT, 130)])
def test_a_stop_signal_leads_to_a_checkpoint_and_a_clean_exit(
    number: signal.Signals, status: int, shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    signal_after_rows(out, 3, number)
    assert run("imitation", shards, out, *ENDLESS) == status
    printed = capsys.readouterr().out
    step = read_checkpoint(out / "checkpoints" / "last.ckpt")["global_step"]
    assert f"stopped by {number.name} after step {step}; resume with: kanachan-train --resume {out}" in printed


def test_after_a_run_signals_have_their_earlier_handlers(shards: Path, tmp_path: Path) -> None:
    before = [signal.getsignal(number) for number in StopSignals.NUMBERS]
    assert run("imitation", shards, tmp_path / "run", "--run.steps", "1") == 0
    assert [signal.getsignal(number) for number in StopSignals.NUMBERS] == before


def test_a_run_may_be_in_another_thread(shards: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(run, "imitation", shards, tmp_path / "run", "--run.steps", "1").result() == 0


def test_a_stop_signal_does_not_wait_for_a_validation(
    shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    validated, validate = [], StageModule.validation_step

    def stopped_in_the_third(stage: StageModule, batch: Batch, batch_idx: int) -> None:
        validated.append(batch_idx)
        if len(validated) == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        validate(stage, batch, batch_idx)

    monkeypatch.setattr(StageModule, "validation_step", stopped_in_the_third)
    given = ("--data.validation_batch", "8", "--run.validate_batches", "null", "--run.validation_interval", "96")
    given += ("--run.steps", "7", "--optim.average", "0.9")
    assert run("imitation", shards, tmp_path / "run", *given) == 0
    assert validated == [0, 1, 2]
    assert read_checkpoint(tmp_path / "run" / "checkpoints" / "last.ckpt")["global_step"] == 3
    monkeypatch.setattr(StageModule, "validation_step", validate)
    assert run("imitation", shards, tmp_path / "run", *given, "--resume", "auto") == 0
    assert run("imitation", shards, tmp_path / "whole", *given) == 0
    assert rows_of(tmp_path / "run") == rows_of(tmp_path / "whole")
    assert same_weights(tmp_path / "run", tmp_path / "whole")


def test_a_finished_run_is_not_started_again_even_without_its_checkpoints(
    imitation: Path, shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = Path(shutil.copytree(imitation, tmp_path / "run"))
    shutil.rmtree(out / "checkpoints")
    assert run("imitation", shards, out, "--resume", "auto") == 0
    assert "has ended already" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        run("rank", shards, out)
    assert same_weights(out, imitation)


def test_two_processes_do_not_train_in_one_folder(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    first = made_by_one(arguments("imitation", shards, out, *ENDLESS), tmp_path / "log")
    try:
        wait_for_rows(out, 2)
        assert run("imitation", shards, out, *ENDLESS, "--resume", "auto") == 1
    finally:
        first.kill()
        first.join()
    assert f"error: {out}: another process is training in this folder" in capsys.readouterr().err


def test_settings_that_a_resumed_run_changes_are_saved(shards: Path, out: Path, tmp_path: Path) -> None:
    moved = Path(shutil.copytree(shards, tmp_path / "moved"))
    signal_after_rows(out, len(rows_of(out)) + 2, signal.SIGTERM)
    assert train.main(["--resume", str(out), "--data.path", str(moved)]) == 0
    config = saved_config(out / "config.yaml")
    assert (config.data.path, config.run.out) == (str(moved), str(out))


def test_a_run_is_not_resumed_with_decisions_in_another_order(
    shards: Path, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "shuffled"
    files = ["--train", str(shards.parent / "train.txt"), "--validation", str(shards.parent / "validation.txt")]
    assert pack.main([*files, "--seed", "7", "-o", str(other)]) == 0
    before = contents(out)
    assert train.main(["--resume", str(out), "--data.path", str(other)]) == 1
    assert "it cannot be resumed in the same order" in capsys.readouterr().err
    assert contents(out) == before


def test_a_truncated_checkpoint_is_named_and_the_previous_one_is_resumed(
    shards: Path, out: Path, last: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    last.write_bytes(last.read_bytes()[:-1000])
    previous_step = read_checkpoint(out / "checkpoints" / "previous.ckpt")["global_step"]
    signal_after_rows(out, len(rows_of(out)) + 3, signal.SIGTERM)
    assert run("imitation", shards, out, *ENDLESS, "--resume", "auto") == 0
    printed = capsys.readouterr()
    assert f"{last}: truncated" in printed.err and f"previous.ckpt, step {previous_step}" in printed.err
    assert f"resumed from step {previous_step}" in printed.out


def test_a_damaged_checkpoint_does_not_displace_the_previous_one(out: Path, last: Path) -> None:
    """If the process were killed meanwhile, there would be nothing else to resume from."""
    last.write_bytes(b"")
    previous_step = read_checkpoint(out / "checkpoints" / "previous.ckpt")["global_step"]
    assert train.main(["--resume", str(out), "--run.steps", str(previous_step + 1)]) == 0
    steps = [read_checkpoint(last.with_name(name))["global_step"] for name in ("previous.ckpt", "last.ckpt")]
    assert steps == [previous_step, previous_step + 1]


def test_a_run_without_a_whole_checkpoint_is_refused_with_the_names_of_the_files(
    shards: Path, out: Path, last: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    last.write_bytes(last.read_bytes()[:1000])
    (out / "checkpoints" / "previous.ckpt").write_bytes(b"")
    assert run("imitation", shards, out, *ENDLESS, "--resume", "auto") == 1
    printed = capsys.readouterr().err
    assert f"error: {last}: truncated" in printed and "previous.ckpt: truncated" in printed
    assert "best weights" not in printed
    for weights in (out / "weights.safetensors", last.parent / "best.safetensors"):
        weights.touch()
        with pytest.raises(ValueError, match=f"{last}: truncated.*begin another run from them with --init {weights}"):
            checkpoint_to_resume(last.parent, Schedule(0, 1))


def test_a_checkpoint_of_another_format_version_is_refused(
    shards: Path, out: Path, last: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.save({**read_checkpoint(last.rename(tmp_path / "moved")), "format_version": 1}, last)
    assert run("imitation", shards, out, *ENDLESS, "--resume", "auto") == 1
    assert f"error: {last}: a checkpoint of format version 1" in capsys.readouterr().err


def test_a_full_disk_is_reported_and_spares_the_last_checkpoint(
    shards: Path, out: Path, last: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = last.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, hard))
    try:
        status = run("imitation", shards, out, *ENDLESS, "--resume", "auto")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert status == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith(f"kanachan-train: error: {last} could not be written")
    assert last.read_bytes() == before
    assert sorted(path.name for path in last.parent.iterdir() if path.suffix == ".part") == []
