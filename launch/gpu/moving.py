"""Part checkpoints: a run that was stopped on one device and is resumed on the other, against one that was not."""

import shutil
from collections.abc import Iterator

import torch
from bench import FIRST_STAGE, Bench, Row, largest_difference, logged, relative_difference

from kanachan.config import WEIGHTS_NAME
from kanachan.models.weights import read_weights
from kanachan.training.checkpointing import LAST_NAME, PREVIOUS_NAME
from kanachan.training.command_line import requested
from kanachan.training.run_folder import CHECKPOINTS
from kanachan.training.trainer import run_stage

_STEPS = {False: 20, True: 4}


def measure(bench: Bench) -> Iterator[Row]:
    here = bench.accelerator
    for first, second in ((here, "cpu"), ("cpu", here)) if bench.is_gpu else ((here, here),):
        what = f"started on {first}, resumed on {second}"
        yield bench.measured(what, lambda f=first, s=second: _moved(bench, f, s))


def _moved(bench: Bench, first: str, second: str) -> Row:
    """Resumes a run at half its length; the differences are those of the second half."""
    steps, size = _STEPS[bench.is_tiny], "tiny" if bench.is_tiny else "small"
    arguments = ["--stage", FIRST_STAGE, "--model.size", size, "--data.path", str(bench.shards), "--run.log_every", "1"]
    arguments += ["--data.batch", "64", "--data.micro_batch", "32", "--run.steps", str(steps)]
    arguments += ["--run.checkpoint_every", str(steps // 2), "--run.validate_every", str(steps)]
    arguments += ["--run.validate_batches", "1", "--run.precision", "fp32", "--run.measure_peak", "false"]
    whole = bench.run(f"checkpoints/{first}", *arguments, "--run.accelerator", first)
    half = whole.with_name(f"{first}-{second}")
    shutil.rmtree(half, ignore_errors=True)
    shutil.copytree(whole, half)
    (half / WEIGHTS_NAME).unlink()
    (half / CHECKPOINTS / PREVIOUS_NAME).replace(half / CHECKPOINTS / LAST_NAME)
    if status := run_stage(requested(["--resume", str(half), "--run.accelerator", second])):
        raise ChildProcessError(f"the resumed run ended with status {status}")
    ours, theirs = (logged(run, "train/loss") for run in (half, whole))
    mine, others = (read_weights(run).tensors for run in (half, whole))
    vectors = (torch.cat([tensors[name].flatten() for name in sorted(tensors)]) for tensors in (mine, others))
    return {
        "steps": len(ours),
        "difference of the losses": largest_difference(ours, theirs),
        "difference of the weights": relative_difference(*vectors),
    }
