"""Muon for the matrices of encoder and decoder and AdamW for everything else, as one optimiser.

Muon steps along the momentum after making its singular values nearly equal, so that directions in which a matrix
rarely gets a gradient are learned as fast as the others. See https://kellerjordan.github.io/posts/muon/ for the method
and its polynomial, and https://arxiv.org/abs/2502.16982 for steps as long as AdamW's. torch.optim.Muon computes one
matrix at a time, and always in bf16, which is ten to sixty times as slow as fp32 on a CPU without bf16 units; and it
cannot skip a step unless the CPU waits for the GPU.

Matrices of one shape are computed together. Several processes, which have the same gradients, divide the matrices among
themselves and gather the steps, so that all processes change their weights by the same bits.

Shapes: K matrices of one shape, M, N rows and columns of a matrix.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim import AdamW

aten = torch.ops.aten
_MOMENTUM = 0.95
_POLYNOMIAL = (3.4445, -4.7750, 2.0315)
_ITERATIONS = 5
_LEAST_NORM = 1e-7
_LENGTH = 0.2
"""the usual root mean square of a step of AdamW, divided by the learning rate"""


class MuonWithAdamW(AdamW):
    """Muon and AdamW as one optimiser, which is constructed, saved, scheduled and made to skip a step (`found_inf`)
    like AdamW. Takes groups from `optimizers.parameter_groups`, and updates groups in which `is_muons` is true by Muon.
    In each group, a step shrinks the weights by `lr` x `weight_decay`."""

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
        self._move([group for group in groups if group["is_muons"]])
        return loss

    def _move(self, groups: list[dict[str, Any]]) -> None:
        """Updates the matrices that have gradients."""
        alike: dict[tuple[torch.Size, float, float], list[nn.Parameter]] = {}
        for group in groups:
            for matrix in group["params"]:
                if matrix.grad is not None:
                    alike.setdefault((matrix.shape, group["lr"], group["weight_decay"]), []).append(matrix)
        if not alike:
            return
        found_inf: Tensor | None = getattr(self, "found_inf", None)
        if found_inf is None:
            found_inf = torch.zeros((), device=groups[0]["params"][0].device)
        is_taken, is_finite = 1 - found_inf, found_inf == 0
        first_rank = 0
        for (shape, rate, decay), matrices in alike.items():
            step_KMN = self._advance(matrices, is_taken, is_finite)
            moved_K = _shared_out(step_KMN, first_rank)
            first_rank += len(matrices)  # so that the largest share goes to different processes
            # aten's overloads, because torch._foreach_mul_ would read a one-element tensor and wait for the GPU
            aten._foreach_mul_.Tensor(matrices, 1 - is_taken * rate * decay)
            length = is_taken * (rate * _LENGTH * max(shape) ** 0.5)
            aten._foreach_sub_.List(matrices, aten._foreach_mul.Tensor(moved_K, length))

    def _advance(self, matrices: list[nn.Parameter], is_taken: Tensor, is_finite: Tensor) -> Tensor:
        """Updates the momenta of matrices of one shape; returns step_KMN, not yet orthogonal. `is_taken` is 0 if the
        step is skipped, else 1, and `is_finite` is the same as a boolean."""
        for matrix in matrices:
            if not self.state[matrix]:
                # the number of steps, because AdamW expects it in a loaded state
                self.state[matrix]["step"] = torch.zeros((), device=matrix.device)
                self.state[matrix]["momentum_buffer"] = torch.zeros_like(matrix)
        momenta = [self.state[matrix]["momentum_buffer"] for matrix in matrices]
        momentum_KMN = torch.stack(momenta)
        gradient_KMN = torch.stack([matrix.grad for matrix in matrices if matrix.grad is not None])
        # all on the device: lerping the momentum towards itself leaves it unchanged, and the step becomes zero
        gradient_KMN = gradient_KMN.where(is_finite, momentum_KMN)
        aten._foreach_add_.Tensor([self.state[matrix]["step"] for matrix in matrices], is_taken)
        momentum_KMN.lerp_(gradient_KMN, 1 - _MOMENTUM)
        torch._foreach_copy_(momenta, momentum_KMN.unbind())
        return gradient_KMN.lerp(momentum_KMN, _MOMENTUM)


def _shared_out(matrix_KMN: Tensor, first_rank: int) -> list[Tensor]:
    """Makes matrices orthogonal, each in one process, and returns all of them in every process. `first_rank`: rank
    of the process that takes the first matrices."""
    world = dist.get_world_size() if dist.is_initialized() else 1
    if world == 1:
        return list(orthogonalize(matrix_KMN).to(matrix_KMN.dtype).unbind())
    share = -(-len(matrix_KMN) // world)
    first = (dist.get_rank() - first_rank) % world * share
    mine_KMN = orthogonalize(matrix_KMN[first : first + share])
    padded = mine_KMN.new_zeros(share, *mine_KMN.shape[1:])
    padded[: len(mine_KMN)] = mine_KMN
    gathered = padded.new_empty(world * share, *padded.shape[1:])
    dist.all_gather_single(gathered, padded)
    by_rank = gathered.to(matrix_KMN.dtype).view(world, share, *matrix_KMN.shape[1:])
    return [by_rank[(number // share + first_rank) % world, number % share] for number in range(len(matrix_KMN))]


def orthogonalize(matrix_KMN: Tensor) -> Tensor:
    """Brings the singular values of matrices near 1 (0.7 to 1.2) by the Newton-Schulz iteration; on a GPU, in bf16."""
    is_tall = matrix_KMN.shape[-2] > matrix_KMN.shape[-1]
    wide = matrix_KMN.mT if is_tall else matrix_KMN
    if wide.is_cuda:
        wide = wide.bfloat16()
    wide = wide / torch.linalg.matrix_norm(wide, keepdim=True).clamp(min=_LEAST_NORM)
    first, third, fifth = _POLYNOMIAL
    for _ in range(_ITERATIONS):
        square = wide @ wide.mT
        wide = torch.baddbmm(wide, torch.baddbmm(square, square, square, beta=third, alpha=fifth), wide, beta=first)
    return wide.mT if is_tall else wide
