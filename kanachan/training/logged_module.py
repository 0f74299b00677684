"""Common parts of all learners of this package for Lightning: network, optimiser, and the rows of the log.

Losses are summed on the device and read once every `log_every` optimiser steps, so that logging never waits for the
device in between; floating-point operations are counted on the CPU. `train/samples`, the decisions (of stage reward:
games) seen so far on all ranks, is written with every row: it is the axis on which runs with different batches can be
compared.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

import lightning as L
import torch
from lightning.pytorch.loggers import WandbLogger
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor, nn

from kanachan.config import OptimConfig
from kanachan.evaluation.value_metrics import explained_variance
from kanachan.training.deepspeed import ZeroStrategy, own_part, whole_gradient
from kanachan.training.distributed_sums import DistributedSums, means_of
from kanachan.training.optimizers import SkippedSteps, freeze, gradient_norms, learning_rate_factor, make_optimizer
from kanachan.training.throughput import FlopCount, Meter, peak_memory

PREFIX = "validation/"
"""prefix of the names of validation metrics"""
_SHOWN = ("train/loss", "train/samples_per_second", "train/share_of_peak")
"""metrics that are shown on the terminal"""
_MOMENTS = ("target", "target_square", "error_square")


def moments(target: Tensor, value: Tensor) -> dict[str, Tensor]:
    """Returns means over targets and their predictions, under the names that `with_explained_variance` reads."""
    target = target.double()  # rounding in fp32 would look like variance
    means = target.mean(), target.square().mean(), (target - value).square().mean()
    return {f"{PREFIX}_{name}": mean for name, mean in zip(_MOMENTS, means, strict=True)}


def with_explained_variance(row: Mapping[str, float]) -> dict[str, float]:
    """Replaces the moments in a validation's row by the explained variance, which is NaN if all targets are equal."""
    rest = dict(row)
    mean, square, error = (rest.pop(f"{PREFIX}_{name}") for name in _MOMENTS)
    rest[f"{PREFIX}explained_variance"] = float(explained_variance(1, mean, square, error))
    return rest


class LoggedModule(L.LightningModule):
    """Optimises the network and writes the log; a subclass computes losses and validations. The callbacks of a run
    average, checkpoint, resume and show any such module. Raises ValueError like `freeze`.

    A subclass logs `validation/loss` among the metrics of a validation (`log_validation`).

    Args:
        total_steps: optimiser steps of the whole run; the learning rate reaches its final value at the last step.
        log_every: optimiser steps between two rows of the log.
        work_of: counts the work of a batch, for the log.
    """

    def __init__(
        self,
        network: nn.Module,
        optim: OptimConfig,
        total_steps: int,
        log_every: int,
        work_of: Callable[[Any], FlopCount],
    ) -> None:
        super().__init__()
        freeze(network, optim.frozen)
        self.network = network
        """its parameters are averaged, and its tensors are in the weights file"""
        self.optim = optim
        self.total_steps = total_steps
        self.log_every = log_every
        self.meter = Meter(work_of)
        self.samples = 0
        """samples seen so far over all ranks: the axis of the log"""
        self.shown: Mapping[str, float] = {}
        """the latest loss and speed, for the terminal"""
        self.optimised: list[list[nn.Parameter]] = []
        """the parameters of each group of the optimiser"""
        self._training = DistributedSums()
        self.skipped = SkippedSteps()
        self._gradient_norms: dict[str, Tensor | float] = {}
        self._learning_rates: dict[str, float] = {}
        self._logged_step = self._noted_step = 0
        self._validation_start = 0.0

    def configure_optimizers(self) -> OptimizerLRScheduler:
        optimizer = make_optimizer(self.network, self.optim)
        self.optimised = [list(group["params"]) for group in optimizer.param_groups]
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, learning_rate_factor(self.optim, self.total_steps))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def transfer_batch_to_device(self, batch: Any, device: torch.device, dataloader_idx: int) -> Any:
        if self.trainer.training:
            self.meter.count(batch)
        return batch.to(device, non_blocking=True)

    def on_fit_start(self) -> None:
        for logger in self.trainer.loggers:
            if isinstance(logger, WandbLogger) and self.trainer.is_global_zero:
                logger.experiment.define_metric("train/samples")
                logger.experiment.define_metric("*", step_metric="train/samples")

    def on_train_start(self) -> None:
        self._set_learning_rates()
        self._logged_step = self._noted_step = self.trainer.global_step
        if self._logged_step % self.log_every == 0:
            # The checkpoint of such a step may be older than its row, which the first run has already written.
            self._training = DistributedSums()
        self.meter.start()

    def _set_learning_rates(self) -> None:
        """Sets the learning rates of the next step; a checkpoint has the rates for the length that the run had then."""
        schedule = self.lr_schedulers()
        assert isinstance(schedule, torch.optim.lr_scheduler.LambdaLR)
        groups = zip(schedule.optimizer.param_groups, schedule.base_lrs, schedule.lr_lambdas, strict=True)
        for group, peak, factor in groups:
            group["lr"] = peak * factor(schedule.last_epoch)

    def add_losses(self, parts: Mapping[str, Tensor], samples: int) -> None:
        """Adds the loss and its parts, means over a micro-batch of this rank, to the next row of the log."""
        # Micro-batches are of one size, so the mean of their means is the mean of the batch.
        self._training.add_means(parts, weight=1)
        self.samples += samples * self.trainer.world_size

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        if not self._ends_step(self.trainer.fit_loop.epoch_loop.batch_idx):
            return
        # after the step, the groups have the rates of the next one
        groups = self.trainer.optimizers[0].param_groups
        self._learning_rates = {group["part"]: group["lr"] for group in groups if not group.get("is_muons")}
        step = self.trainer.global_step + 1
        if step % self.log_every == 0 or step == self.total_steps:
            is_sharded = isinstance(self.trainer.strategy, ZeroStrategy)
            norms = gradient_norms(self.network, whole_gradient if is_sharded else lambda parameter: parameter.grad)
            self._gradient_norms = {f"gradient_norm_{part}": norm for part, norm in norms.items()}

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        if not isinstance(self.trainer.strategy, ZeroStrategy):  # ZeRO clips and skips steps itself
            self._gradient_norms["gradient_norm"] = self.skipped.clip(optimizer, gradient_clip_val or 0.0)

    def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
        self.log_if_due()
        self.meter.start_waiting()

    def _ends_step(self, batch_idx: int) -> bool:
        return (batch_idx + 1) % self.trainer.accumulate_grad_batches == 0

    def log_if_due(self) -> None:
        """Writes the row of this optimiser step, once; must be called before a checkpoint is saved."""
        step, strategy = self.trainer.global_step, self.trainer.strategy
        if isinstance(strategy, ZeroStrategy) and step > self._noted_step:
            self._gradient_norms["gradient_norm"], was_skipped = strategy.outcome_of_step()
            self.skipped.add(float(was_skipped))
            self._noted_step = step
        if step > self._logged_step and (step % self.log_every == 0 or step == self.total_steps):
            self._log_training()

    def require_finite(self, step: int) -> None:
        """Raises ValueError if too many steps in a row were skipped, or weights are no longer finite."""
        self.skipped.checked_total(step)
        if not all(bool(torch.isfinite(own_part(parameter)).all()) for parameter in self.network.parameters()):
            raise ValueError(
                f"weights are no longer finite after step {step}: lower optim.learning_rate; "
                "the last checkpoint is from before that"
            )

    def log_rest(self) -> None:
        """Writes the row of the steps since the last row, if there are any."""
        if self.trainer.global_step > self._logged_step:
            self._log_training()

    def on_train_end(self) -> None:
        self.log_rest()

    def _log_training(self) -> None:
        means, _ = means_of(self._training.take(self.trainer))
        row = {f"train/{name}": mean for name, mean in means.items()}
        rates = self._learning_rates
        rate = row["train/learning_rate"] = rates["decoder" if "decoder" in rates else "encoder"]
        if rates.get("encoder", rate) != rate:
            row["train/encoder_learning_rate"] = rates["encoder"]
        row |= {f"train/{name}": float(norm) for name, norm in self._gradient_norms.items()}
        self._gradient_norms.clear()
        row["train/skipped_steps"] = self.skipped.checked_total(self.trainer.global_step)
        row |= self._speed()
        self.write(row)
        self.shown = {name.removeprefix("train/"): row[name] for name in _SHOWN if name in row}
        self._logged_step = self.trainer.global_step
        self.meter.start()

    def _speed(self) -> dict[str, float]:
        """Returns the throughput of all ranks since the last row. Every rank must call it."""
        meter, strategy = self.meter, self.trainer.strategy
        device = strategy.root_device
        work, seconds = meter.work, meter.seconds
        rates = (work.decisions / seconds, work.tokens / seconds, work.flops / seconds, meter.waited / seconds)
        sums = torch.tensor([*rates, meter.peak or 0.0], dtype=torch.float64, device=device)
        samples, tokens, flops, waited, peak = strategy.reduce(sums, reduce_op="sum").tolist()
        memory = torch.tensor(peak_memory(device) / 1e9, dtype=torch.float64, device=device)
        row = {
            "train/samples_per_second": samples,
            "train/tokens_per_second": tokens,
            "train/flops_per_second": flops,
            "train/data_wait": waited / self.trainer.world_size,
            "train/memory_peak_gb": float(strategy.reduce(memory, reduce_op="max")),
        }
        return row if meter.peak is None else {**row, "train/share_of_peak": flops / peak}

    def on_validation_epoch_start(self) -> None:
        self._validation_start = time.perf_counter()

    def log_validation(self, row: Mapping[str, float]) -> None:
        """Writes the row of a validation; every rank must call it at its end, with the same metrics."""
        # For callbacks; all ranks have the same numbers, sync_dist only avoids a warning. With prog_bar Lightning would
        # wait for the device after each micro-batch.
        for name, mean in row.items():
            if name.startswith(PREFIX) and name != f"{PREFIX}rows":
                self.log(name, mean, logger=False, sync_dist=True)
        self.write(row)
        self.meter.exclude(time.perf_counter() - self._validation_start)

    def on_validation_end(self) -> None:
        self.meter.start_waiting()

    def write(self, row: Mapping[str, float]) -> None:
        for logger in self.trainer.loggers:
            logger.log_metrics({**row, "train/samples": float(self.samples)}, step=self.trainer.global_step)

    @property
    def _micro_batches_per_step(self) -> int:
        """Micro-batches of a step over all ranks."""
        return self.trainer.accumulate_grad_batches * self.trainer.world_size

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["samples"] = self.samples
        checkpoint["batches_per_step"] = self.trainer.accumulate_grad_batches
        checkpoint["micro_batches_per_step"] = self._micro_batches_per_step
        checkpoint["training_sums"] = self._training.state_dict(self.trainer)
        checkpoint["skipped"] = self.skipped.state_dict()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.samples = checkpoint["samples"]
        self._logged_step = checkpoint["global_step"]  # a validation before on_train_start may end the run
        # Lightning counts the batches of one process; a step has fewer of them if there are more processes now
        progress = checkpoint["loops"]["fit_loop"]["epoch_loop.batch_progress"]
        for counts in (progress["total"], progress["current"]):
            added = counts["ready"] // checkpoint["batches_per_step"] * self.trainer.accumulate_grad_batches
            added -= counts["ready"]
            counts.update({name: count + added for name, count in counts.items()})
        # each micro-batch has weight 1, and a step may have had more of them
        before = checkpoint["micro_batches_per_step"]
        share = self._micro_batches_per_step / before / self.trainer.world_size
        self._training.load_state_dict(checkpoint["training_sums"], share)
        self.skipped.load_state_dict(checkpoint["skipped"])


def logged(module: L.LightningModule) -> LoggedModule:
    """Returns the module of a callback as a `LoggedModule`."""
    assert isinstance(module, LoggedModule)
    return module
