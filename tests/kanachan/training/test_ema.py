"""The moving average of the weights is validated and written, and does not affect training."""

from pathlib import Path
from typing import Any

import lightning as L
import pytest
import torch
from safetensors.torch import load_file

from kanachan.training.checkpointing import read_checkpoint
from kanachan.training.ema import EMA, averaged
from tests.support.tiny_runs import rows_of, run
from tests.support.tiny_stage import batches, make_stage, make_trainer

# without a prior, compared with which the network's own outputs hardly count after so few steps
PLAIN = ("--objective.prior", "null", "--run.early_stopping", "null")
EVERY_STEP = ("--run.steps", "10", "--run.checkpoint_minutes", "0", "--run.validation_interval", "160", *PLAIN)
AVERAGE = ("--optim.average", "0.9")


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


class Weights(L.Callback):
    """Keeps the weights before the first step and after each."""

    def __init__(self) -> None:
        self.of_step: list[dict[str, torch.Tensor]] = []

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self.keep(pl_module)

    def on_train_batch_end(self, trainer: L.Trainer, pl_module: L.LightningModule, *_: Any) -> None:
        self.keep(pl_module)

    def keep(self, module: L.LightningModule) -> None:
        self.of_step.append({name: p.detach().clone() for name, p in module.network.named_parameters()})


@pytest.mark.parametrize("forgets", [True, False])
def test_the_average_is_over_the_weights_after_each_step(forgets: bool) -> None:
    ema, weights = EMA(0.9, forgets=forgets), Weights()
    make_trainer(callbacks=[ema, weights]).fit(make_stage(learning_rate=0.05), batches(24))
    expected, *after = weights.of_step
    assert len(after) == 6
    for step, tensors in enumerate(after, start=1):
        share = 1 - (min(0.9, (1 + step) / (10 + step)) if forgets else 0.9)
        expected = {name: (1 - share) * tensor + share * tensors[name] for name, tensor in expected.items()}
    found = averaged({}, {"callbacks": {ema.state_key: ema.state_dict()}})
    assert found.keys() == expected.keys()
    for name, tensor in found.items():
        torch.testing.assert_close(tensor, expected[name], rtol=1e-5, atol=1e-6)


def test_only_a_network_that_learns_further_keeps_its_start_in_the_average(
    shards: Path, runs: Path, tmp_path: Path
) -> None:
    further = ("--init", str(runs / "average"), *EVERY_STEP, *AVERAGE)
    assert run("rank", shards, tmp_path / "run", *further, "--run.steps", "2") == 0
    assert run("rank", shards, tmp_path / "run", *further, "--run.steps", "3", "--resume", str(tmp_path / "run")) == 0
    states = [
        read_checkpoint(folder / "checkpoints" / "last.ckpt")["callbacks"]["Average"]
        for folder in (runs / "average", tmp_path / "run")
    ]
    assert [state["forgets"] for state in states] == [True, False]
