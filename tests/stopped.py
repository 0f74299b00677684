"""A run of kanachan-train in this process that is sent SIGTERM at some time."""

import os
import signal
import threading
import time
from pathlib import Path


def stop_in_time(rows: int, argv: list[str]) -> None:
    """Sends this process SIGTERM when the metrics.csv of the run has so many rows."""
    metrics = Path(argv[argv.index("--run.out") + 1]) / "metrics.csv"

    def stop() -> None:
        while not metrics.exists() or len(metrics.read_text().splitlines()) <= rows:
            time.sleep(0.002)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=stop, daemon=True).start()
