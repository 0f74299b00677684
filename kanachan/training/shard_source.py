"""A folder of shards as the data source of a run."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kanachan.config import DataConfig
from kanachan.data.batch import Batch
from kanachan.data.loader import EvalLoader, Labeller, Share, TrainLoader
from kanachan.data.shard_folder import SELF_PLAY, splits_in
from kanachan.data.shards import Shards, open_shards
from kanachan.models.learned_games import keys_of_games


class ShardSource:
    """The train and validation splits of `config.path`.

    Args:
        hidden: read hidden hands too.
        behaviour: read the log probabilities of self-play.
        prepare: returns the rows of a split that are used, and the labeller of its soft labels, if it has any; it is
            called with the train split first. None: all rows, without soft labels.

    Raises ValueError if there are no shards to train on, or if they cannot be read, do not fill one batch, or lack
    hidden hands.
    """

    def __init__(
        self,
        config: DataConfig,
        seed: int,
        *,
        varlen: bool = False,
        hidden: bool = False,
        behaviour: bool = False,
        prepare: Callable[[Shards], tuple[Shards, Labeller | None]] | None = None,
    ) -> None:
        self.config = config
        self.seed = seed
        self.varlen = varlen
        present = splits_in(config.path)
        self._shards = {
            split: open_shards(config.path, split, verify=config.verify, hidden=hidden, behaviour=behaviour)
            for split in ("train", "validation")
            if split == "train" or split in present
        }
        self.name, self.vocabulary = config.path, self._shards["train"].vocabulary
        self.description = {"path": config.path, **self._shards["train"].made}
        for shards in self._shards.values():
            shards.require(self.vocabulary, "the train split")
        self._labellers: dict[str, Labeller | None] = {}
        if prepare is not None:
            for split, shards in self._shards.items():
                self._shards[split], self._labellers[split] = prepare(shards)
        self.num_train_rows = len(self._shards["train"])
        self.num_validation_rows = len(self._shards["validation"]) if "validation" in self._shards else 0
        self.steps_per_epoch = self.train_batches(Share(0, 1)).steps_per_epoch

    @cached_property
    def learned_games(self) -> NDArray[np.uint64]:
        shards = self._shards["train"]
        return keys_of_games([] if SELF_PLAY in shards.made else [part.plain["game"] for part in shards.mapped])

    def train_batches(self, share: Share) -> TrainLoader:
        return TrainLoader(
            self._shards["train"],
            self.config,
            self.seed,
            share,
            varlen=self.varlen,
            labeller=self._labellers.get("train"),
        )

    def validation_batches(self, share: Share, limit: int | None) -> EvalLoader | list[Batch]:
        if "validation" not in self._shards:
            return []
        size = self.config.validation_batch
        return EvalLoader(
            self._shards["validation"],
            batch=size,
            # Lightning would take the first batches of a window, which hold its shortest rows.
            limit=limit * size if limit is not None else None,
            share=share,
            varlen=self.varlen,
            labeller=self._labellers.get("validation"),
        )
