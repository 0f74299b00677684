"""A folder of shards as Lightning's data module."""

from typing import Any

import lightning as L

from annotate.vocabulary import Vocabulary
from kanachan.config import DataConfig
from kanachan.data.loader import EvalLoader, TrainLoader
from kanachan.data.shards import Shards, open_shards, splits_in


class ShardData(L.LightningDataModule):
    """The train, validation and test splits of `config.path`.

    Args:
        world: processes that will share the rows.
        segments: make the batches for the packed arrangement (`kanachan.models.attention`).
        hidden: with hidden hands.

    Raises:
        ValueError: there are no shards to train on, they cannot be read, they do not fill one batch, a batch cannot be
            shared out, or hidden hands are asked for and not there.
    """

    def __init__(
        self,
        config: DataConfig,
        seed: int,
        *,
        world: int = 1,
        segments: bool = False,
        hidden: bool = False,
    ) -> None:
        super().__init__()
        self.config = config
        self.seed = seed
        self.segments = segments
        present = splits_in(config.path)
        self._shards = {
            split: open_shards(config.path, split, verify=config.verify, hidden=hidden)
            for split in ("train", "validation")
            if split == "train" or split in present
        }
        for shards in self._shards.values():
            shards.require(self.vocabulary, "the train split")
        self.steps_per_pass = self._batches(rank=0, world=world, pin=False).steps_per_epoch
        """optimiser steps that a pass over the training split takes"""

    @property
    def vocabulary(self) -> Vocabulary:
        """Of the training split, whose weights come out."""
        return self._shards["train"].vocabulary

    @property
    def num_train_rows(self) -> int:
        return len(self._shards["train"])

    @property
    def num_validation_rows(self) -> int:
        return len(self._shards["validation"]) if "validation" in self._shards else 0

    @property
    def description(self) -> dict[str, Any]:
        """Where the data are and how they were made, as plain values."""
        return {"path": self.config.path, **self._shards["train"].made}

    def train_dataloader(self) -> TrainLoader:
        trainer = self._trainer()
        pin = trainer.strategy.root_device.type == "cuda"
        return self._batches(trainer.global_rank, trainer.world_size, pin)

    def val_dataloader(self) -> EvalLoader | list[Any]:
        return self._sequential("validation", self._trainer().limit_val_batches)

    def _batches(self, rank: int, world: int, pin: bool) -> TrainLoader:
        return TrainLoader(
            self._shards["train"],
            batch=self.config.batch,
            micro_batch=self.config.micro_batch,
            seed=self.seed,
            exchange_suits=self.config.exchange_suits,
            actor_first=self.config.actor_first,
            neighbours=self.config.neighbours,
            rank=rank,
            world=world,
            segments=self.segments,
            pin=pin,
        )

    def _sequential(self, split: str, limit: int | float | None) -> EvalLoader | list[Any]:
        """The batches of a split, none if it is empty; as few rows as fit into `limit` batches, if it is an integer."""
        if split not in self._shards:
            return []
        trainer = self._trainer()
        size = self.config.validation_batch
        shards: Shards = self._shards[split]
        return EvalLoader(
            shards,
            batch=size,
            actor_first=self.config.actor_first,
            # Lightning would take the first batches of a window, which are its shortest rows.
            limit=limit * size if isinstance(limit, int) else None,
            rank=trainer.global_rank,
            world=trainer.world_size,
            segments=self.segments,
        )

    def _trainer(self) -> L.Trainer:
        assert self.trainer is not None, "loaders are made for a trainer: its ranks share the rows"
        return self.trainer
