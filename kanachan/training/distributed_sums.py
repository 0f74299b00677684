"""Sums over the batches of all processes, accumulated on the devices without waiting for them."""

import math
from collections.abc import Mapping

import lightning as L
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Addend = Tensor | float
_WEIGHT = "weight"


class DistributedSums:
    """Sums of tensors by name, held on their device in fp64 and reduced over all ranks in one operation.

    All ranks add tensors of the same names and shapes.
    """

    def __init__(self) -> None:
        self._sums: dict[str, Addend] = {}

    def add(self, addends: Mapping[str, Addend]) -> None:
        """Adds a tensor, or a number, to the sum of each name."""
        for name, addend in addends.items():
            self._sums[name] = self._sums.get(name, 0.0) + _exact(addend)

    def add_means(self, means: Mapping[str, Tensor], weight: float) -> None:
        """Adds means over `weight` rows; `means_of` returns the means over all rows."""
        self.add({name: _exact(mean) * weight for name, mean in means.items()})
        self.add({_WEIGHT: weight})

    def totals(self, trainer: L.Trainer) -> dict[str, NDArray[np.float64]]:
        """Returns the sums over all ranks, by name. Every rank must call it."""
        device = trainer.strategy.root_device
        names = sorted(self._sums)
        sums = [torch.as_tensor(self._sums[name], dtype=torch.float64, device=device) for name in names]
        if not sums:
            return {}
        packed = trainer.strategy.reduce(torch.cat([tensor.flatten() for tensor in sums]), reduce_op="sum")
        parts = np.split(packed.cpu().numpy(), np.cumsum([math.prod(tensor.shape) for tensor in sums[:-1]], dtype=int))
        return {name: part.reshape(tensor.shape) for name, part, tensor in zip(names, parts, sums, strict=True)}

    def take(self, trainer: L.Trainer) -> dict[str, NDArray[np.float64]]:
        """Returns the totals and resets the sums to zero. Every rank must call it."""
        totals = self.totals(trainer)
        self._sums = {}
        return totals

    def state_dict(self, trainer: L.Trainer) -> tuple[dict[str, float], float]:
        """Returns the totals of scalars that were added as means, and their weight. Every rank must call it."""
        totals = {name: float(total) for name, total in self.totals(trainer).items()}
        weight = totals.pop(_WEIGHT, 0.0)
        return totals, weight

    def load_state_dict(self, state: tuple[Mapping[str, float], float], share: float) -> None:
        """Restores this rank's share of the totals that `state_dict` has returned."""
        totals, weight = state
        self._sums = {name: total * share for name, total in totals.items()}
        self._sums[_WEIGHT] = weight * share


def means_of(totals: Mapping[str, NDArray[np.float64]]) -> tuple[dict[str, float], float]:
    """Returns the means over all rows added by `add_means`, and the number of rows."""
    weight = float(totals[_WEIGHT])
    return {name: float(total) / weight for name, total in totals.items() if name != _WEIGHT}, weight


def mean_over_ranks(tensor: Tensor, trainer: L.Trainer) -> Tensor:
    """Returns the mean of a tensor over all ranks, without waiting for the device as Lightning's barrier does. Every
    rank must call it."""
    if trainer.world_size == 1:
        return tensor
    total = tensor.clone()
    torch.distributed.all_reduce(total)
    return total / trainer.world_size


def _exact(addend: Addend) -> Addend:
    """Detaches a tensor and converts it to the type of sums."""
    return addend.detach().double() if isinstance(addend, Tensor) else addend
