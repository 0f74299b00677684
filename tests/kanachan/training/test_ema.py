"""The moving average of the weights is validated and written, and does not affect training."""

import signal
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from kanachan.training.checkpointing import read_checkpoint
from kanachan.training.ema import averaged
from tests.support.stopped import signal_after_rows
from tests.support.tiny_runs import rows_of, run, same_weights

# without a prior, beside which the network's own outputs hardly count after so few steps
PLAIN = ("--objective.prior", "null", "--run.early_stopping", "null")
EVERY_STEP = ("--run.steps", "10", "--run.checkpoint_minutes", "0", "--run.validation_interval", "160", *PLAIN)
AVERAGE = ("--optim.average", "0.9")
CONSTANT = ("--optim.warmup", "0", "--optim.cooldown", "0", "--optim.learning_rate", "0.05")


@pytest.fixture(scope="module")
def runs(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    assert run("rank", shards, folder / "plain", *EVERY_STEP) == 0
    assert run("rank", shards, folder / "average", *EVERY_STEP, *AVERAGE) == 0
    return folder


def test_the_average_does_not_affect_training(runs: Path) -> None:
    plain, average = (read_checkpoint(runs / name / "checkpoints" / "last.ckpt") for name in ("plain", "average"))
    assert all(tensor.equal(average["state_dict"][name]) for name, tensor in plain["state_dict"].items())
    losses = [[row["train/loss"] for row in rows_of(runs / name) if row["train/loss"]] for name in ("plain", "average")]
    assert losses[0] == losses[1] and len(losses[0]) == 10


def test_the_average_is_validated_and_written(runs: Path) -> None:
    plain, average = (load_file(runs / name / "weights.safetensors") for name in ("plain", "average"))
    saved = read_checkpoint(runs / "average" / "checkpoints" / "last.ckpt")["callbacks"]["Average"]["average"]
    assert all(tensor.equal(average[name]) for name, tensor in saved.items())
    assert not any(plain[name].equal(average[name]) for name in saved)
    assert plain.keys() == average.keys()
    of_plain, of_average = (
        [float(row["validation/loss"]) for row in rows_of(runs / name) if row.get("validation/loss")]
        for name in ("plain", "average")
    )
    assert len(of_plain) == len(of_average) == 2 and of_plain != pytest.approx(of_average, rel=1e-5)


def test_the_average_is_that_of_the_weights_after_each_step(shards: Path, tmp_path: Path) -> None:
    """The slow way: the weights that runs of 1, 2 ... steps end with, averaged one by one."""
    checkpoint, expected = {}, start_of(shards, tmp_path)
    for step in range(1, 5):
        out = tmp_path / str(step)
        assert run("rank", shards, out, *AVERAGE, "--run.steps", str(step), *CONSTANT) == 0
        checkpoint = read_checkpoint(out / "checkpoints" / "last.ckpt")
        share = 1 - min(0.9, (1 + step) / (10 + step))
        expected = {
            name: (1 - share) * tensor + share * checkpoint["state_dict"][f"network.{name}"]
            for name, tensor in expected.items()
        }
    found = averaged({}, checkpoint)
    assert found
    for name, tensor in found.items():
        torch.testing.assert_close(tensor, expected[name], rtol=1e-5, atol=1e-6)


def start_of(shards: Path, folder: Path) -> dict[str, torch.Tensor]:
    """The weights before the first step: those of a run whose learning rate is nearly zero."""
    out = folder / "start"
    still = ("--optim.learning_rate", "1e-30", "--optim.weight_decay", "0", "--run.steps", "1")
    assert run("rank", shards, out, *still) == 0
    return load_file(out / "weights.safetensors")


def test_a_stopped_run_is_resumed_with_its_average(shards: Path, runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "stopped"
    signal_after_rows(out, 5, signal.SIGTERM)
    assert run("rank", shards, out, *EVERY_STEP, *AVERAGE) == 0
    assert run("rank", shards, out, *EVERY_STEP, *AVERAGE, "--resume", "auto") == 0
    assert same_weights(out, runs / "average")
