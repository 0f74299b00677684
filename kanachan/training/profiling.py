"""Profiles some steps of a run with torch's profiler."""

from pathlib import Path
from typing import Any

import lightning as L
from torch.profiler import ProfilerActivity, profile

from annotate.runtime.files import replacing

TABLE_NAME = "profile.txt"
TRACE_NAME = "profile.json.gz"
_UNPROFILED_STEPS = 5
"""first steps, in which kernels are chosen and memory is allocated"""
_ROWS = 50


class StepProfiler(L.Callback):
    """Profiles optimiser steps of the first process; writes a table of operations and a trace for chrome://tracing or
    ui.perfetto.dev into the folder of the run."""

    def __init__(self, folder: Path, steps: int) -> None:
        self.folder = folder
        self.steps = steps
        self._first: int | None = None
        self._profile: profile | None = None

    def on_train_batch_start(
        self, trainer: L.Trainer, pl_module: L.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        if self._first is None:
            last = trainer.max_steps - 1
            self._first = min(trainer.global_step + _UNPROFILED_STEPS, last)
        begins = trainer.global_step == self._first and batch_idx % trainer.accumulate_grad_batches == 0
        if begins and trainer.is_global_zero:
            is_gpu = trainer.strategy.root_device.type == "cuda"
            activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if is_gpu else [])]
            self._profile = profile(activities=activities, record_shapes=True)
            self._profile.start()

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if self._first is not None and trainer.global_step == self._first + self.steps:
            self._write(trainer)

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._write(trainer)  # if the run has ended before the last profiled step

    def _write(self, trainer: L.Trainer) -> None:
        if self._profile is None:
            return
        self._profile.stop()
        order = f"self_{trainer.strategy.root_device.type}_time_total"
        with replacing(self.folder / TABLE_NAME) as temporary:
            table = self._profile.key_averages().table(sort_by=order, row_limit=_ROWS)
            temporary.write_text(table, encoding="utf-8")
        partial = self.folder / f".part-{TRACE_NAME}"  # torch compresses a file whose name ends in .gz
        self._profile.export_chrome_trace(str(partial))
        partial.replace(self.folder / TRACE_NAME)
        self._profile = None
        print(f"profile: {self.folder / TABLE_NAME}, {self.folder / TRACE_NAME}", flush=True)
