"""A run of several processes that is killed, stopped, starved of disk and robbed of its checkpoint, again and again.

    python -m tests.fuzz.torture --faults 30 --strategy zero2

In the end its weights must be those of an undisturbed run, bit for bit, and no row may have been learnt from twice in
an epoch. Each fault costs about the ten seconds that a process takes to start. `test_torture.py` makes short ones.
"""

import argparse
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil
from safetensors.torch import load_file

from tests.support.tiny_runs import arguments, pack_decisions

FAULTS = ("kill", "kill all", "term", "term all twice", "usr1", "full disk", "cut-off checkpoint", "damaged checkpoint")
STEPS_PER_EPOCH = 600 // 32
_MOST_SECONDS = 90
"""that a run may take to end after a fault"""
_SMALL_FILES = 100_000  # bytes: less than a checkpoint takes


class Torture:
    """One run under faults.

    Args:
        report: called with a line about each fault.
    """

    def __init__(
        self, folder: Path, strategy: str, processes: int, steps: int, seed: int, report: Callable[[str], None]
    ):
        self.folder = folder
        self.shards = pack_decisions(folder)
        self.strategy = strategy
        self.processes = processes
        self.steps = steps
        self.random = random.Random(seed)
        self.report = report

    def run(self, faults: Sequence[str]) -> None:
        """Makes the run under the faults; raises AssertionError if its result is wrong."""
        whole = self._start("whole", limit=None)
        assert whole.wait() == 0, self._log_of("whole")
        for number, fault in enumerate(faults, start=1):
            self._suffer(fault)
            self.report(f"{number} of {len(faults)}: {fault}, at step {self._last_step()}")
        assert self._start("tortured", limit=None).wait() == 0, self._log_of("tortured")
        self.check()

    def _suffer(self, fault: str) -> None:
        """Continues the run for a few steps, then makes the fault; the run must end by itself, and soon."""
        process = self._start("tortured", limit=_SMALL_FILES if fault == "full disk" else None)
        if fault != "full disk":
            self._wait_for_step(process, self._last_step() + self.random.randint(2, 7))
            ranks = [psutil.Process(process.pid), *psutil.Process(process.pid).children()]
            self._hurt(fault, ranks)
        start = time.monotonic()
        try:
            status = process.wait(_MOST_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{fault}: still there after {_MOST_SECONDS} s:\n{self._log_of('tortured')}") from None
        self._wait_for_children()  # the first process may be the one that was killed
        took, log = time.monotonic() - start, self._log_of("tortured")
        if "term" in fault or fault == "usr1":
            assert status == 0, f"{fault}: status {status}\n{log}"
            assert "resume with: kanachan-train --resume" in log, log
        elif fault == "full disk":
            assert status == 1 and "could not be written (is the disk full?)" in log, log
        elif fault == "kill":
            assert status not in (0, None) and ("has lost another process" in log or "terminated with code" in log), (
                f"{status}\n{log}"
            )
        if "checkpoint" in fault:
            self._damage(self.folder / "tortured" / "checkpoints" / "last.ckpt", fault)
        self.report(f"    ended with status {status} after {took:.1f} s")

    def _hurt(self, fault: str, ranks: list[psutil.Process]) -> None:
        one = self.random.choice(ranks)
        if fault == "kill":
            one.kill()
        elif fault == "term":
            one.send_signal(signal.SIGTERM)
        elif fault == "usr1":
            one.send_signal(signal.SIGUSR1)
        elif fault == "term all twice":
            for _ in range(2):
                for rank in ranks:
                    rank.send_signal(signal.SIGTERM)
                time.sleep(0.05)
        else:
            for rank in ranks:
                rank.kill()

    def _damage(self, path: Path, fault: str) -> None:
        content = bytearray(path.read_bytes())
        if fault == "cut-off checkpoint":
            del content[self.random.randrange(len(content)) :]
        else:
            place = self.random.randrange(len(content) // 4, len(content) // 2)
            content[place : place + 64] = bytes(byte ^ 0x55 for byte in content[place : place + 64])
        path.write_bytes(content)

    def _start(self, name: str, limit: int | None) -> subprocess.Popen[str]:
        out = self.folder / name
        command = [sys.executable, "-m", "tests.support.programs.recorded"]
        command += arguments("round_delta", self.shards, out, "--run.steps", str(self.steps), "--resume", "auto")
        command += ["--run.checkpoint_minutes", "0", "--run.validation_interval", "640", "--run.wandb", "disabled"]
        command += ["--run.strategy", self.strategy, "--run.devices", str(self.processes)]
        environment = {**os.environ, "RECORDED_ROWS": str(self.folder / f"{name}-rows"), "OMP_NUM_THREADS": "1"}

        def starve() -> None:
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

        with open(self.folder / f"{name}.log", "w") as log:
            return subprocess.Popen(
                command, env=environment, stdout=log, stderr=subprocess.STDOUT, text=True, preexec_fn=starve
            )

    def _wait_for_step(self, process: subprocess.Popen[str], step: int) -> None:
        while self._last_step() < min(step, self.steps - 1):
            assert process.poll() is None, self._log_of("tortured")
            time.sleep(0.005)

    def _wait_for_children(self) -> None:
        """Until no process of the run is left."""
        deadline = time.monotonic() + _MOST_SECONDS
        while any(str(self.folder / "tortured") in " ".join(_command(p)) for p in psutil.process_iter()):
            assert time.monotonic() < deadline, "a process of the run has stayed behind"
            time.sleep(0.05)

    def _last_step(self) -> int:
        path = self.folder / "tortured" / "metrics.csv"
        lines = path.read_text().splitlines() if path.exists() else []
        return int(lines[-1].split(",")[0]) if len(lines) > 1 else 0

    def _log_of(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def check(self) -> None:
        """The weights and the rows of both runs."""
        whole, tortured = (load_file(self.folder / name / "weights.safetensors") for name in ("whole", "tortured"))
        assert whole.keys() == tortured.keys()
        differing = [name for name, tensor in whole.items() if not tensor.equal(tortured[name])]
        assert not differing, f"weights differ: {differing}"
        rows, rows_of_whole = self._rows("tortured"), self._rows("whole")
        assert rows == rows_of_whole
        epochs: dict[int, Counter[int]] = {}
        for step, of_step in rows.items():
            epochs.setdefault(step // STEPS_PER_EPOCH, Counter()).update(of_step)
        assert len(rows) == self.steps and max(max(epoch.values()) for epoch in epochs.values()) == 1

    def _rows(self, name: str) -> dict[int, list[int]]:
        """The rows that the weights have learnt from, by step: of steps that were made again, the last time."""
        rows: dict[int, list[int]] = {}
        for rank in range(self.processes):
            of_rank: dict[int, list[list[int]]] = {}
            last = -1
            for line in (self.folder / f"{name}-rows" / f"{rank}.txt").read_text().splitlines():
                step, *numbers = map(int, line.split())
                if step < last:
                    of_rank = {s: made for s, made in of_rank.items() if s < step}
                last = step
                of_rank.setdefault(step, []).append(numbers)
            per_step = len(of_rank[0])
            for step, made in of_rank.items():
                # a process that was killed within a step, or at its end, may have started it before
                rows.setdefault(step, []).extend(number for numbers in made[-per_step:] for number in numbers)
        return rows


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=30)
    parser.add_argument("--strategy", default="zero2")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        steps = 10 * chosen.faults + 20
        faults = [*FAULTS, *random.Random(chosen.seed).choices(FAULTS, k=chosen.faults)][: chosen.faults]
        Torture(Path(folder), chosen.strategy, chosen.processes, steps, chosen.seed, print).run(faults)
    print(f"{chosen.faults} faults: the weights are those of an undisturbed run, and no row came twice in an epoch")


if __name__ == "__main__":
    main()
