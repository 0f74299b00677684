"""The weights with the lowest validation loss of a run."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import lightning as L
from torch import Tensor

from kanachan.models.card import read_card
from kanachan.training.checkpointing import Schedule
from kanachan.training.logged_module import PREFIX
from kanachan.training.strategies import network_tensors


class BestCheckpoint(L.Callback):
    """Keeps the weights with the lowest validation loss so far; stops the run when the loss stops falling. The weights
    stay in memory until the next checkpoint is written, so that their file matches the checkpoint.

    Args:
        write: writes a weights file, given its path, the tensors, the metrics of their validation and their step.
        patience: validations without a lower loss after which the run stops; None for never.
        schedule: its last step is where the run ends otherwise.
    """

    def __init__(
        self,
        path: Path,
        write: Callable[[Path, Mapping[str, Tensor], dict[str, float], int], None],
        patience: int | None,
        schedule: Schedule,
    ) -> None:
        self.path = path
        self.patience = patience
        self.schedule = schedule
        self._write = write
        self._unwritten: dict[str, Tensor] | None = None
        self.metrics: dict[str, float] = {}
        """metrics of the best validation"""
        self.step: int | None = None
        self.latest: tuple[int, dict[str, float]] = (-1, {})
        """step and metrics of the latest validation of this process"""
        self._fruitless = 0
        self._has_new_schedule = False
        self._counted = -1
        """step of the latest validation; a resumed run may repeat it"""

    def state_dict(self) -> dict[str, Any]:
        counts = {"fruitless": self._fruitless, "counted": self._counted}
        return {"metrics": self.metrics, "step": self.step, **counts}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.metrics, self.step = state_dict["metrics"], state_dict["step"]
        self._fruitless, self._counted = state_dict["fruitless"], state_dict.get("counted", -1)
        if self.patience is not None and self._fruitless >= self.patience and self._has_new_schedule:
            self._fruitless = 0  # a run that has stopped early is trained further, or cooled down
        if self.step is not None and not (self.path.is_file() and read_card(self.path)["steps"] == self.step):
            self.metrics, self.step = {}, None  # a better step after the checkpoint has replaced the weights

    def on_load_checkpoint(self, trainer: L.Trainer, pl_module: L.LightningModule, checkpoint: dict[str, Any]) -> None:
        self._has_new_schedule = Schedule(*checkpoint["schedule"]) != self.schedule  # before load_state_dict

    def on_save_checkpoint(self, trainer: L.Trainer, pl_module: L.LightningModule, checkpoint: dict[str, Any]) -> None:
        self.write()

    def write(self) -> None:
        """Writes the file if it is not yet written. Only the first process does."""
        if self._unwritten is not None:
            assert self.step is not None
            self._write(self.path, self._unwritten, self.metrics, self.step)
            self._unwritten = None

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        metrics = validation_metrics(trainer)
        self.latest = (trainer.global_step, metrics)
        is_repeated, self._counted = trainer.global_step == self._counted, trainer.global_step
        if not math.isfinite(metrics["loss"]):
            self.write()
            best = "" if self.step is None else f"; {self.path} has the weights of step {self.step}, the best so far"
            raise ValueError(
                f"the validation loss after step {trainer.global_step} is not finite ({metrics['loss']}): "
                f"lower optim.learning_rate, and start a new run{best}"
            )
        if not self.metrics or metrics["loss"] < self.metrics["loss"]:
            self.metrics, self.step, self._fruitless = metrics, trainer.global_step, 0
            tensors = network_tensors(trainer)
            if trainer.is_global_zero:
                self._unwritten = {name: tensor.detach().to("cpu", copy=True) for name, tensor in tensors.items()}
            return
        self._fruitless += not is_repeated
        if self.patience is not None and self._fruitless >= self.patience:
            trainer.should_stop = True
            if trainer.is_global_zero and trainer.global_step < self.schedule.last_step:
                print(
                    f"step {trainer.global_step}: no lower validation loss in {self._fruitless} validations "
                    "(run.early_stopping): the run ends here",
                    flush=True,
                )


def validation_metrics(trainer: L.Trainer) -> dict[str, float]:
    """Returns the metrics of the latest validation, without their prefix."""
    found = trainer.callback_metrics.items()
    return {name.removeprefix(PREFIX): float(value) for name, value in found if name.startswith(PREFIX)}
