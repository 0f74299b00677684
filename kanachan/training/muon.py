"""Muon for the matrices of encoder and decoder and AdamW for everything else, as one optimiser.

Muon steps along the momentum after making its singular values nearly equal, so that directions in which a matrix
rarely gets a gradient are learned as fast as the others. See https://kellerjordan.github.io/posts/muon/ for the method
and its polynomial, and https://arxiv.org/abs/2502.16982 for steps as long as AdamW's. torch.optim.Muon always computes
in bf16, which is ten to sixty times as slow as fp32 on a CPU without units for it; and it cannot skip a step unless
the CPU waits for the GPU.

Shapes: M, N rows and columns of a matrix.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.optim import AdamW

_MOMENTUM = 0.95
_POLYNOMIAL = (3.4445, -4.7750, 2.0315)
_ITERATIONS = 5
_LEAST_NORM = 1e-7
_LENGTH = 0.2
"""the usual root mean square of a step of AdamW, divided by the learning rate"""


class MuonWithAdamW(AdamW):
    """Muon and AdamW as one optimiser, which is constructed, saved, scheduled and made to skip a step (`found_inf`) as
    AdamW is.

    Args:
        groups: as `optimizers.parameter_groups` makes them; those in which `is_muons` is true are updated
            by Muon. In each, a step shrinks what decays by `lr` x `weight_decay`.
        betas: of AdamW.
    """

    def __init__(self, groups: list[dict[str, Any]], betas: tuple[float, float]) -> None:
        super().__init__(groups, betas=betas, fused=True)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        groups = self.param_groups
        self.param_groups = [group for group in groups if not group["is_muons"]]
        try:
            super().step()
        finally:
            self.param_groups = groups
        for group in groups:
            if group["is_muons"]:
                for matrix in group["params"]:
                    if matrix.grad is not None:
                        self._move(matrix, group["lr"], group["weight_decay"])
        return loss

    def _move(self, matrix_MN: Tensor, rate: float, decay: float) -> None:
        state = self.state[matrix_MN]
        if not state:
            # the number of steps, because AdamW expects it in a loaded state
            state["step"] = torch.zeros((), device=matrix_MN.device)
            state["momentum_buffer"] = torch.zeros_like(matrix_MN)
        momentum_MN, gradient_MN = state["momentum_buffer"], matrix_MN.grad
        assert gradient_MN is not None
        found_inf: Tensor | None = getattr(self, "found_inf", None)
        is_taken: Tensor | float = 1.0
        if found_inf is not None:
            # all on the device: lerping the momentum towards itself leaves it unchanged, and the step becomes zero
            gradient_MN = gradient_MN.where(found_inf == 0, momentum_MN)
            is_taken = 1 - found_inf
        state["step"] += is_taken
        momentum_MN.lerp_(gradient_MN, 1 - _MOMENTUM)
        step_MN = orthogonalize(gradient_MN.lerp(momentum_MN, _MOMENTUM))
        length = rate * _LENGTH * max(matrix_MN.shape) ** 0.5
        matrix_MN.mul_(1 - is_taken * rate * decay).sub_(step_MN * (is_taken * length))


def orthogonalize(matrix_MN: Tensor) -> Tensor:
    """Brings the singular values of a matrix near 1 (0.7 to 1.2) by the Newton-Schulz iteration."""
    is_tall = matrix_MN.shape[0] > matrix_MN.shape[1]
    wide = matrix_MN.T if is_tall else matrix_MN
    if wide.is_cuda:
        wide = wide.bfloat16()
    wide = wide / wide.norm().clamp(min=_LEAST_NORM)
    first, third, fifth = _POLYNOMIAL
    for _ in range(_ITERATIONS):
        square = wide @ wide.T
        wide = torch.addmm(wide, torch.addmm(square, square, square, beta=third, alpha=fifth), wide, beta=first)
    return (wide.T if is_tall else wide).to(matrix_MN.dtype)
