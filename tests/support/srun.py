"""Slurm's srun for tests: two tasks on this machine, and the signal that is due before the time is over.

    SLURM_JOB_ID=… SRUN_SIGNAL_AT=ROWS srun [--options] PROGRAM … --run.out RUN …

With SRUN_SIGNAL_AT, SIGUSR1 is sent to all tasks when RUN/metrics.csv has so many rows. The exit status is the highest
status of the tasks.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

JOB = {
    **{"SLURM_JOB_NAME": "kanachan-train", "SLURM_NTASKS": "2", "SLURM_NNODES": "1", "SLURM_NODEID": "0"},
    **{"SLURM_NTASKS_PER_NODE": "2", "SLURM_JOB_NODELIST": "localhost", "MASTER_ADDR": "127.0.0.1"},
    **{"SLURM_STEP_ID": "0"},
}


def num_rows(path: Path) -> int:
    return len(path.read_text().splitlines()) - 1 if path.exists() else 0


def main() -> int:
    command = sys.argv[1:]
    while command[0].startswith("--"):
        command.pop(0)
    tasks = [
        subprocess.Popen(command, env={**os.environ, **JOB, "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank)})
        for rank in range(2)
    ]
    signal_at = int(os.environ.get("SRUN_SIGNAL_AT", "0"))
    if signal_at:
        metrics = Path(command[command.index("--run.out") + 1]) / "metrics.csv"
        while num_rows(metrics) < signal_at and all(task.poll() is None for task in tasks):
            time.sleep(0.002)
        for task in tasks:
            task.send_signal(signal.SIGUSR1)
    return max(task.wait() for task in tasks)


if __name__ == "__main__":
    raise SystemExit(main())
