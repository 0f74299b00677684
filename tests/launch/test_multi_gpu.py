"""Training in several processes by the scripts of launch/, which are killed, stopped and requeued."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kanachan.training.checkpointing import read_checkpoint
from tests.support.launched import run_module, sbatch, write_program
from tests.support.paths import ROOT
from tests.support.processes import is_alive, wait_until
from tests.support.stopped import wait_for_rows
from tests.support.tiny_runs import arguments, rows_of

STEPS = 60


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder with an environment that has the commands of this checkout, and with Slurm's commands next to it."""
    venv, slurm = tmp_path / "venv" / "bin", tmp_path / "slurm" / "bin"
    write_program(venv / "kanachan-train", run_module("kanachan.cli.train"))
    write_program(venv / "kanachan-annotate", "#!/bin/sh\n")
    write_program(slurm / "srun", f'#!/bin/sh\nexec {sys.executable} {ROOT / "tests" / "support" / "srun.py"} "$@"\n')
    write_program(slurm / "scontrol", f'#!/bin/sh\necho "$@" >>{tmp_path / "scontrol.calls"}\n')
    fingerprint = f"source {ROOT}/launch/setup.sh; fingerprint >{tmp_path / 'venv' / 'installed-from'}"
    subprocess.run(["bash", "-c", fingerprint], check=True)
    return tmp_path


def settings(shards: Path, run: Path) -> list[str]:
    """Returns RUN -- SETTINGS, for the scripts."""
    steps = ("--run.steps", str(STEPS), "--run.validation_interval", str(32 * STEPS), "--run.accelerator", "cpu")
    given = arguments("imitation", shards, run, *steps)
    place = given.index("--run.out")
    return [given[place + 1], "--", *given[:place], *given[place + 2 :]]


def steps_of(run: Path) -> list[int]:
    return [int(row["step"]) for row in rows_of(run) if row["train/loss"]]


def multi_gpu(machine: Path, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "KANACHAN_VENV": str(machine / "venv"), "PYTHONPATH": str(ROOT)}
    command = [str(ROOT / "launch" / "multi_gpu.sh"), *arguments]
    return subprocess.Popen(
        command, cwd=machine, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def descendants(pid: int) -> Iterator[int]:
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, tasks.read_text().split()):
            yield child
            yield from descendants(child)


def second_rank(pid: int) -> int:
    """Returns the process that a descendant of `pid` has started for its rank 1."""
    for child in descendants(pid):
        if b"LOCAL_RANK=1" in Path(f"/proc/{child}/environ").read_bytes().split(b"\0"):
            return child
    raise AssertionError("there is no second rank")


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    while not path.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.002)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux lists processes in /proc")
@pytest.mark.slow
def test_a_run_is_restarted_when_one_of_its_processes_was_killed(machine: Path, shards: Path) -> None:
    run = machine / "run"
    script = multi_gpu(machine, *settings(shards, run), "--run.devices", "2")
    wait_for(run / "checkpoints" / "last.ckpt", script)
    os.kill(second_rank(script.pid), signal.SIGKILL)
    out, err = script.communicate(timeout=120)
    assert script.returncode == 0, out + err
    assert "the run ended with status 1; starting it again from its last checkpoint" in err
    assert out.count("2 x CPU, ddp") == 2 and "resumed from step" in out
    assert steps_of(run) == list(range(1, STEPS + 1))
    assert (run / "weights.safetensors").is_file()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux lists processes in /proc")
def test_the_other_processes_end_with_the_first_one(machine: Path, shards: Path) -> None:
    run = machine / "run"
    endless = ("--run.steps", "1000000", "--run.devices", "2", "--run.accelerator", "cpu")
    command = [machine / "venv" / "bin" / "kanachan-train", *arguments("imitation", shards, run, *endless)]
    first = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL)
    wait_for_rows(run, 1)
    second = second_rank(first.pid)
    os.kill(second, signal.SIGSTOP)  # as if it waited for a GPU
    first.kill()
    first.wait()
    wait_until(lambda: not is_alive(second), seconds=5)


CHECKPOINT = "mkdir -p run/checkpoints; touch run/checkpoints/last.ckpt; "


def make_train(machine: Path, body: str) -> None:
    """Installs a short program instead of kanachan-train; it lists its calls."""
    write_program(machine / "venv" / "bin" / "kanachan-train", f'#!/bin/bash\necho "$@" >>calls\n{body}\n')


def test_a_run_that_always_fails_is_restarted_a_limited_number_of_times(machine: Path) -> None:
    make_train(machine, CHECKPOINT + "exit 3")
    script = multi_gpu(machine, "run", "--restarts", "2", "--", "--stage", "rank")
    assert "run: the run ended with status 3, and was started 3 times" in script.communicate()[1]
    assert script.returncode == 3
    assert (machine / "calls").read_text() == 3 * "--resume auto --stage rank --run.out run\n"


def test_a_run_that_makes_no_progress_is_not_restarted(machine: Path) -> None:
    make_train(machine, "exit 2")
    script = multi_gpu(machine, "run", "--", "--stage", "rank")
    assert "status 2, and made no checkpoint since it was started" in script.communicate()[1]
    assert (script.returncode, len((machine / "calls").read_text().splitlines())) == (2, 1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1], ids=lambda number: number.name)
def test_a_signal_is_passed_on_and_ends_the_run_for_good(machine: Path, number: signal.Signals) -> None:
    name = number.name.removeprefix("SIG")
    make_train(machine, f"trap 'echo got {name}; exit 5' {name}; touch ready; while :; do sleep 0.01; done")
    script = multi_gpu(machine, "run", "--", "--stage", "rank")
    wait_for(machine / "ready", script)
    script.send_signal(number)
    out, err = script.communicate()
    assert (script.returncode, out) == (5, f"got {name}\n")
    assert "the same command resumes from here" in err
    assert len((machine / "calls").read_text().splitlines()) == 1


def train_job(machine: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{machine / 'slurm' / 'bin'}:{os.environ['PATH']}"
    job = {"PATH": path, "SLURM_JOB_ID": "77", "SLURM_CPUS_PER_TASK": "1"}
    return sbatch(machine, "train.sbatch", *arguments, **job, **variables)


def calls_of_scontrol(machine: Path) -> list[str]:
    path = machine / "scontrol.calls"
    return path.read_text().splitlines() if path.exists() else []


STOPPED_THE_FIRST_TIME = """
mkdir -p run
if [[ -f stopped ]]; then touch run/weights.safetensors; exit; fi
trap 'touch stopped; exit' USR1
touch ready-$SLURM_PROCID
until [[ -f ready-0 && -f ready-1 ]]; do sleep 0.01; done
printf 'step\n1\n' >run/metrics.csv
while :; do sleep 0.01; done
"""


def test_a_job_that_is_stopped_is_requeued_until_there_are_weights(machine: Path) -> None:
    make_train(machine, STOPPED_THE_FIRST_TIME)
    stopped = train_job(machine, "run", "--", "--stage", "rank", SRUN_SIGNAL_AT="1")
    assert (stopped.returncode, calls_of_scontrol(machine)) == (0, ["requeue 77"]), stopped.stderr
    assert "job 77 is requeued" in stopped.stderr
    ended = train_job(machine, "run", "--", "--stage", "rank", SLURM_RESTART_COUNT="1")
    assert (ended.returncode, calls_of_scontrol(machine)) == (0, ["requeue 77"]), ended.stderr
    assert "start 2" in ended.stderr and "the run has ended" in ended.stderr
    assert (machine / "calls").read_text() == 4 * "--run.accelerator gpu --resume auto --stage rank --run.out run\n"


def test_a_stopped_run_with_weights_of_an_earlier_run_has_not_ended(machine: Path) -> None:
    make_train(machine, "mkdir -p run; touch -d '1 hour ago' run/weights.safetensors; " + CHECKPOINT)
    stopped = train_job(machine, "run", "--", "--stage", "rank")
    assert (stopped.returncode, calls_of_scontrol(machine)) == (0, ["requeue 77"]), stopped.stderr
    script = multi_gpu(machine, "run", "--", "--stage", "rank")
    assert "stopped before its end; the same command resumes from here" in script.communicate()[1]


@pytest.mark.slow
def test_a_run_of_a_stopped_job_is_resumed_in_the_next_job(machine: Path, shards: Path) -> None:
    run = machine / "run"
    stopped = train_job(machine, *settings(shards, run), SRUN_SIGNAL_AT="10")
    assert stopped.returncode == 0, stopped.stdout + stopped.stderr
    assert "2 x CPU, ddp" in stopped.stdout and "stopped by SIGUSR1 after step" in stopped.stdout
    assert 10 <= read_checkpoint(run / "checkpoints" / "last.ckpt")["global_step"] < STEPS
    assert not (run / "weights.safetensors").exists()

    ended = train_job(machine, *settings(shards, run), SLURM_RESTART_COUNT="1")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert steps_of(run) == list(range(1, STEPS + 1))


def test_a_job_whose_run_fails_is_not_requeued(machine: Path) -> None:
    make_train(machine, "exit 3")
    done = train_job(machine, "run", "--", "--stage", "rank")
    assert done.returncode == 1
    assert "the run has failed with status 3; submitted again, it resumes from its last checkpoint" in done.stderr
    assert calls_of_scontrol(machine) == []
