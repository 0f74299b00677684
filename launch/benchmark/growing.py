"""Benchmark of training with a hundred times the data: speed, memory and start-up time should not change.

Each measurement is a separate process, because allocated memory is not returned.
"""

import json
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from estimates import Estimate
from loading import batches_of

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import MODEL_SIZES, ObjectiveConfig, OptimConfig
from kanachan.data.batch import Batch
from kanachan.data.columns import Columns
from kanachan.data.shards import open_shards, rows_of_columns, write_shard
from kanachan.objectives.networks import build_network
from kanachan.training.batch_sizes import DEFAULT_BATCH, MOST_AT_ONCE_ON_CPU
from kanachan.training.optimizers import make_optimizer

SIZES = (10_000, 100_000, 1_000_000)
_ROWS_PER_SHARD = 100_000
_BATCHES_READ = 200
_STEPS = 4
_UNITS = {
    "train": ("training steps of 256 from data of this many rows", "decisions/s"),
    "read": ("reading batches from data of this many rows", "decisions/s"),
    "start": ("from opening the data to the first batch", "ms"),
    "memory": ("memory that is not the mapped files", "MB"),
}


def measure_growing(shards: Path, repeats: int, work: Path) -> list[Estimate]:
    """Measures training with the most rows next to training with the fewest."""
    folders = {size: _grown(shards, size, work / f"rows-{size}") for size in SIZES}
    found: dict[int, list[dict[str, float]]] = {size: [] for size in SIZES}
    for _ in range(repeats):
        for size, folder in folders.items():
            command = [sys.executable, __file__, str(folder)]
            found[size].append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    median = {size: {n: statistics.median(r[n] for r in found[size]) for n in _UNITS} for size in SIZES}
    few, some, many = SIZES
    return [
        Estimate(
            part="growing",
            what=f"{what}: {many:,}",
            unit=unit,
            ours=median[many][name],
            plain=f"the same with {few:,} rows",
            plainly=median[few][name],
            more={f"with {some:,} rows": median[some][name]},
        )
        for name, (what, unit) in _UNITS.items()
    ]


def _grown(shards: Path, size: int, folder: Path) -> Path:
    """Writes shards of `size` rows: those of `shards` repeatedly, each time as other games."""
    folder.mkdir()
    train = open_shards(shards, "train")
    of = -(-size // _ROWS_PER_SHARD)
    for number in range(of):
        rows = np.arange(number * _ROWS_PER_SHARD, min(size, (number + 1) * _ROWS_PER_SHARD))
        columns: Columns = train.gather(rows % len(train))
        columns = replace(columns, game=columns.game ^ (rows // len(train)).astype(np.uint64))
        write_shard(folder, "train", number, of, rows_of_columns(columns, FOUR_PLAYERS), FOUR_PLAYERS, {"rows": size})
    return folder


def _measure_one(folder: Path) -> dict[str, float]:
    """Measures training in this process, which has done nothing else yet."""
    torch.manual_seed(0)
    size = DEFAULT_BATCH
    network, objective = build_network("imitation", MODEL_SIZES["small"], ObjectiveConfig(), FOUR_PLAYERS)
    optimizer = make_optimizer(network, OptimConfig())
    start = time.perf_counter()
    batches = batches_of(folder, size, MOST_AT_ONCE_ON_CPU, actor_first=True)
    first = next(batches)
    started = time.perf_counter() - start

    def step(micro_batches: list[Batch]) -> None:
        for batch in micro_batches:
            (objective.loss(network(batch), batch)["loss"] / len(micro_batches)).backward()
        optimizer.step()
        optimizer.zero_grad()

    per_step = size // MOST_AT_ONCE_ON_CPU
    step([first, *islice(batches, per_step - 1)])
    start = time.perf_counter()
    for _ in range(_STEPS):
        step(list(islice(batches, per_step)))
    trained = time.perf_counter() - start
    start = time.perf_counter()
    for _ in islice(batches, _BATCHES_READ * per_step):
        pass
    read = time.perf_counter() - start
    return {
        "train": _STEPS * size / trained,
        "read": _BATCHES_READ * size / read,
        "start": 1000 * started,
        "memory": _anonymous_memory() / 1e6,
    }


def _anonymous_memory() -> int:
    """Returns the bytes of this process that are not mapped from files."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return 1024 * int(line.split()[1])
    raise ValueError("/proc/self/status has no RssAnon: this part needs Linux")


if __name__ == "__main__":
    print(json.dumps(_measure_one(Path(sys.argv[1]))))
