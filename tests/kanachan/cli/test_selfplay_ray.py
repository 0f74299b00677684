"""kanachan-selfplay on Ray: whether a worker, the driver or everything is killed, the shards equal the shards of an
undisturbed run."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kanachan.cli.selfplay import main
from tests.support.paths import ROOT
from tests.support.played_folders import COMMAND, num_saves
from tests.support.processes import contents, is_alive, wait_until

pytest.importorskip("ray", reason="Ray is not installed: pip install 'kanachan[ray]'")

GAMES = int(os.environ.get("KANACHAN_TEST_GAMES", "60"))
OPTIONS = ["rule", "random", "-n", str(GAMES), "--style", "east", "--fractions", "0.5,0.5,0"]
_SECONDS = 180 + GAMES


class Run:
    """A run on Ray, and the processes that it has started."""

    def __init__(self, folder: Path, log: Path) -> None:
        command = [sys.executable, "-c", COMMAND, *OPTIONS, "-o", str(folder), "--backend", "ray", "-j", "2"]
        with open(log, "w") as stderr:
            self.driver = subprocess.Popen(command, cwd=ROOT, stderr=stderr, start_new_session=True)
        self.known: dict[int, str] = {}

    def processes(self) -> dict[int, str]:
        """Returns the command lines of the driver and of all processes below it, by process number."""
        listed = subprocess.run(["ps", "-wweo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
        lines = [line.split(maxsplit=2) for line in listed.splitlines()]
        found = {self.driver.pid}
        for _ in range(8):
            found |= {int(pid) for pid, parent, *_ in lines if int(parent) in found}
        self.known |= {int(pid): " ".join(what) for pid, _, *what in lines if int(pid) in found}
        return {int(pid): " ".join(what) for pid, _, *what in lines if int(pid) in found}

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Waits, and meanwhile keeps track of the processes."""

        def is_time() -> bool:
            self.processes()
            return condition()

        wait_until(is_time, _SECONDS)

    def have_ended(self) -> bool:
        return not any(map(is_alive, self.known))

    def kill_worker(self) -> None:
        workers = [pid for pid, what in self.processes().items() if "_Actor" in what]
        os.kill(workers[0], signal.SIGKILL)

    def kill_all(self) -> None:
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_killed_processes_do_not_change_the_shards(tmp_path: Path) -> None:
    whole, folder, log = tmp_path / "whole", tmp_path / "shards", tmp_path / "log"
    assert main([*OPTIONS, "-o", str(whole), "-j", "1"]) == 0

    first = Run(folder, log)
    first.wait_until(lambda: num_saves(folder) >= 1)
    first.kill_worker()
    first.wait_until(lambda: "a worker was lost" in log.read_text())
    first.wait_until(lambda: num_saves(folder) >= 2)
    first.driver.kill()
    first.wait_until(first.have_ended)

    second, before = Run(folder, log), num_saves(folder)
    second.wait_until(lambda: num_saves(folder) >= before + 2)
    second.kill_all()
    second.wait_until(second.have_ended)

    last = Run(folder, log)
    last.processes()
    assert last.driver.wait(_SECONDS) == 0, log.read_text()
    assert "resuming" in log.read_text()
    assert contents(folder) == contents(whole)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_everything(number: signal.Signals, tmp_path: Path) -> None:
    run = Run(tmp_path / "shards", tmp_path / "log")
    run.wait_until(lambda: num_saves(tmp_path / "shards") >= 1)
    if number == signal.SIGINT:
        os.killpg(run.driver.pid, number)  # as a terminal does
    else:
        run.driver.send_signal(number)
    assert run.driver.wait(_SECONDS) == 128 + number, (tmp_path / "log").read_text()
    run.wait_until(run.have_ended)
    assert "Traceback" not in (tmp_path / "log").read_text()
