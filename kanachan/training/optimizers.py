"""The optimiser: parameter groups, learning rates, clipping, skipped steps."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from kanachan.config import OptimConfig
from kanachan.training.muon import MuonWithAdamW

ADAM_STATES = ("exp_avg", "exp_avg_sq")
BETAS = (0.9, 0.98)
"""AdamW's decays of the moments"""
_MUON_FACTOR = 3.0
"""learning rate of Muon's matrices, as a multiple of the rest's learning rate"""


def make_optimizer(network: nn.Module, optim: OptimConfig) -> torch.optim.Optimizer:
    kind = MuonWithAdamW if optim.optimizer == "muon" else torch.optim.AdamW
    return kind(parameter_groups(network, optim), betas=BETAS, fused=True)


def freeze(network: nn.Module, parts: Sequence[str]) -> None:
    """Excludes parts of a network from training. Raises ValueError if it lacks one of them, or if nothing is left."""
    for part in parts:
        module = getattr(network, part)
        if module is None:
            raise ValueError(f"optim.frozen: this network has no {part}, which only stages with values have")
        module.requires_grad_(False)
    if not any(parameter.requires_grad for parameter in network.parameters()):
        raise ValueError("optim.frozen leaves nothing to train")


def parameter_groups(network: nn.Module, optim: OptimConfig) -> list[dict[str, Any]]:
    """Groups parameters for the optimiser: encoder and the rest; matrices with weight decay and all other parameters
    without; for Muon, the matrices of encoder and decoder (`is_muons`) and the matrices of the heads.

    Each group has a `part`, "encoder" or "decoder". Frozen parameters are in no group.
    """
    embeddings = {id(part.weight) for part in network.modules() if isinstance(part, nn.Embedding)}
    groups: dict[tuple[bool, bool, bool], list[nn.Parameter]] = {}
    for name, parameter in network.named_parameters():
        if parameter.requires_grad:
            decays = parameter.ndim == 2 and id(parameter) not in embeddings
            is_muons = decays and optim.optimizer == "muon" and name.startswith(("encoder.", "decoder."))
            groups.setdefault((_is_encoder(name), decays, is_muons), []).append(parameter)
    encoder_rate = optim.learning_rate if optim.encoder_learning_rate is None else optim.encoder_learning_rate
    return [
        {
            "params": parameters,
            "part": "encoder" if is_encoder else "decoder",
            "is_muons": is_muons,
            "lr": (encoder_rate if is_encoder else optim.learning_rate) * (_MUON_FACTOR if is_muons else 1),
            "weight_decay": optim.weight_decay if decays else 0.0,
        }
        for (is_encoder, decays, is_muons), parameters in sorted(groups.items(), reverse=True)
    ]


def learning_rate_factor(optim: OptimConfig, total_steps: int) -> Callable[[int], float]:
    """Returns the schedule of the learning rate, as a function from the step to the fraction of the peak: a linear
    warm-up over `OptimConfig.warmup_steps`, the peak, and from `OptimConfig.cooldown_start` a linear fall to zero,
    which would be reached in the step after the last."""
    warmup, start = optim.warmup_steps(total_steps), optim.cooldown_start(total_steps)

    def factor(step: int) -> float:
        warm = min(1.0, (step + 1) / warmup) if warmup else 1.0
        cool = min(1.0, max(0, total_steps - step) / (total_steps - start)) if start < total_steps else 1.0
        return warm * cool

    return factor


def gradient_norms(network: nn.Module, gradient_of: Callable[[nn.Parameter], Tensor | None]) -> dict[str, Tensor]:
    """Computes the gradient norm of the encoder and of the rest, where they have gradients."""
    norms: dict[str, list[Tensor]] = {"encoder": [], "decoder": []}
    for name, parameter in network.named_parameters():
        # one at a time: a whole gradient may have to be gathered from other processes
        gradient = gradient_of(parameter) if parameter.requires_grad else None
        if gradient is not None:
            norms["encoder" if _is_encoder(name) else "decoder"].append(torch.linalg.vector_norm(gradient))
    return {part: torch.linalg.vector_norm(torch.stack(of_part)) for part, of_part in norms.items() if of_part}


def _is_encoder(name: str) -> bool:
    return name.startswith("encoder.")


class SkippedSteps:
    """Counts steps that were skipped because their gradient was not finite. Counts on the device, so that it never
    waits for the device. `limit` skipped steps in a row end the run."""

    def __init__(self, limit: int = 10) -> None:
        self.limit = limit
        self._total: Tensor | float = 0.0
        self._in_a_row: Tensor | float = 0.0
        self._longest: Tensor | float = 0.0

    def clip(self, optimizer: torch.optim.Optimizer, max_norm: float) -> Tensor:
        """Clips the gradients to `max_norm` (0: no clipping), and makes the optimiser skip its next step if they are
        not finite; returns their norm before clipping."""
        gradients = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        norm = nn.utils.get_total_norm([p.grad for p in gradients])
        if max_norm:
            nn.utils.clip_grads_with_norm_(gradients, max_norm, norm)
        is_skipped = (~torch.isfinite(norm)).float()
        optimizer.found_inf = is_skipped  # type: ignore[attr-defined]
        self.add(is_skipped)
        return norm

    def add(self, is_skipped: Tensor | float) -> None:
        """Counts a step: 1 if it was skipped, else 0."""
        self._total = self._total + is_skipped
        self._in_a_row = (self._in_a_row + is_skipped) * is_skipped
        self._longest = torch.maximum(torch.as_tensor(self._longest), torch.as_tensor(self._in_a_row))

    def checked_total(self, step: int) -> int:
        """Returns the number of skipped steps up to `step`. Raises ValueError if too many were skipped in a row."""
        if float(self._longest) >= self.limit:
            raise ValueError(
                f"gradients were not finite in {int(float(self._longest))} optimiser steps in a row before step "
                f"{step}, and these steps were skipped: lower optim.learning_rate, or check the data; the last "
                "checkpoint is from before"
            )
        self._longest = self._in_a_row
        return int(float(self._total))

    def state_dict(self) -> dict[str, float]:
        return {"total": float(self._total), "in_a_row": float(self._in_a_row)}

    def load_state_dict(self, state: Mapping[str, float]) -> None:
        self._total, self._in_a_row = state["total"], state["in_a_row"]
        self._longest = self._in_a_row
