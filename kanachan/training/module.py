"""One stage of the curriculum for Lightning: network, objective, optimiser, and what is written to the log.

Losses are summed on the device and read once every `log_every` optimiser steps, so that logging never waits for the
device in between; work is counted on the CPU. `train/samples`, the decisions seen so far on all ranks, is written with
every row: it is the axis on which runs with different batches can be compared.
"""

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import lightning as L
import torch
from lightning.pytorch.loggers import WandbLogger
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor, nn

from kanachan.config import ModelConfig, OptimConfig
from kanachan.data.batch import Batch
from kanachan.models.transformer import Network, Output
from kanachan.objectives.objective import Objective
from kanachan.training.devices import accumulation_dtype
from kanachan.training.optimizers import SkippedSteps, gradient_norms, learning_rate_factor, make_optimizer
from kanachan.training.strategies import gradient_of, is_sharded, outcome_of_step
from kanachan.training.throughput import Meter, peak_memory


class StageModule(L.LightningModule):
    """Trains a network for an objective.

    Args:
        total_steps: optimiser steps of the whole run; the learning rate reaches its last value with the last one.
        log_every: optimiser steps between two rows of the log.
        model: the sizes of the network, from which its work is reckoned for the log.
    """

    def __init__(
        self,
        network: Network,
        objective: Objective,
        optim: OptimConfig,
        total_steps: int,
        log_every: int,
        model: ModelConfig,
    ) -> None:
        super().__init__()
        self.network = network
        self.objective = objective
        self.optim = optim
        self.total_steps = total_steps
        self.log_every = log_every
        self.meter = Meter(model, trains_encoder=optim.encoder_learning_rate != 0)
        self.samples = 0
        self.optimised: list[list[nn.Parameter]] = []
        """the parameters by the optimiser's groups"""
        self._training = Sums()
        self._validation = Sums()
        self.watch: Callable[[Batch, int, Output, Tensor], None] | None = None
        """what a callback computes in each step of a validation; takes the batch, its number, the output, score_BA"""
        self.watched: dict[str, float] = {}
        """what it adds to the row of the validation"""
        self.skipped = SkippedSteps(optim.skip_limit)
        self._gradient_norms: dict[str, Tensor | float] = {}
        self._logged_step = self._noted_step = 0
        self._validation_start = 0.0
        if optim.encoder_learning_rate == 0:
            network.encoder.requires_grad_(False)

    def forward(self, batch: Batch) -> Tensor:
        """Returns score_BA."""
        return self.objective.score(self.network(batch))

    def configure_optimizers(self) -> OptimizerLRScheduler:
        optimizer = make_optimizer(self.network, self.optim)
        groups = optimizer.param_groups
        self.optimised = [list(group["params"]) for group in groups]
        factors = [learning_rate_factor(self.optim, self.total_steps, group["part"]) for group in groups]
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factors)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def transfer_batch_to_device(self, batch: Batch, device: torch.device, dataloader_idx: int) -> Batch:
        if self.trainer.training:
            self.meter.count(batch)
        return batch.to(device, non_blocking=True)

    # Training --------------------------------------------------------------------------------------------------------

    def on_fit_start(self) -> None:
        for logger in self.trainer.loggers:
            if isinstance(logger, WandbLogger) and self.trainer.is_global_zero:
                logger.experiment.define_metric("train/samples")
                logger.experiment.define_metric("*", step_metric="train/samples")

    def on_train_start(self) -> None:
        self._logged_step = self._noted_step = self.trainer.global_step
        if self._logged_step % self.log_every == 0:
            # A checkpoint of such a step may be older than the row of the step, which the first run has written.
            self._training = Sums()
        self.meter.start()

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        parts = self.objective.loss_with_auxiliary(self.network(batch), batch)
        # Micro-batches are of one size, so the mean of their means is the mean of the batch.
        self._training.add(parts, weight=1)
        self.samples += len(batch) * self.trainer.world_size
        return parts["loss"]

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        step = self.trainer.global_step + 1
        is_due = step % self.log_every == 0 or step == self.total_steps
        if is_due and self._ends_step(self.trainer.fit_loop.epoch_loop.batch_idx):
            norms = gradient_norms(self.network, gradient_of(self.trainer))
            self._gradient_norms = {f"gradient_norm_{part}": norm for part, norm in norms.items()}

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        if not is_sharded(self.trainer):  # else DeepSpeed clips, and leaves steps out
            self._gradient_norms["gradient_norm"] = self.skipped.clip(optimizer, gradient_clip_val or 0.0)

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        self.log_if_due()
        self.meter.ask()

    def _ends_step(self, batch_idx: int) -> bool:
        return (batch_idx + 1) % self.trainer.accumulate_grad_batches == 0

    def log_if_due(self) -> None:
        """Writes the row of this optimiser step, once; whoever saves a checkpoint calls it before."""
        step = self.trainer.global_step
        if is_sharded(self.trainer) and step > self._noted_step:
            self._gradient_norms["gradient_norm"], was_skipped = outcome_of_step(self.trainer)
            self.skipped.add(float(was_skipped))
            self._noted_step = step
        if step > self._logged_step and (step % self.log_every == 0 or step == self.total_steps):
            row = self._log_training()
            self.log("loss", row["train/loss"], prog_bar=True, logger=False)
            for name in ("samples_per_second", "share_of_peak"):
                if f"train/{name}" in row:
                    self.log(name, row[f"train/{name}"], prog_bar=True, logger=False)

    def on_train_end(self) -> None:
        if self.trainer.global_step > self._logged_step:
            self._log_training()

    def _log_training(self) -> dict[str, float]:
        means, _ = self._training.take(self.trainer)
        groups = self.trainer.optimizers[0].param_groups
        rates = {group["part"]: group["lr"] for group in groups if not group.get("is_muons")}
        row = {f"train/{name}": mean for name, mean in means.items()}
        row["train/learning_rate"] = rates["decoder"]
        if rates.get("encoder", rates["decoder"]) != rates["decoder"]:
            row["train/encoder_learning_rate"] = rates["encoder"]
        row |= {f"train/{name}": float(norm) for name, norm in self._gradient_norms.items()}
        self._gradient_norms.clear()
        row["train/skipped_steps"] = self.skipped.checked_total(self.trainer.global_step)
        row |= self._speed()
        self._write(row)
        self._logged_step = self.trainer.global_step
        self.meter.start()
        return row

    def _speed(self) -> dict[str, float]:
        """What the meters of all ranks have counted since the last row. Every rank must call it."""
        meter, strategy = self.meter, self.trainer.strategy
        device = strategy.root_device
        work, seconds = meter.work, meter.seconds
        rates = (work.decisions / seconds, work.tokens / seconds, work.flops / seconds, meter.waited / seconds)
        sums = torch.tensor([*rates, meter.peak or 0.0], dtype=accumulation_dtype(device), device=device)
        samples, tokens, flops, waited, peak = strategy.reduce(sums, reduce_op="sum").tolist()
        memory = torch.tensor(peak_memory(device) / 1e9, dtype=accumulation_dtype(device), device=device)
        row = {
            "train/samples_per_second": samples,
            "train/tokens_per_second": tokens,
            "train/flops_per_second": flops,
            "train/data_wait": waited / self.trainer.world_size,
            "train/memory_peak_gb": float(strategy.reduce(memory, reduce_op="max")),
        }
        return row if meter.peak is None else {**row, "train/share_of_peak": flops / peak}

    # Validation ------------------------------------------------------------------------------------------------------

    def on_validation_epoch_start(self) -> None:
        self._validation = Sums()
        self._validation_start = time.perf_counter()

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        output = self.network(batch)
        parts = self.objective.loss_with_auxiliary(output, batch)
        score_BA = self.objective.score(output)
        parts["top1"] = (score_BA.argmax(dim=1) == batch.chosen_B).float().mean()
        if self.objective.has_value:
            target_B = self.objective.target(batch)
            parts["_target"] = target_B.mean()
            parts["_target_square"] = target_B.square().mean()
            parts["_error_square"] = (target_B - self.objective.value(output, batch)).square().mean()
        self._validation.add(parts, weight=len(batch))
        if self.watch is not None:
            self.watch(batch, batch_idx, output, score_BA)

    def on_validation_epoch_end(self) -> None:
        means, count = self._validation.take(self.trainer)
        if self.objective.has_value:
            variance = means.pop("_target_square") - means.pop("_target") ** 2
            error = means.pop("_error_square")
            means["explained_variance"] = 1 - error / variance if variance > 0 else math.nan
        row = {f"validation/{name}": mean for name, mean in means.items()}
        # For callbacks and the progress bar; all ranks have the same numbers, sync_dist only spares a warning.
        for name, mean in row.items():
            self.log(name, mean, prog_bar=name == "validation/loss", logger=False, sync_dist=True)
        if not self.trainer.sanity_checking:
            self._write({**row, **self.watched, "validation/rows": count})
        self.meter.leave_out(time.perf_counter() - self._validation_start)

    def on_validation_end(self) -> None:
        self.meter.ask()

    # The log ---------------------------------------------------------------------------------------------------------

    def _write(self, row: Mapping[str, float]) -> None:
        for logger in self.trainer.loggers:
            logger.log_metrics({**row, "train/samples": float(self.samples)}, step=self.trainer.global_step)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["samples"] = self.samples
        checkpoint["batches_per_step"] = self.trainer.accumulate_grad_batches
        checkpoint["training_sums"] = self._training.totals(self.trainer)
        checkpoint["skipped"] = self.skipped.state_dict()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.samples = checkpoint["samples"]
        # Lightning counts batches of a process, of which a step takes fewer if there are more processes now
        progress = checkpoint["loops"]["fit_loop"]["epoch_loop.batch_progress"]
        for counts in (progress["total"], progress["current"]):
            added = counts["ready"] // checkpoint["batches_per_step"] * self.trainer.accumulate_grad_batches
            added -= counts["ready"]
            counts.update({name: count + added for name, count in counts.items()})
        totals, weight = checkpoint["training_sums"]
        self._training.load(totals, weight, share=1 / self.trainer.world_size)
        self.skipped.load_state_dict(checkpoint["skipped"])


class Sums:
    """Weighted sums of scalars that stay on the device until they are taken."""

    def __init__(self) -> None:
        self._sums: dict[str, Tensor | float] = {}
        self._weight = 0.0

    def add(self, means: Mapping[str, Tensor], weight: float) -> None:
        for name, mean in means.items():
            self._sums[name] = self._sums.get(name, 0.0) + mean.detach().to(accumulation_dtype(mean.device)) * weight
        self._weight += weight

    def totals(self, trainer: L.Trainer) -> tuple[dict[str, float], float]:
        """Returns the sums over all ranks and their total weight. Every rank must call it."""
        names = sorted(self._sums)
        device = trainer.strategy.root_device
        sums = [*(self._sums[name] for name in names), self._weight]
        packed = torch.stack(
            [torch.as_tensor(value, dtype=accumulation_dtype(device), device=device) for value in sums]
        )
        *totals, weight = trainer.strategy.reduce(packed, reduce_op="sum").tolist()
        return dict(zip(names, totals, strict=True)), weight

    def take(self, trainer: L.Trainer) -> tuple[dict[str, float], float]:
        """Returns the means over all ranks and the total weight, and starts anew. Every rank must call it."""
        totals, weight = self.totals(trainer)
        self._sums, self._weight = {}, 0.0
        return {name: total / weight for name, total in totals.items()}, weight

    def load(self, totals: Mapping[str, float], weight: float, share: float) -> None:
        """Takes up this rank's share of what `totals` gave."""
        self._sums = {name: total * share for name, total in totals.items()}
        self._weight = weight * share
