"""Stage critic for Lightning: the network of the critic, its loss, and its validations.

Shapes: B decisions, S seats.
"""

from functools import partial

import torch
from torch import Tensor

from kanachan.config import ModelConfig, OptimConfig
from kanachan.data.batch import Batch
from kanachan.reinforcement.critic_network import CriticNetwork
from kanachan.training.distributed_sums import DistributedSums, means_of
from kanachan.training.logged_module import PREFIX, LoggedModule, moments, with_explained_variance
from kanachan.training.throughput import count_flops


class CriticModule(LoggedModule):
    """Trains a critic by the squared error of the returns of all seats, in squared units of the utility.

    Decisions whose return is not known (NaN) count as predicted in training, so that a batch has the same loss however
    it is shared out, and not at all in validations, which measure the loss and the explained variance of the actor's
    return.

    Args:
        total_steps, log_every: as for `LoggedModule`.
        model: the sizes of the network, from which its floating-point operations are computed for the log.
    """

    network: CriticNetwork

    def __init__(
        self, network: CriticNetwork, model: ModelConfig, optim: OptimConfig, total_steps: int, log_every: int
    ) -> None:
        super().__init__(network, optim, total_steps, log_every, partial(count_flops, model, has_decoder=False))
        self._sums = DistributedSums()

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        error_BS, _ = self._errors(batch)
        loss = error_BS.square().mean()
        self.add_losses({"loss": loss.detach()}, len(batch))
        return loss

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        error_BS, is_known_B = self._errors(batch)
        assert batch.label_BL is not None
        count = int(is_known_B.sum())
        target_B = batch.label_BL[:, 0].where(is_known_B, 0.0)
        sums = {f"{PREFIX}loss": error_BS.square().mean(dim=1)}
        sums |= moments(target_B, target_B.square(), error_BS[:, 0].square())
        self._sums.add_means({name: of_B.sum() / max(count, 1) for name, of_B in sums.items()}, weight=count)

    @torch.no_grad()
    def on_validation_epoch_end(self) -> None:
        row, count = means_of(self._sums.take(self.trainer))
        self.log_validation({**with_explained_variance(row), f"{PREFIX}rows": count})

    def _errors(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns error_BS, 0 where the return is not known, and where it is known [B]."""
        assert batch.label_BL is not None
        is_known_B = batch.label_BL.isfinite().all(dim=1)
        return (self.network(batch) - batch.label_BL).where(is_known_B[:, None], 0.0), is_known_B
