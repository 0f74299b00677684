"""Waiting until runs of kanachan-train have written some rows, and sending them a signal then."""

import os
import signal
import threading
import time
from pathlib import Path

_MOST_SECONDS = 240


def wait_for_rows(out: Path, count: int) -> None:
    """Waits until the run in the folder has written `count` rows of metrics.csv, or more."""
    metrics, deadline = out / "metrics.csv", time.monotonic() + _MOST_SECONDS
    while not metrics.exists() or len(metrics.read_text().splitlines()) <= count:
        assert time.monotonic() < deadline, f"{out} has not got {count} rows in {_MOST_SECONDS} seconds"
        time.sleep(0.002)


def signal_after_rows(out: Path, count: int, number: signal.Signals) -> None:
    """Sends a signal to this process when its run, which must not end earlier, has written `count` rows."""

    def send() -> None:
        wait_for_rows(out, count)
        os.kill(os.getpid(), number)

    threading.Thread(target=send, daemon=True).start()
