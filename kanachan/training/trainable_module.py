"""The interface between the callbacks of a run and the module that it trains, so that other learners can use them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType

import lightning as L
from torch import nn


class TrainableModule(L.LightningModule, ABC):
    """A LightningModule whose runs are averaged, checkpointed, resumed and logged by this package.

    In addition to these members, it logs `validation/loss` and any other metrics of a validation under `validation/…`
    with `LightningModule.log`.
    """

    network: nn.Module
    """the network whose parameters are averaged and whose tensors the weights file holds"""
    samples: int
    """samples seen so far over all ranks: the axis of the log"""

    shown: Mapping[str, float] = MappingProxyType({})
    """the latest loss and speed, for the terminal"""

    @abstractmethod
    def log_if_due(self) -> None:
        """Writes the row of this optimiser step to the log, once, if it is due; called before a checkpoint."""

    @abstractmethod
    def require_finite(self, step: int) -> None:
        """Raises ValueError if weights or recent gradients are not finite; called before a checkpoint."""


def trainable(module: L.LightningModule) -> TrainableModule:
    """Returns the module of a callback as a `TrainableModule`."""
    assert isinstance(module, TrainableModule)
    return module
