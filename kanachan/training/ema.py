"""An exponential moving average of the weights; if configured, it is validated and written instead of the weights.

Training itself continues with the weights; the average is updated after each step and replaces them only during a
validation.
"""

from collections.abc import Mapping
from typing import Any

import lightning as L
import torch
from torch import Tensor

from kanachan.training.logged_module import logged
from kanachan.training.strategies import with_network_prefix

_STATE, _FORGETS = "average", "forgets"
_STATE_KEY = "Average"  # key of this callback in checkpoints, independent of the class name


class EMA(L.Callback):
    """Averages the network's parameters, from before the first step on: after each step they enter with weight
    1 - decay. If the average `forgets` its start, of which a part has not learned yet, after step t with weight
    1 - min(decay, (1 + t) / (10 + t)).

    Must come after all callbacks that read a validation, so that the network still has the average when they run, and
    before callbacks that write checkpoints at the end of a step.
    """

    def __init__(self, decay: float, *, forgets: bool) -> None:
        self.decay = decay
        self.forgets = forgets
        self.average: dict[str, Tensor] = {}
        self._own: dict[str, Tensor] = {}

    @property
    def state_key(self) -> str:
        return _STATE_KEY

    def state_dict(self) -> dict[str, Any]:
        return {_STATE: self.average, _FORGETS: self.forgets}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.average, self.forgets = state_dict[_STATE], state_dict[_FORGETS]

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        parameters = _parameters(pl_module)
        initial = self.average or parameters
        self.average = {name: initial[name].to(p.device, copy=True) for name, p in parameters.items()}

    @torch.no_grad()
    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if (batch_idx + 1) % trainer.accumulate_grad_batches:
            return
        step = trainer.global_step
        parameters = _parameters(pl_module)
        weight = 1 - (min(self.decay, (1 + step) / (10 + step)) if self.forgets else self.decay)
        torch._foreach_lerp_([self.average[name] for name in parameters], list(parameters.values()), weight)

    @torch.no_grad()
    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        parameters = _parameters(pl_module)
        self._own = {name: parameter.clone() for name, parameter in parameters.items()}
        for name, parameter in parameters.items():
            parameter.copy_(self.average[name])

    def on_save_checkpoint(self, trainer: L.Trainer, pl_module: L.LightningModule, checkpoint: dict[str, Any]) -> None:
        # during a validation the network has the average, but checkpoints need the weights
        checkpoint["state_dict"].update(with_network_prefix(self._own))

    @torch.no_grad()
    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        for name, parameter in _parameters(pl_module).items():
            parameter.copy_(self._own[name])
        self._own = {}


def averaged(tensors: Mapping[str, Tensor], checkpoint: Mapping[str, Any]) -> dict[str, Tensor]:
    """Returns the tensors of a network, replaced by the average in the checkpoint if there is one."""
    return {**tensors, **checkpoint["callbacks"].get(_STATE_KEY, {}).get(_STATE, {})}


def _parameters(module: L.LightningModule) -> dict[str, Tensor]:
    return {name: parameter.detach() for name, parameter in logged(module).network.named_parameters()}
