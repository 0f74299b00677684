"""kanachan-arena: processes that hang, are killed, or are terminated while they exit."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator
from multiprocessing.util import Finalize
from pathlib import Path

import pytest

from annotate.runtime.process_pool import _work, start_process
from annotate.runtime.signals import StopRequest
from tests.support.matches import SHORT, arena, journal, left_of, mjai
from tests.support.paths import ROOT
from tests.support.processes import wait_until


@pytest.mark.slow
def test_programs_that_hang_are_ended_with_the_arena() -> None:
    options = ["-n", "8", *SHORT, "--processes", "2", "--together", "2"]
    command = [sys.executable, "-m", "kanachan", "arena", mjai("sleeps"), "rule", *options]
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    wait_until(lambda: num_programs(process.pid) == 2)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(30) == 128 + signal.SIGINT
    wait_until(lambda: left_of(process.pid) == [], 20)


def num_programs(session: int) -> int:
    return sum("mjai_seat" in left and "kanachan arena" not in left for left in left_of(session))


@pytest.mark.slow
def test_the_games_of_a_killed_process_are_played_again(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    undisturbed, disturbed = tmp_path / "undisturbed", tmp_path / "disturbed"
    assert arena(undisturbed, "--processes", "2", games=200) == 0
    capfd.readouterr()

    def kill_one() -> None:
        games = disturbed / "result.json.games"
        while not games.is_file() or games.read_bytes().count(b"\n") < 2:  # the header, and a first game
            time.sleep(0.01)
        os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)

    killing = threading.Thread(target=kill_one)
    killing.start()
    assert arena(disturbed, "--processes", "2", games=200) == 0
    killing.join()
    assert "a worker was lost (killed by SIGKILL); its work will be done again: " in capfd.readouterr().err
    assert journal(disturbed) == journal(undisturbed)


def ends_slowly(units: Iterator[str], stop: StopRequest) -> Generator[tuple[str, None]]:
    """Makes a file named by each unit when its process exits, and then delays the exit."""
    for unit in units:
        Finalize(None, Path(unit).touch, exitpriority=2)
        Finalize(None, time.sleep, (2.0,), exitpriority=1)
        yield unit, None


def test_a_process_that_is_ended_while_it_exits_prints_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ours, theirs = multiprocessing.Pipe()
    process = start_process(_work, theirs, ends_slowly)
    for unit in (str(tmp_path / "exits"), None):
        ours.send(unit)
    wait_until((tmp_path / "exits").exists)
    process.terminate()
    process.join(60)
    assert (process.exitcode, capfd.readouterr().err) == (0, "")
