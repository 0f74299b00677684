"""Benchmark of a training step as a share of the device's speed in plain matrix products."""

import statistics
import time
from itertools import islice
from pathlib import Path

import torch
from estimates import Estimate
from loading import batches_of
from torch import nn

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import MODEL_SIZES, ObjectiveConfig, OptimConfig
from kanachan.objectives.networks import build_network
from kanachan.training.batch_sizes import DEFAULT_BATCH, MOST_AT_ONCE_ON_CPU
from kanachan.training.optimizers import make_optimizer
from kanachan.training.throughput import NO_WORK, count_flops, matrix_flops_per_second

SIZES = ("small", "base")
_STEPS = {"small": 8, "base": 1}


def measure_peak(shards: Path, size: str, repeats: int) -> Estimate:
    """Measures floating-point operations a second of a step, by formula, next to those of a square matrix product."""
    model, batch, micro_batch = MODEL_SIZES[size], DEFAULT_BATCH, MOST_AT_ONCE_ON_CPU
    network, objective = build_network("imitation", model, ObjectiveConfig(), FOUR_PLAYERS)
    optimizer = make_optimizer(network, OptimConfig())
    batches = batches_of(shards, batch, micro_batch, actor_first=True)
    speeds, peaks, decisions = [], [], []
    for number in range(repeats + 1):
        work, start = NO_WORK, time.perf_counter()
        for _ in range(_STEPS[size] if number else 1):
            for micro in islice(batches, batch // micro_batch):
                (objective.loss(network(micro), micro)["loss"] * micro_batch / batch).backward()
                work += count_flops(model, micro)
            nn.utils.clip_grad_norm_(network.parameters(), OptimConfig.clip)
            optimizer.step()
            optimizer.zero_grad()
        seconds = time.perf_counter() - start
        if number:
            speeds.append(work.flops / seconds / 1e9)
            decisions.append(work.decisions / seconds)
            peaks.append(matrix_flops_per_second(torch.device("cpu"), torch.float32) / 1e9)
    return Estimate(
        part="peak",
        what=f"training step of {size}, {sum(p.numel() for p in network.parameters()):,} parameters",
        unit="GFLOP/s",
        ours=statistics.median(speeds),
        plain="square matrix products",
        plainly=statistics.median(peaks),
        more={"decisions/s": statistics.median(decisions)},
    )
