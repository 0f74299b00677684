"""The callbacks of a run with a learner that is not a stage of the curriculum, and an endless data source."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import lightning as L
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from annotate.vocabulary import FOUR_PLAYERS, Vocabulary
from kanachan.config import RunConfig
from kanachan.data.batch import Batch
from kanachan.models.learned_games import GAMES_KEY, NONE
from kanachan.training.best_weights import BestCheckpoint
from kanachan.training.checkpointing import (
    CheckpointCallback,
    CheckpointFiles,
    DeterministicSeeding,
    Schedule,
    Stopped,
    StopSignals,
    read_checkpoint,
)
from kanachan.training.data_source import ENDLESS, DataSource, Share, SourceData
from kanachan.training.ema import EMA, averaged
from kanachan.training.loggers import MetricsFile
from kanachan.training.module import StageModule
from kanachan.training.progress import Progress
from kanachan.training.run_length import steps_of
from kanachan.training.strategies import tensors_of_network
from kanachan.training.trainable_module import TrainableModule, trainable
from tests.support.tiny_runs import rows_of
from tests.support.tiny_stage import batches, make_stage

STEPS = 10


class Regression(TrainableModule):
    """Predicts the first number of a decision from the others."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.network = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Dropout(0.2), nn.Linear(4, 1))
        self.samples = 0
        self.checked: list[int] = []
        self._loss = torch.zeros(())
        self._logged_step = 0

    def loss(self, batch: Batch) -> Tensor:
        number_BN = batch.numeric_BN.float() / 25_000
        return (self.network(number_BN[:, 1:6])[:, 0] - number_BN[:, 0]).square().mean()

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        loss = self.loss(batch)
        self._loss = loss.detach()
        self.samples += len(batch)
        return loss

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        self.log("validation/loss", self.loss(batch), batch_size=len(batch), logger=False)

    def log_if_due(self) -> None:
        if self.trainer.global_step > self._logged_step:
            self._logged_step = self.trainer.global_step
            row = {"train/loss": float(self._loss), "train/samples": float(self.samples)}
            self.trainer.loggers[0].log_metrics(row, step=self._logged_step)

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        self.log_if_due()

    def require_finite(self, step: int) -> None:
        self.checked.append(step)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["samples"] = self.samples

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.samples, self._logged_step = checkpoint["samples"], checkpoint["global_step"]

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.network.parameters(), lr=0.05)

    def transfer_batch_to_device(self, batch: Batch, device: torch.device, dataloader_idx: int) -> Batch:
        return batch.to(device)


class Stream:
    """Endless batches, made up one after another."""

    def __init__(self, share: Share) -> None:
        self.share = share
        self.number = 0

    def __len__(self) -> int:
        return ENDLESS

    def __iter__(self) -> Iterator[Batch]:
        while True:
            (batch,) = batches(4, rows_per_batch=4, seed=self.number * self.share.world + self.share.rank).dataset
            self.number += 1
            yield batch

    def state_dict(self) -> dict[str, Any]:
        return {"number": self.number}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.number = state_dict["number"]


class StreamSource:
    name = "made-up decisions"
    vocabulary: Vocabulary = FOUR_PLAYERS
    steps_per_epoch = None
    num_train_rows = None
    num_validation_rows = 12
    description: dict[str, Any] = {"made": "up"}
    learned_games = NONE.key_G

    def train_batches(self, share: Share) -> Stream:
        return Stream(share)

    def validation_batches(self, share: Share, limit: int | None) -> Iterable[Batch]:
        return batches(12, seed=1_000)


class StopAfter(L.Callback):
    """Stops a run as a signal would."""

    def __init__(self, step: int | None, signals: StopSignals) -> None:
        self.step, self.signals = step, signals

    def on_train_batch_end(self, trainer: L.Trainer, *args: Any) -> None:
        if trainer.global_step == self.step:
            self.signals.received = StopSignals.NUMBERS[0]


def fit(out: Path, stop_after: int | None = None, resume: Path | None = None) -> Regression:
    """Runs all callbacks that the trainer of stages also uses."""
    (out / "checkpoints").mkdir(parents=True, exist_ok=True)
    module, source, signals = Regression(), StreamSource(), StopSignals()
    as_source: DataSource = source
    assert not isinstance(module, StageModule)

    def write(path: Path, tensors: Mapping[str, Tensor], metrics: dict[str, float], step: int) -> None:
        save_file(dict(tensors), path)

    trainer = L.Trainer(
        accelerator="cpu",
        max_steps=STEPS,
        max_epochs=-1,
        val_check_interval=5,
        check_val_every_n_epoch=None,
        num_sanity_val_steps=0,
        logger=MetricsFile(out / "metrics.csv", read_checkpoint(resume)["global_step"] if resume else -1),
        callbacks=[
            StopAfter(stop_after, signals),
            DeterministicSeeding(0),
            Progress(STEPS),
            BestCheckpoint(out / "best.safetensors", write, None),
            EMA(0.9),
            CheckpointCallback(out / "checkpoints", 0, 5, Schedule(STEPS, STEPS), [{"stage": "before"}], NONE, signals),
        ],
        plugins=[CheckpointFiles(None if resume is None else (resume, read_checkpoint(resume)))],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
    )
    trainer.fit(module, datamodule=SourceData(as_source), ckpt_path=resume, weights_only=resume is not None)
    return module


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "whole"
    fit(out)
    return out


def test_both_learners_have_the_interface_that_callbacks_need() -> None:
    for module in (make_stage(), Regression()):
        learner: TrainableModule = trainable(module)
        assert learner is module
    with pytest.raises(AssertionError):
        trainable(L.LightningModule())


@pytest.mark.parametrize("stopped", [3, 5])
def test_a_stopped_run_of_another_learner_is_resumed_to_the_same_weights_average_and_rows(
    whole: Path, tmp_path: Path, stopped: int
) -> None:
    last = tmp_path / "checkpoints" / "last.ckpt"
    with pytest.raises(Stopped, match=f"after step {stopped}"):
        fit(tmp_path, stop_after=stopped)
    assert read_checkpoint(last)["global_step"] == stopped
    module = fit(tmp_path, resume=last)
    found, expected = read_checkpoint(last), read_checkpoint(whole / "checkpoints" / "last.ckpt")
    assert module.samples == found["samples"] == 4 * STEPS
    for tensors in (lambda c: c["state_dict"], lambda c: c["callbacks"]["Average"]["average"]):
        assert all(tensor.equal(tensors(found)[name]) for name, tensor in tensors(expected).items())
    assert found["callbacks"]["Snapshots"] == {"lineage": [{"stage": "before"}], GAMES_KEY: NONE.encode()}
    assert found["callbacks"]["BestWeights"]["metrics"].keys() <= {"loss"}
    assert rows_of(tmp_path) == rows_of(whole) and len(rows_of(whole)) == STEPS


def test_the_average_of_another_learner_is_validated_and_written(whole: Path) -> None:
    checkpoint = read_checkpoint(whole / "checkpoints" / "last.ckpt")
    own = tensors_of_network(checkpoint["state_dict"])
    average = averaged(own, checkpoint)
    assert own.keys() == average.keys() and not any(own[name].equal(average[name]) for name in own)
    best = load_file(whole / "best.safetensors")
    assert best.keys() == average.keys()
    assert checkpoint["callbacks"]["BestWeights"]["step"] in (None, 5)  # the checkpoint comes before its validation


def test_every_checkpoint_of_another_learner_is_checked_for_finite_weights(tmp_path: Path) -> None:
    assert fit(tmp_path).checked == list(range(1, STEPS + 1))


def test_a_run_on_an_endless_source_needs_a_number_of_steps() -> None:
    assert steps_of(RunConfig(steps=7), 4, StreamSource()) == 7
    with pytest.raises(ValueError, match="run.steps is missing: made-up decisions"):
        steps_of(RunConfig(), 4, StreamSource())
