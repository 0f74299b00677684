"""Part sharding: DeepSpeed's ZeRO on one device, against DDP."""

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from bench import FIRST_STAGE, Bench, Lacking, Row, largest_difference, logged, steady

_STRATEGIES = {False: ("ddp", "zero1", "zero2", "zero3"), True: ("ddp", "zero3")}
_RUN = {False: ("base", 1024, 512, 24), True: ("tiny", 32, 16, 4)}
"""size of the network, decisions of a step and of a micro-batch, steps"""


def measure(bench: Bench) -> Iterator[Row]:
    """Each run is a process of its own, as DeepSpeed changes the process that it is in."""
    losses: list[float] = []
    for strategy in _STRATEGIES[bench.is_tiny]:
        yield bench.measured(f"{_RUN[bench.is_tiny][0]}, {strategy}", lambda s=strategy: _run(bench, s, losses))


def _run(bench: Bench, strategy: str, others: list[float]) -> Row:
    if strategy.startswith("zero") and find_spec("deepspeed") is None:
        raise Lacking("DeepSpeed is not installed")
    size, batch, micro_batch, steps = _RUN[bench.is_tiny]
    run = bench.fresh(f"sharding/{strategy}")
    arguments = ["--stage", FIRST_STAGE, "--model.size", size, "--data.path", str(bench.shards), "-o", str(run)]
    arguments += ["--data.batch", str(batch), "--data.micro_batch", str(micro_batch), "--optim.optimizer", "adamw"]
    arguments += ["--run.steps", str(steps), "--run.log_every", "1", "--run.validate_every", str(steps)]
    arguments += ["--run.validate_batches", "1", "--run.wandb", "disabled", "--run.measure_peak", "false"]
    arguments += ["--run.accelerator", bench.accelerator, "--run.devices", "1", "--run.strategy", strategy]
    if not bench.is_tiny:
        arguments += ["--run.precision", "bf16"]
    _train(arguments, run)
    losses = logged(run, "train/loss")
    others[:] = others or losses
    return {
        "decisions/s": steady(run, "train/samples_per_second"),
        "memory, GB": steady(run, "train/memory_peak_gb"),
        "last loss": losses[-1],
        "difference of the losses": largest_difference(losses, others),
    }


def _train(arguments: list[str], run: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "kanachan.cli.train", *arguments], capture_output=True, text=True)
    print(done.stdout, done.stderr, sep="\n")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise ChildProcessError(f"{run.name}: status {done.returncode}: {last}")
