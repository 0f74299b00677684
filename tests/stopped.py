"""kanachan-train that sends itself SIGTERM when metrics.csv has so many rows.

python tests/stopped.py ROWS ARGUMENTS
"""

import os
import signal
import sys
import threading
import time
from pathlib import Path

from kanachan import train


def stop_after(rows: int, metrics: Path) -> None:
    while not metrics.exists() or len(metrics.read_text().splitlines()) <= rows:
        time.sleep(0.002)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    rows, *argv = sys.argv[1:]
    if "LOCAL_RANK" not in os.environ:  # only the first of the processes
        metrics = Path(argv[argv.index("--run.out") + 1]) / "metrics.csv"
        threading.Thread(target=stop_after, args=(int(rows), metrics), daemon=True).start()
    raise SystemExit(train.main(argv))
