"""Runs of kanachan-train that are waited for, and sent a signal, when they have come so far."""

import os
import signal
import threading
import time
from pathlib import Path

_MOST_SECONDS = 240


def wait_for_rows(out: Path, count: int) -> None:
    """Until the run in the folder has written `count` rows of metrics.csv, or more."""
    metrics, deadline = out / "metrics.csv", time.monotonic() + _MOST_SECONDS
    while not metrics.exists() or len(metrics.read_text().splitlines()) <= count:
        assert time.monotonic() < deadline, f"{out} has not got {count} rows in {_MOST_SECONDS} seconds"
        time.sleep(0.002)


def signal_after_rows(out: Path, count: int, number: signal.Signals) -> None:
    """Sends a signal to this process when the run in it, which must not end before, has written `count` rows."""

    def send() -> None:
        wait_for_rows(out, count)
        os.kill(os.getpid(), number)

    threading.Thread(target=send, daemon=True).start()
