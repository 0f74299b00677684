"""A training run of two processes is killed, stopped, starved of disk and robbed of its checkpoint, again and again: in
the end its weights equal the weights of an undisturbed run, bit for bit."""

import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.support.stopped import wait_for_rows
from tests.support.tiny_runs import arguments, pack_decisions, rows_of, same_weights

FAULTS = ("kill", "kill all", "term", "term all twice", "usr1", "full disk", "cut-off checkpoint", "damaged checkpoint")
STEPS = "60"
_MOST_SECONDS = 90
_SMALL_FILES = 100_000  # bytes: less than a checkpoint takes


def start(shards: Path, out: Path, strategy: str, log: Path, most_bytes: int | None = None) -> subprocess.Popen[bytes]:
    more = ("--run.checkpoint_minutes", "0", "--run.log_every", "1", "--run.validation_interval", "640")
    more += ("--run.strategy", strategy, "--run.devices", "2", "--run.steps", STEPS, "--resume", "auto")

    def starve() -> None:
        if most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, resource.RLIM_INFINITY))

    command = [sys.executable, "-m", "kanachan", "train", *arguments("round_delta", shards, out, *more)]
    with open(log, "wb") as file:
        return subprocess.Popen(command, stdout=file, stderr=file, preexec_fn=starve)


def hurt(fault: str, ranks: list[psutil.Process], rng: random.Random) -> None:
    if fault == "term all twice":
        for rank in ranks * 2:
            rank.send_signal(signal.SIGTERM)
            time.sleep(0.05)
        return
    number = {"term": signal.SIGTERM, "usr1": signal.SIGUSR1}.get(fault, signal.SIGKILL)
    for rank in [rng.choice(ranks)] if fault in ("kill", "term", "usr1") else ranks:
        rank.send_signal(number)


def damage(path: Path, fault: str, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    if fault == "cut-off checkpoint":
        del content[rng.randrange(len(content)) :]
    else:
        place = rng.randrange(len(content) // 4, len(content) // 2)
        content[place : place + 64] = bytes(byte ^ 0x55 for byte in content[place : place + 64])
    path.write_bytes(content)


def wait_for_all(out: Path) -> None:
    """Waits until no process of the run is left: the killed one may be the first, and the others still run."""
    deadline = time.monotonic() + _MOST_SECONDS
    while any(str(out) in " ".join(p.info["cmdline"] or ()) for p in psutil.process_iter(["cmdline"])):
        assert time.monotonic() < deadline, "a process of the run has stayed behind"
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["ddp", "zero3"])
def test_a_run_that_is_disturbed_again_and_again_ends_like_an_undisturbed_one(strategy: str, tmp_path: Path) -> None:
    shards, rng, log, out = pack_decisions(tmp_path), random.Random(0), tmp_path / "log", tmp_path / "hurt"
    assert start(shards, tmp_path / "whole", strategy, log).wait() == 0, log.read_text()
    for fault in FAULTS:
        process = start(shards, out, strategy, log, _SMALL_FILES if fault == "full disk" else None)
        if fault != "full disk":
            wait_for_rows(out, len(rows_of(out)) + rng.randint(2, 5) if (out / "metrics.csv").exists() else 2)
            assert process.poll() is None, log.read_text()
            hurt(fault, [psutil.Process(process.pid), *psutil.Process(process.pid).children()], rng)
        status = process.wait(_MOST_SECONDS)
        wait_for_all(out)
        printed = log.read_text()
        if "term" in fault or fault == "usr1":
            assert status == 0 and "resume with: kanachan-train --resume" in printed, (fault, status, printed)
        elif fault == "full disk":
            assert status == 1 and "could not be written (is the disk full?)" in printed, printed
        elif fault == "kill":
            assert status and ("has lost another process" in printed or "terminated with code" in printed), printed
        if "checkpoint" in fault:
            damage(out / "checkpoints" / "last.ckpt", fault, rng)
    assert start(shards, out, strategy, log).wait() == 0, log.read_text()
    assert same_weights(out, tmp_path / "whole") and rows_of(out) == rows_of(tmp_path / "whole")
