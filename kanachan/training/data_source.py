"""Where the batches of a run come from. The trainer knows no more of it than this; shards are one source."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import lightning as L

from annotate.vocabulary import Vocabulary
from kanachan.data.batch import Batch

ENDLESS = 2**62


@dataclass(frozen=True)
class Share:
    """Which part of the batches a process gets."""

    rank: int
    world: int
    """processes that share the batches"""
    pin: bool = False
    """put the tensors into page-locked memory, from where a GPU fetches them by itself"""


class TrainBatches(Protocol):
    """The micro-batches of one process, and how to resume them.

    Each iteration is the rest of an epoch, or has no end. Lightning keeps the state in the checkpoints of a run, at the
    end of an optimiser step; it must be the same on every rank and for any number of ranks.
    """

    def __iter__(self) -> Iterator[Batch]: ...

    def __len__(self) -> int:
        """Returns the batches of an epoch, ENDLESS if there is no end. (Without a length Lightning asks for one batch
        too many, and the state in a checkpoint is one batch ahead.)"""

    def state_dict(self) -> dict[str, Any]:
        """Returns, in plain values, what the batches after those that were handed out depend on."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continues after the batches of the state; raises ValueError if others would follow than in that run."""


class DataSource(Protocol):
    """Gives a run its batches."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def vocabulary(self) -> Vocabulary:
        """Of the tokens in the batches."""

    @property
    def steps_per_epoch(self) -> int | None:
        """Optimiser steps of an epoch; None if the source has no end."""

    @property
    def num_train_rows(self) -> int | None:
        """Decisions of an epoch; None if the source has no end."""

    @property
    def num_validation_rows(self) -> int:
        """Decisions to validate on; 0 for none."""

    @property
    def description(self) -> dict[str, Any]:
        """Where the data are and how they were made, as plain values, for the log and the card of the weights."""

    def train_batches(self, share: Share) -> TrainBatches:
        """Makes the micro-batches of a process."""

    def validation_batches(self, share: Share, limit: int | None) -> Iterable[Batch]:
        """Makes the batches of a validation for a process, the same ones each time: all, or about `limit`. Not as a
        list, unless it is empty: Lightning takes a list for several loaders."""


class SourceData(L.LightningDataModule):
    """A data source for Lightning's trainer, whose processes share the batches."""

    def __init__(self, source: DataSource) -> None:
        super().__init__()
        self.source = source

    def train_dataloader(self) -> TrainBatches:
        return self.source.train_batches(self._share())

    def val_dataloader(self) -> Iterable[Batch]:
        assert self.trainer is not None
        limit = self.trainer.limit_val_batches
        return self.source.validation_batches(self._share(), limit if isinstance(limit, int) else None)

    def _share(self) -> Share:
        trainer = self.trainer
        assert trainer is not None, "loaders are made for a trainer: its ranks share the rows"
        return Share(trainer.global_rank, trainer.world_size, trainer.strategy.root_device.type == "cuda")
