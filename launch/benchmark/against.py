"""Comparison of this checkout with another one, such as an earlier commit: launch/benchmark.sh against CHECKOUT.

Both run the same public commands on the same games in turns: the table has the medians and their ratio, and whether
the outputs are the same.
"""

import argparse
import csv
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from annotate.records.reading import find_records
from annotate.runtime.terminal import require_positive, run_cleanly

HERE = Path(__file__).resolve().parents[2]


class Measured(NamedTuple):
    speed: float
    written: str
    """a hash of what the command wrote"""


@dataclass(frozen=True)
class Checkout:
    """A checkout whose commands run in separate processes, with one thread."""

    root: Path
    work: Path

    def __post_init__(self) -> None:
        if not (self.root / "pyproject.toml").is_file():
            raise ValueError(f"{self.root}: not a checkout of the program, as it has no pyproject.toml")

    def run(self, command: str, *arguments: str | Path) -> float:
        """Runs a command by its entry point in the checkout; returns the seconds.

        Raises:
            ValueError: it failed; the message contains the last line that it printed.
        """
        scripts: dict[str, str] = tomllib.loads((self.root / "pyproject.toml").read_text())["project"]["scripts"]
        module, _, function = scripts[command].partition(":")
        program = f"import sys; from {module} import {function} as main; sys.argv[0] = {command!r}; sys.exit(main())"
        environment = {**os.environ, "PYTHONPATH": str(self.root), "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", program, *map(str, arguments)],
            cwd=self.work,
            env=environment,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise ValueError(f"{command} of {self.root} failed: {last}")
        return time.perf_counter() - start


def annotate(checkout: Checkout, files: list[str]) -> Measured:
    """Measures decisions per second of kanachan-annotate."""
    output = checkout.work / "annotations.txt"
    output.unlink(missing_ok=True)
    seconds = checkout.run("kanachan-annotate", *files, "-o", output, "-j", "1")
    return Measured(output.read_bytes().count(b"\n") / seconds, _hash(output.read_bytes()))


def pack(checkout: Checkout) -> Measured:
    """Measures decisions per second of kanachan-pack."""
    lines = (checkout.work / "annotations.txt").read_bytes()
    arguments = ["annotations.txt", "-o", "shards", "--fractions", "0.8,0.1,0.1", "--force"]
    seconds = checkout.run("kanachan-pack", *arguments)
    unpacked = checkout.work / "unpacked.txt"
    unpacked.unlink(missing_ok=True)
    checkout.run("kanachan-pack", "--unpack", "shards", "-o", unpacked)
    return Measured(lines.count(b"\n") / seconds, _hash(unpacked.read_bytes()))


def train(checkout: Checkout, size: str, steps: int, number: int) -> Measured:
    """Measures decisions per second as logged by the run, without the start of the program."""
    out = checkout.work / f"{size}-{number}"
    settings = f"""--stage imitation --data.path shards --model.size {size} --run.steps {steps} --run.log_every 5
        --run.threads 1 --run.accelerator cpu --run.wandb disabled
        --run.validate_batches 2 --run.measure_peak false --run.precision fp32""".split()
    checkout.run("kanachan-train", *settings, "--run.out", out)
    with open(out / "metrics.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    speeds = [float(value) for row in rows if (value := _named(row, "samples_per_second"))]
    losses = [value for row in rows if (value := _named(row, "train/loss"))]
    if not speeds or not losses:
        raise ValueError(f"{out / 'metrics.csv'}: no speed or no loss in it; its columns are {', '.join(rows[0])}")
    return Measured(statistics.median(speeds[1:] or speeds), _hash(" ".join(losses).encode()))


def arena(checkout: Checkout, weights: Path, games: int) -> Measured:
    """Measures games per second of kanachan-arena."""
    output = checkout.work / "arena.json"
    output.unlink(missing_ok=True)
    (checkout.work / "arena.json.games").unlink(missing_ok=True)
    arguments = [weights, "rule", "-n", str(games), "--seed", "1", "--processes", "1"]
    arguments += ["--precision", "fp32", "--json", output]  # the default was fp32 once
    seconds = checkout.run("kanachan-arena", *arguments)
    return Measured(games / seconds, _hash(json.dumps(json.loads(output.read_text()), sort_keys=True).encode()))


def _named(row: dict[str, str], name: str) -> str:
    return next((value for key, value in row.items() if key.endswith(name)), "")


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def compare(other: Path, files: list[str], repeats: int, games: int, work: Path) -> None:
    """Prints a line for each command: both speeds, their ratio and its range, and whether the results are equal."""
    checkouts = [Checkout(root, work / name) for name, root in (("this", HERE), ("other", other))]
    for checkout in checkouts:
        checkout.work.mkdir()
    weights = checkouts[0].work / "small-0"
    parts: list[tuple[str, Callable[[Checkout, int], Measured]]] = [
        ("annotate, decisions/s", lambda checkout, number: annotate(checkout, files)),
        ("pack, decisions/s", lambda checkout, number: pack(checkout)),
        ("train tiny (mostly data), decisions/s", lambda checkout, number: train(checkout, "tiny", 150, number)),
        ("train small, decisions/s", lambda checkout, number: train(checkout, "small", 20, number)),
        ("arena, games/s", lambda checkout, number: arena(checkout, weights, games)),
    ]
    print(f"{'':<40}{'this':>12}{'other':>12}{'ratio':>8}{'of runs':>16}  results")
    for name, measure in parts:
        found = [[measure(checkout, number) for checkout in checkouts] for number in range(repeats)]
        ours, theirs = (statistics.median(pair[side].speed for pair in found) for side in (0, 1))
        ratios = sorted(pair[0].speed / pair[1].speed for pair in found)
        same = len({measured.written for pair in found for measured in pair}) == 1
        spread = f"{ratios[0]:.2f} … {ratios[-1]:.2f}"
        print(
            f"{name:<40}{ours:>12,.2f}{theirs:>12,.2f}{ours / theirs:>8.2f}{spread:>16}  "
            f"{f'the same ({found[0][0].written})' if same else 'DIFFERENT'}",
            flush=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="launch/benchmark.sh against",
        description="Compares speed and results of this checkout with those of another one, in turns.",
    )
    parser.add_argument("checkout", type=Path, help="the other checkout, as `git worktree add` makes it")
    parser.add_argument("--records", required=True, help="folder of game records, or one file")
    parser.add_argument("--games", type=int, default=60, help="records to annotate (default: %(default)s)")
    parser.add_argument("--matches", type=int, default=16, help="games of the arena, by fours (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each, in turns (default: %(default)s)")
    arguments = parser.parse_args()
    require_positive(parser, arguments, "games", "matches", "repeats")

    def body() -> None:
        files = list(islice(find_records([str(Path(arguments.records).resolve())]), arguments.games))
        with TemporaryDirectory() as folder:
            compare(arguments.checkout.resolve(), files, arguments.repeats, arguments.matches, Path(folder))

    return run_cleanly(parser.prog, body)


if __name__ == "__main__":
    raise SystemExit(main())
