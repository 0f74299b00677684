"""Stage policy for Lightning: the network, the policies that it is kept near, the loss, and the validations."""

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from annotate.runtime.files import replacing
from kanachan.config import ModelConfig, OptimConfig
from kanachan.data.batch import Batch
from kanachan.models.transformer import Network, have_same_encoder
from kanachan.policy_config import PolicyConfig
from kanachan.reinforcement.policy_gradient import LogProbabilities, policy_gradient
from kanachan.training.distributed_sums import DistributedSums, mean_over_ranks, means_of
from kanachan.training.logged_module import PREFIX, LoggedModule
from kanachan.training.tempered_network import TemperedNetwork
from kanachan.training.throughput import count_flops

INIT_NAME = "init.safetensors"
"""name of the copy of --init in a run's folder, which a resumed run reads"""
_ENTROPY_RATE = 0.01
"""change of the entropy's weight after a step, for a difference of one nat from the entropy of --init"""


class PolicyModule(LoggedModule):
    """Trains a policy on decisions of an earlier policy.

    Args:
        policy: the policy that is trained.
        old: the policy that it started from.
        magnet: a further policy that it is kept near; None: `old`.
        model: the sizes of the network, from which its operations are counted.
        init: the weights of `old`, which are copied into the run's folder.
    """

    network: Network

    def __init__(
        self,
        policy: TemperedNetwork,
        old: TemperedNetwork,
        magnet: TemperedNetwork | None,
        config: PolicyConfig,
        optim: OptimConfig,
        total_steps: int,
        log_every: int,
        model: ModelConfig,
        init: Path | None = None,
    ) -> None:
        fixed = [old] if magnet is None else [old, magnet]
        trains_encoder = "encoder" not in optim.frozen
        # a frozen encoder is the one of `old`, also in a resumed run, whose weights are loaded later
        shares_encoder = not trains_encoder and all(have_same_encoder(old.network, each.network) for each in fixed[1:])
        work_of = partial(count_flops, model, trains_encoder=trains_encoder)
        super().__init__(policy.network, optim, total_steps, log_every, work_of)
        self.objective = policy.objective  # an attribute, so that its tables move with the module
        self.config = config
        self.entropy_weight: Tensor | float = 0.0
        self._policy, self._fixed, self._shares_encoder = policy, fixed, shares_encoder
        self._init = init
        self._entropy_gap: list[Tensor] = []
        self._sums = DistributedSums()

    def on_fit_start(self) -> None:
        copy = Path(self.trainer.default_root_dir) / INIT_NAME
        if self.trainer.is_global_zero and self._init is not None and self._init != copy:
            with replacing(copy) as temporary:
                shutil.copyfile(self._init, temporary)
        super().on_fit_start()

    def on_train_start(self) -> None:
        super().on_train_start()
        self._entropy_gap = []

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        parts = self._parts(batch)
        self._entropy_gap.append(parts.pop("old_entropy") - parts["entropy"])
        for name in ("row_weight", "change", "advantage_change"):
            del parts[name]
        parts["entropy_weight"] = torch.as_tensor(self.entropy_weight)
        self.add_losses(parts, len(batch))
        return parts["loss"]

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        super().on_before_optimizer_step(optimizer)
        if self._ends_step(self.trainer.fit_loop.epoch_loop.batch_idx):
            gap = mean_over_ranks(torch.stack(self._entropy_gap).mean(), self.trainer)
            # if the step is skipped because the loss is not finite, the gap may not be finite either
            self.entropy_weight = self.entropy_weight + _ENTROPY_RATE * gap.where(gap.isfinite(), 0.0)
            self._entropy_gap = []

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        parts = self._parts(batch)
        del parts["old_entropy"]
        self._sums.add_means(parts, weight=len(batch))

    def on_validation_epoch_end(self) -> None:
        means, count = means_of(self._sums.take(self.trainer))
        weight = means.pop("row_weight")
        means = {name: mean / weight for name, mean in means.items()}
        means["covariance"] = means.pop("advantage_change") - means["advantage"] * means.pop("change")
        self.log_validation({f"{PREFIX}{name}": mean for name, mean in means.items()} | {f"{PREFIX}rows": count})
        limit = self.config.kl_limit
        if means["divergence"] > limit and self.trainer.state.fn == "fit":
            self.trainer.should_stop = True
            if self.trainer.is_global_zero:
                print(
                    f"step {self.trainer.global_step:,}: the policy diverges by {means['divergence']:.4f} nats from "
                    f"that of --init, more than policy.kl_limit={limit}: the run ends here",
                    flush=True,
                )

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_save_checkpoint(checkpoint)
        checkpoint["entropy_weight"] = float(self.entropy_weight)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_load_checkpoint(checkpoint)
        self.entropy_weight = checkpoint["entropy_weight"]

    def _parts(self, batch: Batch) -> dict[str, Tensor]:
        with torch.no_grad():
            encoded = self.network.encoded(batch) if self._shares_encoder else None
            old_BA, *others = (each.to(self.device)(batch, encoded) for each in self._fixed)
        log = LogProbabilities(self._policy(batch, encoded), old_BA, others[0] if others else old_BA)
        return policy_gradient(self.config, log, batch, self.entropy_weight)
