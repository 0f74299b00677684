"""Phases of a long run: commands that are run once, can be stopped, and end with the program that started them."""

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Timer

import pytest

from annotate.runtime.signals import StopRequest
from kanachan.reinforcement.phases import Phase, PhaseStopped, run_phase
from tests.support.processes import wait_until


def models(made: Path, *arguments: str) -> Phase:
    """A quick command of this package, which is done when a file exists."""
    return Phase("models", arguments, made.is_file)


def test_a_phase_that_is_done_is_not_run_again(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.touch()
    run_phase(models(made, "--no-such-option"), tmp_path / "log", StopRequest())
    assert not (tmp_path / "log").exists()


def test_a_phase_that_fails_is_named_as_a_user_would_type_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ChildProcessError, match=r"status 2: kanachan-models --no-such-option$"):
        run_phase(models(tmp_path / "never", "--no-such-option"), tmp_path / "log", StopRequest())
    assert (tmp_path / "log").read_text() == "kanachan-models --no-such-option\n"
    assert "no-such-option" in capfd.readouterr().err


def test_a_request_to_stop_reaches_the_command_which_ends_without_a_traceback(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    stop = StopRequest()
    timer = Timer(0.5, stop, (signal.SIGINT, None))  # while the command imports
    timer.start()
    endless = Phase("selfplay", ["rule", "-n", "100000", "-o", str(tmp_path / "games")], lambda: False)
    with pytest.raises(PhaseStopped, match="stopped by SIGINT"):
        run_phase(endless, tmp_path / "log", stop)
    assert "Traceback" not in capfd.readouterr().err


def test_no_command_begins_after_a_request_to_stop(tmp_path: Path) -> None:
    stop = StopRequest()
    stop(signal.SIGTERM, None)
    with pytest.raises(PhaseStopped, match="stopped by SIGTERM"):
        run_phase(models(tmp_path / "never"), tmp_path / "log", stop)
    assert not (tmp_path / "log").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_a_command_ends_when_the_program_that_started_it_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "games"
    code = f"""
from pathlib import Path
from annotate.runtime.signals import StopRequest
from kanachan.reinforcement.phases import Phase, run_phase
run_phase(Phase("selfplay", ["rule", "-n", "100000", "-j", "1", "-o", {str(folder)!r}], lambda: False),
          Path({str(tmp_path / "log")!r}), StopRequest())
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # before the child runs the command, it has its parent's command line, and may not be bound to the parent yet
    wait_until(lambda: any(b"\0selfplay\0" in command for command in commands_with(str(folder))), 240)
    parent.kill()
    parent.wait()
    wait_until(lambda: commands_with(str(folder)) == [], 240)


def commands_with(text: str) -> list[bytes]:
    """Returns the command lines, among all processes, that contain a text."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # the process has ended
            found.append(path.read_bytes())
    return [command for command in found if text.encode() in command]
