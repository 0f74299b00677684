"""What the parts of launch/gpu.sh share: the device, decisions of games that are played for it, training steps, runs,
and rows of results."""

import csv
import gc
import shutil
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.cli.selfplay import main as selfplay
from kanachan.config import MODEL_SIZES, ObjectiveConfig, OptimConfig
from kanachan.data.batch import Batch
from kanachan.data.loader import TrainLoader
from kanachan.data.shard_folder import splits_in
from kanachan.data.shards import open_shards
from kanachan.models.transformer import Output
from kanachan.objectives.networks import build_network
from kanachan.objectives.stages import STAGES
from kanachan.training.command_line import requested
from kanachan.training.optimizers import make_optimizer
from kanachan.training.trainer import run_stage

Row = dict[str, Any]
"""a line of a table: column to value; `WHAT` is always there"""
WHAT = "what"
MISSING, FAILED = "not measured", "failed"
"""columns of the reason why there are no others"""
PLAYER = "reference@0.7"
FIRST_STAGE = next(iter(STAGES))
_GAMES, _SHARE = {False: 200, True: 4}, {False: 0.1, True: 0.5}
"""in all, and the share of the seats that `PLAYER` has, by `Bench.is_tiny`"""


class Lacking(Exception):
    """This machine lacks what a measurement needs: the text names it."""


@dataclass(frozen=True)
class Bench:
    """The machine and the sizes of what is measured.

    Args:
        work: folder of games and runs.
        is_tiny: tiny networks and few steps, as a check.
    """

    work: Path
    is_tiny: bool

    @property
    def device(self) -> torch.device:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")

    @property
    def is_gpu(self) -> bool:
        return self.device.type == "cuda"

    @property
    def accelerator(self) -> str:
        """The device as run.accelerator names it."""
        return "gpu" if self.is_gpu else "cpu"

    @property
    def shards(self) -> Path:
        """Games of rule-based players and of `PLAYER`, which are played if they are not there."""
        folder = self.work / ("tiny-shards" if self.is_tiny else "shards")
        if not {"train", "validation"} <= set(splits_in(str(folder))):
            share = _SHARE[self.is_tiny]
            players = [f"{PLAYER}={share}", f"rule={1 - share}"]
            fractions = "0.5,0.5,0" if self.is_tiny else "0.9,0.1,0"
            options = ["-n", str(_GAMES[self.is_tiny]), "--fractions", fractions, "-o", str(folder), "--force"]
            options += ["--device", "cpu", *(["--style", "east", "-j", "1"] if self.is_tiny else [])]
            if selfplay([*players, *options]):
                raise OSError(f"{folder}: the games could not be played")
        return folder

    def batches(self, size: int, *, is_packed: bool = False, neighbours: int = 8) -> Iterator[Batch]:
        """Yields batches of training, on the CPU, epoch after epoch."""
        loader = TrainLoader(
            open_shards(self.shards, "train"),
            batch=size,
            micro_batch=size,
            seed=0,
            exchange_suits=True,
            actor_first=True,
            neighbours=neighbours,
            varlen=is_packed,
        )
        while True:
            yield from loader

    def wait(self) -> None:
        """Waits until the device has done all its work."""
        if self.is_gpu:
            torch.cuda.synchronize()

    def median_seconds(self, body: Callable[[], object], repeats: int = 5) -> float:
        """Times a function after one warm-up call."""
        seconds = []
        for _ in range(1 + repeats):
            self.wait()
            start = time.perf_counter()
            body()
            self.wait()
            seconds.append(time.perf_counter() - start)
        return statistics.median(seconds[1:])

    def measured(self, what: str, body: Callable[[], Row]) -> Row:
        """Returns the row of a measurement. One that fails says why; the others go on."""
        if self.is_gpu:
            torch.cuda.reset_peak_memory_stats()
        try:
            return {WHAT: what, **body()}
        except Lacking as reason:
            return {WHAT: what, MISSING: str(reason)}
        except (Exception, SystemExit) as error:
            traceback.print_exc()
            return {WHAT: what, FAILED: f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
        finally:
            gc.collect()
            if self.is_gpu:
                torch.cuda.empty_cache()

    @property
    def memory_gb(self) -> float | None:
        """The peak of the GPU's memory in the current measurement."""
        return torch.cuda.max_memory_allocated() / 1e9 if self.is_gpu else None

    def fresh(self, name: str) -> Path:
        """Returns the folder of a run, without what an earlier measurement has left there."""
        out = self.work / name
        shutil.rmtree(out, ignore_errors=True)
        return out

    def run(self, name: str, *arguments: str) -> Path:
        """Trains a run in this process; returns its folder. Arguments as of kanachan-train.

        Raises:
            ChildProcessError: it did not end well; its messages are in the log.
        """
        out = self.fresh(name)
        status = run_stage(requested(["-o", str(out), "--run.wandb", "disabled", "--run.devices", "1", *arguments]))
        if status:
            raise ChildProcessError(f"kanachan-train ended with status {status}")
        return out


class Trainee:
    """A fresh network of one stage on a device, the same on all devices, and its optimiser."""

    def __init__(self, device: torch.device, size: str, *, use_bf16: bool, stage: str = FIRST_STAGE) -> None:
        torch.manual_seed(0)
        self.network, self.objective = build_network(stage, MODEL_SIZES[size], ObjectiveConfig(), FOUR_PLAYERS)
        self.network.to(device).train()
        self.objective.to(device)
        self.optimizer = make_optimizer(self.network, OptimConfig())
        self.device, self._use_bf16 = device, use_bf16

    @property
    def num_parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.network.parameters())

    def output(self, batch: Batch) -> Output:
        """Computes the outputs for a batch, which must be on the device."""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self._use_bf16):
            found: Output = self.network(batch)
        return found

    def loss(self, batch: Batch) -> Tensor:
        """Computes the loss of a batch, which must be on the device."""
        return self.objective.loss(self.output(batch), batch)["loss"]

    def step(self, batch: Batch) -> Tensor:
        """Takes one step; returns the loss before it."""
        loss = self.loss(batch)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), OptimConfig.clip)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach()

    def gradient(self, batch: Batch) -> Tensor:
        """Returns the gradient of the loss, concatenated, in fp32 on the CPU."""
        self.network.zero_grad()
        self.loss(batch).backward()
        found = [p.grad.flatten().float().cpu() for p in self.network.parameters() if p.grad is not None]
        self.network.zero_grad()
        return torch.cat(found)


def relative_difference(found: Tensor, expected: Tensor) -> float:
    """Returns the norm of the difference over the norm of what is expected."""
    return float((found - expected).norm() / expected.norm())


def logged(run: Path, column: str) -> list[float]:
    """Reads a column of the metrics of a run, where it has values."""
    with open(run / "metrics.csv", newline="") as file:
        return [float(row[column]) for row in csv.DictReader(file) if row.get(column)]


def largest_difference(found: Sequence[float], expected: Sequence[float]) -> float:
    """Returns the largest difference of losses over the largest of them, which may be near 0."""
    differences = [abs(one - other) for one, other in zip(found, expected, strict=True)]
    return max(differences) / max(map(abs, expected))


def steady(run: Path, column: str) -> float | None:
    """Returns the median of a column but for its first value, which contains the start; None if the run has none."""
    values = logged(run, column)
    return statistics.median(values[1:] or values) if values else None


def say(text: str) -> None:
    """Prints to standard error."""
    print(text, file=sys.stderr, flush=True)
