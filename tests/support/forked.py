"""Processes of kanachan-train that start at once, forked from a process that has already imported all they need. They
have their own environment and may be killed, like any other process.
"""

import os
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

import torch

import kanachan.training.trainer  # noqa: F401  # imported by the server too
from annotate.runtime.process_pool import start_process
from kanachan.cli import train
from tests.support.stopped import signal_after_rows

_MOST_SECONDS = 300


@dataclass(frozen=True)
class Run:
    argv: list[str]
    """arguments of kanachan-train"""
    stop_after: int | None = None
    """rows of metrics.csv after which the process of rank 0 sends itself SIGTERM"""

    @property
    def out(self) -> Path:
        return Path(self.argv[self.argv.index("--run.out") + 1])


def made_by_one(argv: list[str], log: Path) -> BaseProcess:
    """Starts a process that makes a run and prints to a file."""
    return start_process(_make, [Run(argv)], log, {})


def made_by_two(runs: Sequence[Run], folder: Path) -> str:
    """Makes runs with two processes, one run after the other; returns the output of the first, also in folder/0.log."""
    printed, statuses = ended(started_by([runs] * 2, folder), folder)
    assert statuses == [0, 0], "\n".join(printed)
    return printed[0]


def started_by(runs_of_ranks: Sequence[Sequence[Run]], folder: Path) -> list[BaseProcess]:
    """Starts processes that do runs together, one run after the other, in the environment that torchrun gives."""
    world = len(runs_of_ranks)
    job = {"TORCHELASTIC_RUN_ID": "job", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}
    job |= {"WORLD_SIZE": str(world), "LOCAL_WORLD_SIZE": str(world), "GROUP_RANK": "0"}
    ranks = [{**job, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(world)]
    return [
        start_process(_make, runs, folder / f"{of_rank['RANK']}.log", of_rank)
        for runs, of_rank in zip(runs_of_ranks, ranks, strict=True)
    ]


def ended(ranks: Sequence[BaseProcess], folder: Path) -> tuple[list[str], list[int | None]]:
    """Waits for processes; returns the output of each, and their exit statuses."""
    for process in ranks:
        process.join(_MOST_SECONDS)
    printed = [(folder / f"{rank}.log").read_text() for rank in range(len(ranks))]
    return printed, [process.exitcode for process in ranks]


def _make(runs: Sequence[Run], log: Path, variables: dict[str, str]) -> None:
    os.environ.update(variables)
    with open(log, "wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    torch.use_deterministic_algorithms(True, warn_only=True)  # fills memory that is not initialised with NaN
    for run in runs:
        if run.stop_after is not None and variables["RANK"] == "0":
            signal_after_rows(run.out, run.stop_after, signal.SIGTERM)
        status = train.main(run.argv)
        if status:
            sys.exit(status)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
