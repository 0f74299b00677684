"""The progress of a run on the terminal."""

import os
import sys
import time
from typing import Any

import lightning as L
from tqdm import tqdm

from kanachan.training.best_weights import validation_metrics
from kanachan.training.logged_module import logged
from kanachan.training.metric_names import metrics_text

_SECONDS_BETWEEN_LINES = 30


class Progress(L.Callback):
    """Shows a progress bar on a terminal; elsewhere prints a line at intervals. `samples`: what a batch consists of, in
    words."""

    def __init__(self, total_steps: int, samples: str = "decisions") -> None:
        self.total_steps = total_steps
        self._samples = samples
        self._bar: tqdm | None = None
        # On a terminal without a size (some containers) a bar would not be visible.
        self._is_terminal = sys.stderr.isatty() and os.get_terminal_size(sys.stderr.fileno()).lines > 1
        self._validation_loss: dict[str, float] = {}
        self._first_step = 0
        self._started = self._shown = 0.0

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._first_step = trainer.global_step
        self._started = self._shown = time.monotonic()
        if self._is_terminal and trainer.is_global_zero:
            self._bar = tqdm(
                total=self.total_steps, initial=self._first_step, unit="step", dynamic_ncols=True, file=sys.stderr
            )

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if (batch_idx + 1) % trainer.accumulate_grad_batches or not trainer.is_global_zero:
            return
        if self._bar is not None:
            self._bar.update(trainer.global_step - self._bar.n)
            self._bar.set_postfix(self._shown_metrics(pl_module), refresh=False)
        elif time.monotonic() - self._shown > _SECONDS_BETWEEN_LINES:
            self._shown = time.monotonic()
            self._print_line(trainer, pl_module)

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        metrics = validation_metrics(trainer)
        self._validation_loss = {"validation_loss": metrics["loss"]}
        if trainer.is_global_zero:
            tqdm.write(f"step {trainer.global_step}: validation: {metrics_text(metrics)}", file=sys.stderr)

    def teardown(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _print_line(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        steps = trainer.global_step - self._first_step
        seconds_per_step = (time.monotonic() - self._started) / steps
        left = tqdm.format_interval(seconds_per_step * (self.total_steps - trainer.global_step))
        metrics = "".join(f", {name} {value}" for name, value in self._shown_metrics(pl_module).items())
        tqdm.write(f"step {trainer.global_step} of {self.total_steps}{metrics}, {left} left", file=sys.stderr)

    def _shown_metrics(self, pl_module: L.LightningModule) -> dict[str, str]:
        metrics = {**logged(pl_module).shown, **self._validation_loss}
        return {
            name: f"{metrics[key]:.{digits}f}"
            for name, key, digits in (
                ("loss", "loss", 4),
                ("validation loss", "validation_loss", 4),
                (f"{self._samples}/s", "samples_per_second", 0),
                ("share of peak speed", "share_of_peak", 2),
            )
            if key in metrics
        }
