"""Steps whose gradient is not finite are skipped and counted."""

import subprocess
import sys
from collections import OrderedDict
from pathlib import Path

import pytest
import torch
from torch import nn

from kanachan.config import OptimConfig
from kanachan.training.checkpointing import read_checkpoint
from kanachan.training.optimizers import SkippedSteps, make_optimizer
from tests.support.tiny_runs import arguments, pack_decisions

GRADIENTS = (0.5, -2.0, 0.1)


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(OrderedDict(encoder=nn.Linear(3, 4), head=nn.Linear(4, 1)))


def trained(gradients: tuple[float, ...], skipped: SkippedSteps, clip: float, optim: OptimConfig) -> list[torch.Tensor]:
    """Weights and states after steps with these numbers as the whole gradient."""
    model = network()
    optimizer = make_optimizer(model, optim)
    for gradient in gradients:
        for parameter in model.parameters():
            parameter.grad = torch.full_like(parameter, gradient)
        skipped.clip(optimizer, clip)
        optimizer.step()
    states = [tensor for _, state in sorted(optimizer.state_dict()["state"].items()) for tensor in state.values()]
    return [parameter.detach() for parameter in model.parameters()] + states


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("clip", [0.0, 1.0])
@pytest.mark.parametrize("optim", [OptimConfig(), OptimConfig(optimizer="muon")], ids=["adamw", "muon"])
def test_a_step_with_a_gradient_that_is_not_finite_changes_nothing(bad: float, clip: float, optim: OptimConfig) -> None:
    skipped = SkippedSteps(limit=3)
    with_bad = trained((bad, GRADIENTS[0], bad, bad, *GRADIENTS[1:]), skipped, clip, optim)
    without = trained(GRADIENTS, SkippedSteps(limit=3), clip, optim)
    assert all(left.equal(right) for left, right in zip(with_bad, without, strict=True))
    assert skipped.checked_total(6) == 3


def test_the_gradient_is_clipped_to_the_given_norm() -> None:
    optimizer = torch.optim.SGD(network().parameters(), lr=1.0)
    parameters = optimizer.param_groups[0]["params"]
    for parameter in parameters:
        parameter.grad = torch.full_like(parameter, 2.0)
    norm = float(SkippedSteps(limit=1).clip(optimizer, 1.0))
    assert norm == pytest.approx(2 * sum(p.numel() for p in parameters) ** 0.5)
    assert float(nn.utils.get_total_norm([p.grad for p in parameters])) == pytest.approx(1.0, rel=1e-5)


def test_too_many_skipped_steps_in_a_row_are_an_error_but_single_ones_are_not() -> None:
    skipped = SkippedSteps(limit=3)
    for is_skipped in (1, 1, 0, 1, 0, 1, 1, 0):
        skipped.add(is_skipped)
    assert skipped.checked_total(8) == 5
    for is_skipped in (1, 1, 1, 0):
        skipped.add(is_skipped)
    with pytest.raises(ValueError, match="not finite in 3 optimiser steps in a row before step 12.*learning_rate"):
        skipped.checked_total(12)


def test_a_row_of_skipped_steps_continues_after_a_checkpoint() -> None:
    before, after = SkippedSteps(limit=3), SkippedSteps(limit=3)
    before.add(1)
    before.add(1)
    after.load_state_dict(before.state_dict())
    assert after.checked_total(2) == 2
    after.add(1)
    with pytest.raises(ValueError, match="3 optimiser steps in a row"):
        after.checked_total(3)


@pytest.mark.slow
def test_steps_that_deepspeed_skips_are_counted(tmp_path: Path) -> None:
    wild = ("--optim.learning_rate", "1e30")
    # a validation would find first that the loss is not finite
    steps = ("--run.checkpoint_minutes", "0", "--run.validation_interval", "640")
    out = tmp_path / "run"
    shards = pack_decisions(tmp_path)
    command = arguments("round_delta", shards, out, *wild, *steps, "--run.strategy", "zero2")
    done = subprocess.run([sys.executable, "-m", "kanachan", "train", *command], capture_output=True, text=True)
    assert done.returncode == 1
    assert "were not finite in 10 optimiser steps in a row before step 11, and these steps" in done.stderr
    last = read_checkpoint(out / "checkpoints" / "last.ckpt")
    assert last["skipped"] == {"total": 9, "in_a_row": 9}
    assert all(bool(tensor.isfinite().all()) for tensor in last["state_dict"].values())
