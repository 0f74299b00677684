"""What the callbacks of a run need of the module that it trains, so that a second learner can use them."""

from typing import Protocol, runtime_checkable

import lightning as L
from torch import nn


@runtime_checkable
class TrainableModule(Protocol):
    """A LightningModule whose runs are averaged, checkpointed, resumed and logged by this package.

    Besides what is listed here it logs `validation/loss`, and whatever else is to be shown of a validation under
    `validation/…`, with `LightningModule.log`.
    """

    network: nn.Module
    """whose parameters are averaged and whose tensors the weights file holds"""
    samples: int
    """what it was trained on so far, over all ranks: the axis of the log"""

    def log_if_due(self) -> None:
        """Writes the row of this optimiser step to the log, once, if it is due: before a checkpoint of the step."""

    def require_finite(self, step: int) -> None:
        """Raises ValueError if the checkpoint of this step would hold weights, or stand for gradients, that are not
        finite."""


def trainable(module: L.LightningModule) -> TrainableModule:
    """Returns the module of a callback by what the callback needs of it."""
    assert isinstance(module, TrainableModule)
    return module
