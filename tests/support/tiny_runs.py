"""Tiny training runs on made-up decisions, in this process or in a separate one."""

import csv
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file

from kanachan.cli import pack, train
from kanachan.config import StageName
from tests.support.packed import write_lines
from tests.support.paths import CONFIGS, GOLDEN
from tests.support.random_annotations import random_annotations

CLOCKED = frozenset(
    f"train/{name}"
    for name in (
        *("samples_per_second", "tokens_per_second", "flops_per_second"),
        *("share_of_peak", "data_wait", "memory_peak_gb"),
    )
)
"""columns of metrics.csv that differ from run to run"""
LOSSES = GOLDEN / "losses"


def pack_decisions(folder: Path) -> Path:
    """Makes a folder of shards: 600 decisions to train on, 80 to validate on."""
    for split, count, seed in (("train", 600, 1), ("validation", 80, 2)):
        write_lines(folder / f"{split}.txt", random_annotations(count, seed))
    shards = folder / "shards"
    files = [str(folder / "train.txt"), "--validation", str(folder / "validation.txt")]
    assert pack.main(["--train", *files, "-o", str(shards)]) == 0
    return shards


def arguments(stage: StageName, shards: Path, out: Path, *more: str) -> list[str]:
    """For 20 steps of the tiny model with dropout, and without a measured peak, unless `more` overrides it."""
    return [
        *("--stage", stage, "--config", str(CONFIGS / "debug.yaml"), "--data.path", str(shards)),
        *("--run.out", str(out), "--run.threads", "1"),
        *("--data.micro_batch", "16", "--model.dropout", "0.1", *more),
    ]


def run(stage: StageName, shards: Path, out: Path, *more: str) -> int:
    """Runs kanachan-train in this process; returns its exit status."""
    return train.main(arguments(stage, shards, out, *more))


def same_weights(one: Path, other: Path) -> bool:
    """Returns whether two run folders hold the same weights, bit for bit."""
    mine, theirs = load_file(one / "weights.safetensors"), load_file(other / "weights.safetensors")
    return mine.keys() == theirs.keys() and all(torch.equal(mine[name], theirs[name]) for name in mine)


def assert_resumable(whole: Path, half: Path) -> None:
    """Asserts that a copy of a run, resumed from its checkpoint before the last, has the same weights and rows."""
    shutil.copytree(whole, half)
    (half / "weights.safetensors").unlink()
    (half / "checkpoints" / "previous.ckpt").replace(half / "checkpoints" / "last.ckpt")
    assert train.main(["--resume", str(half)]) == 0
    assert same_weights(whole, half)
    assert rows_of(whole) == rows_of(half)


def rows_of(out: Path) -> list[dict[str, str]]:
    """Reads metrics.csv, without the columns that differ from run to run."""
    return [{k: v for k, v in row.items() if k not in CLOCKED} for row in all_rows_of(out)]


def all_rows_of(out: Path) -> list[dict[str, str]]:
    with open(out / "metrics.csv", newline="") as file:
        return list(csv.DictReader(file))


def losses_of(out: Path) -> list[float]:
    """Returns the training losses of a run."""
    return [float(row["train/loss"]) for row in rows_of(out) if row["train/loss"]]
