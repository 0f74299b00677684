"""kanachan-arena: processes that hang or are killed."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest

from kanachan.play.agent import GameKey
from kanachan.play.workers import received
from tests.support.matches import SHORT, left_of, mjai
from tests.support.paths import ROOT


@pytest.mark.slow
def test_programs_that_hang_are_ended_with_the_arena() -> None:
    options = ["-n", "8", *SHORT, "--processes", "2", "--together", "2"]
    command = [sys.executable, "-m", "kanachan.cli.arena", mjai("sleeps"), "rule", *options]
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    end = time.monotonic() + 60
    while time.monotonic() < end and num_programs(process.pid) < 2:
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(30) == 128 + signal.SIGINT
    end = time.monotonic() + 20
    while time.monotonic() < end and left_of(process.pid):
        time.sleep(0.2)
    assert left_of(process.pid) == []


def num_programs(session: int) -> int:
    return sum("mjai_seat" in left and "kanachan.cli.arena" not in left for left in left_of(session))


@pytest.mark.parametrize("has_unread", [False, True])
def test_a_killed_process_is_reported_whatever_it_had_not_read_yet(has_unread: bool) -> None:
    ours, theirs = multiprocessing.Pipe()
    if has_unread:
        ours.send(GameKey(0, 0))
    theirs.close()
    with pytest.raises(OSError, match="was killed"):
        received(ours)
