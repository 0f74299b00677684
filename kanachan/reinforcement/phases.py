"""Phases of a long run, each a command of this package that writes a file or a folder and can be resumed."""

import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from annotate.runtime.signals import StopRequest, end_with_parent

_SECONDS_BETWEEN_LOOKS = 0.2


class PhaseStopped(Exception):
    """Raised if a phase was stopped by a request before it was complete."""


@dataclass(frozen=True)
class Phase:
    """One command of `kanachan.cli`; it is complete if `is_done` returns true."""

    module: str
    arguments: Sequence[str]
    is_done: Callable[[], bool]

    @property
    def as_typed(self) -> str:
        """The command as a user would type it."""
        return shlex.join([f"kanachan-{self.module}", *self.arguments])


def run_phase(phase: Phase, log: Path, stop: StopRequest) -> None:
    """Runs a phase in a separate process, unless it is done. So all memory is freed between phases, a phase may start
    further processes (one for each GPU), and a user can repeat its command, which is written to the log. Raises
    PhaseStopped if a stop was requested before the phase was complete, and ChildProcessError if the command failed and
    has shown its own message."""
    if phase.is_done():
        return
    if stop.received is not None:
        raise PhaseStopped(f"stopped by {stop.received.name}")
    print(phase.as_typed, flush=True)
    with open(log, "a", encoding="utf-8") as file:
        file.write(f"{phase.as_typed}\n")
    command = [sys.executable, "-m", "kanachan", phase.module, *phase.arguments]
    # a separate session, so that Ctrl-C reaches it only once, from here
    process = subprocess.Popen(command, start_new_session=True, preexec_fn=end_with_parent)
    try:
        status = _awaited(process, stop)
    except BaseException:
        process.kill()
        raise
    if phase.is_done():
        return
    if stop.received is not None:
        raise PhaseStopped(f"stopped by {stop.received.name}")
    raise ChildProcessError(f"this command failed with status {status}: {phase.as_typed}")


def _awaited(process: subprocess.Popen[bytes], stop: StopRequest) -> int:
    """Waits for a process, and forwards a stop request to it; returns its status."""
    is_told = False
    while True:
        try:
            return process.wait(_SECONDS_BETWEEN_LOOKS)
        except subprocess.TimeoutExpired:
            if stop.received is not None and not is_told:
                process.terminate()  # Python ends silently by it while it imports, unlike by Ctrl-C's signal
                is_told = True
