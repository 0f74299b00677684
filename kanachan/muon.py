"""Muon for the matrices of the blocks and AdamW for everything else, as one optimiser.

Muon steps along the momentum with all its singular values made equal, so that directions in which a matrix rarely gets
a gradient are learned as fast as the others. See https://kellerjordan.github.io/posts/muon/ for the method, and
https://arxiv.org/abs/2502.16982 for steps as long as AdamW's.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim import AdamW, Muon, Optimizer


class MuonWithAdamW(Optimizer):
    """Both of torch's optimisers on one list of groups, with one state; made, saved and scheduled like any other.

    Args:
        groups: as `kanachan.optimisation.parameter_groups` makes them; those in which `is_hidden_matrix` is true are
            Muon's, and `weight_decay` and `lr` mean the same in all.
        betas: AdamW's.
    """

    found_inf: Tensor
    """set by whoever clips: other than 0 if the next step is to be left out"""

    def __init__(self, groups: list[dict[str, Any]], betas: tuple[float, float]) -> None:
        super().__init__(groups, {})
        hidden, rest = _parted(self.param_groups)
        # these fill their own settings into the groups, which are the same objects here and there
        self._muon = Muon(hidden, adjust_lr_fn="match_rms_adamw")
        self._adamw = AdamW(rest, betas=betas, fused=True)
        self._share()

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        found_inf = getattr(self, "found_inf", None)
        self._adamw.found_inf = found_inf  # type: ignore[attr-defined]
        # torch's Muon cannot leave out a step by itself, and not-a-number would stay in its momentum
        if found_inf is None or not float(found_inf):
            self._muon.step()  # type: ignore[no-untyped-call]
        self._adamw.step()
        return loss

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        super().load_state_dict(dict(state_dict))
        self._share()  # the groups and the state are new objects now

    def _share(self) -> None:
        self._muon.param_groups, self._adamw.param_groups = _parted(self.param_groups)
        self._muon.state = self._adamw.state = self.state


def _parted(groups: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    hidden = [group for group in groups if group["is_hidden_matrix"]]
    return hidden, [group for group in groups if not group["is_hidden_matrix"]]
