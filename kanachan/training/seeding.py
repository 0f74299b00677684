"""Seeds the random numbers of training."""

from hashlib import sha256
from typing import Any

import lightning as L
import torch


class DeterministicSeeding(L.Callback):
    """Seeds the random numbers of a micro-batch only by its position in the run, so that no state has to be saved."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def on_train_batch_start(
        self, trainer: L.Trainer, pl_module: L.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        # micro-batches of a step are distributed in turn, so their numbers do not depend on the number of processes
        number = batch_idx % trainer.accumulate_grad_batches * trainer.world_size + trainer.global_rank
        position = (self.seed, trainer.global_step, number)
        seed = int.from_bytes(sha256(repr(position).encode()).digest()[:8], "big", signed=True)
        # torch.manual_seed takes half a millisecond: it records a stack trace for each kind of device not in use
        torch.default_generator.manual_seed(seed)
        if pl_module.device.type == "cuda":
            torch.cuda.manual_seed(seed)
