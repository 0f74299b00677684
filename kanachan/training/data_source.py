"""The interface through which a trainer gets its batches; a folder of shards is one implementation."""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, Self

import lightning as L
import numpy as np
import torch
from numpy.typing import NDArray

from annotate.vocabulary import Vocabulary
from kanachan.data.loader import Share


class Samples(Protocol):
    """A batch of any stage."""

    def __len__(self) -> int:
        """Returns the number of samples: decisions, or of stage reward games."""

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Self:
        """Returns a copy on a device."""


class TrainBatches(Protocol):
    """The micro-batches of one process, and how to resume them.

    Each iteration is the rest of an epoch. Lightning stores the state in the checkpoints of a run, at the
    end of an optimiser step; it must be the same on every rank and for any number of ranks.
    """

    def __iter__(self) -> Iterator[Samples]: ...

    def __len__(self) -> int:
        """Returns the number of batches of an epoch. (Without a length Lightning fetches one batch too many, and the
        state in a checkpoint is one batch ahead.)"""

    def state_dict(self) -> dict[str, Any]:
        """Returns, as plain values, the state that determines the batches after those handed out."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continues after the batches of the state; raises ValueError if the next ones would differ from that run's."""


class DataSource(Protocol):
    """The source of the batches of a run."""

    name: str
    """in messages"""
    vocabulary: Vocabulary
    """of the tokens in the batches, which the weights will have"""
    steps_per_epoch: int
    num_train_rows: int
    """decisions of an epoch"""
    num_validation_rows: int
    """decisions to validate on; 0 for none"""
    description: dict[str, Any]
    """location and origin of the data, as plain values, for the log and the card of the weights"""

    @property
    def learned_games(self) -> NDArray[np.uint64]:
        """The games of records in the training split (`kanachan.models.learned_games`) [G]; none of self-play."""

    def train_batches(self, share: Share) -> TrainBatches:
        """Makes the micro-batches of a process."""

    def validation_batches(self, share: Share, limit: int | None) -> Iterable[Samples]:
        """Makes the batches of a validation for a process, the same ones each time: all, or about `limit`. Must not
        return a list, unless it is empty: Lightning treats a list as several loaders."""


class SourceData(L.LightningDataModule):
    """A data source for Lightning's trainer, whose processes share the batches."""

    def __init__(self, source: DataSource) -> None:
        super().__init__()
        self.source = source

    def train_dataloader(self) -> TrainBatches:
        return self.source.train_batches(self._share())

    def val_dataloader(self) -> Iterable[Samples]:
        assert self.trainer is not None
        limit = self.trainer.limit_val_batches
        return self.source.validation_batches(self._share(), limit if isinstance(limit, int) else None)

    def _share(self) -> Share:
        trainer = self.trainer
        assert trainer is not None, "loaders are made for a trainer: its ranks share the rows"
        return Share(trainer.global_rank, trainer.world_size, trainer.strategy.root_device.type == "cuda")
