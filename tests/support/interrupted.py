"""Runs of kanachan-annotate in separate processes, to be killed."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

COMMAND = """
import sys
from annotate.pipeline.outputs import TextOutput
from kanachan.cli.annotate import main
TextOutput.seconds_between_saves = 0
if "--pack" in sys.argv:
    from kanachan.data.shard_writer import ShardOutput
    ShardOutput.seconds_between_saves = 0
sys.exit(main())
"""
"""kanachan-annotate, saving after every record"""
_MOST_SECONDS = 240
"""until a run must have ended; a process that it leaves behind would keep its output open for ever"""


def start(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", COMMAND, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def stop_when(
    is_time: Callable[[], bool], *arguments: object, by: signal.Signals = signal.SIGKILL
) -> subprocess.CompletedProcess[str]:
    """Sends a signal as soon as `is_time` is true, if the run has not ended before."""
    process = start(*arguments)
    while process.poll() is None and not is_time():
        time.sleep(0.001)
    process.send_signal(by)
    out, err = process.communicate(timeout=_MOST_SECONDS)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def size_of(paths: Sequence[Path]) -> int:
    """The size of files in bytes; some may not exist."""
    total = 0
    for path in paths:
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            pass
    return total
