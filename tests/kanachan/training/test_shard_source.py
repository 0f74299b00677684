from pathlib import Path
from typing import Any

import lightning as L
import pytest
import torch

from kanachan.config import DataConfig
from kanachan.data.batch import Batch
from kanachan.training.data_source import SourceData
from kanachan.training.shard_source import ShardSource
from tests.support.packed import packed

STEPS_PER_EPOCH = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed(tmp_path_factory.mktemp("data") / "shards", 100, 50, rows_per_shard=40)


def shard_data(folder: Path) -> ShardSource:
    return ShardSource(DataConfig(path=str(folder), batch=16, micro_batch=8, validation_batch=16), 0)


class Recorder(L.LightningModule):
    """Records the batches that it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.seen: list[list[int]] = []
        self.validated: list[int] = []

    def training_step(self, batch: Batch, batch_idx: int) -> torch.Tensor:
        self.seen.append([*batch.tile_BT.flatten().tolist(), *batch.event_GE.flatten().tolist()])
        return self.weight * batch.numeric_BN.mean()

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        self.validated.append(len(batch))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=1e-3)

    def transfer_batch_to_device(self, batch: Batch, device: torch.device, dataloader_idx: int) -> Batch:
        return batch.to(device)


class SaveAt(L.Callback):
    """Saves at the end of a step, within Lightning's loop as real checkpoints are."""

    def __init__(self, step: int, path: Path) -> None:
        self.step = step
        self.path = path

    def on_train_batch_end(
        self, trainer: L.Trainer, module: L.LightningModule, outputs: Any, batch: Any, i: int
    ) -> None:
        if trainer.global_step == self.step and i % 2 == 1:
            trainer.save_checkpoint(self.path)


def fit(folder: Path, steps: int, *callbacks: L.Callback, resume: Path | None = None, limit: Any = 1.0) -> Recorder:
    module = Recorder()
    trainer = L.Trainer(
        accelerator="cpu",
        max_steps=steps,
        max_epochs=-1,
        accumulate_grad_batches=2,
        limit_val_batches=limit,
        num_sanity_val_steps=0,
        val_check_interval=8,
        check_val_every_n_epoch=None,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=list(callbacks),
        use_distributed_sampler=False,
    )
    trainer.fit(module, datamodule=SourceData(shard_data(folder)), ckpt_path=resume, weights_only=resume is not None)
    return module


@pytest.mark.parametrize("stopped", [4, STEPS_PER_EPOCH - 1, STEPS_PER_EPOCH, STEPS_PER_EPOCH + 1, 2 * STEPS_PER_EPOCH])
def test_a_resumed_run_sees_what_an_uninterrupted_one_sees(folder: Path, tmp_path: Path, stopped: int) -> None:
    steps = 3 * STEPS_PER_EPOCH
    straight = fit(folder, steps, SaveAt(stopped, tmp_path / "at.ckpt"))

    resumed = fit(folder, steps, resume=tmp_path / "at.ckpt")

    assert len(straight.seen) == 2 * steps
    assert resumed.seen == straight.seen[2 * stopped :]
    assert straight.seen[: 2 * STEPS_PER_EPOCH] != straight.seen[2 * STEPS_PER_EPOCH : 4 * STEPS_PER_EPOCH]
