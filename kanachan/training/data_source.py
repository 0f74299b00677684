"""The interface through which a trainer gets its batches; a folder of shards is one implementation."""

from collections.abc import Iterable
from typing import Any, Protocol

import lightning as L
import numpy as np
from numpy.typing import NDArray

from annotate.vocabulary import Vocabulary
from kanachan.data.batch import Batch
from kanachan.data.loader import Share, StepLoader
from kanachan.data.round_batch import RoundBatch


class DataSource(Protocol):
    """The source of the batches of a run."""

    name: str
    """name of the source in messages"""
    vocabulary: Vocabulary
    """vocabulary of the tokens in the batches, and so of the weights"""
    steps_per_epoch: int
    num_train_rows: int
    """decisions per epoch"""
    num_validation_rows: int
    """decisions to validate on; 0 for none"""
    description: dict[str, Any]
    """location and origin of the data, as plain values, for the log and the card of the weights"""

    @property
    def learned_games(self) -> NDArray[np.uint64]:
        """Games of records in the training split [G] (`kanachan.models.learned_games`); empty for self-play."""

    def train_batches(self, share: Share) -> StepLoader:
        """Makes the micro-batches of a process."""

    def validation_batches(self, share: Share, limit: int | None) -> Iterable[Batch | RoundBatch]:
        """Makes the batches of a validation for a process, the same ones each time: all, or about `limit`. Must not
        return a list, unless it is empty: Lightning treats a list as several loaders."""


class SourceData(L.LightningDataModule):
    """A data source for Lightning's trainer, whose processes share the batches."""

    def __init__(self, source: DataSource) -> None:
        super().__init__()
        self.source = source

    def train_dataloader(self) -> StepLoader:
        return self.source.train_batches(self._share())

    def val_dataloader(self) -> Iterable[Batch | RoundBatch]:
        assert self.trainer is not None
        limit = self.trainer.limit_val_batches
        return self.source.validation_batches(self._share(), limit if isinstance(limit, int) else None)

    def _share(self) -> Share:
        trainer = self.trainer
        assert trainer is not None, "loaders are made for a trainer: its ranks share the rows"
        return Share(trainer.global_rank, trainer.world_size, trainer.strategy.root_device.type == "cuda")
