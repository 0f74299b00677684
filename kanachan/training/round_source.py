"""The rounds of a folder of shards as the data source of stage reward: batches of whole games.

Shapes: G games of a batch or micro-batch, M micro-batches of a step.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import DataLoader

from annotate.vocabulary import vocabulary_named
from kanachan.config import DataConfig
from kanachan.data.loader import Share, StepLoader
from kanachan.data.round_batch import Games, RoundBatch
from kanachan.data.round_columns import RoundColumns
from kanachan.data.round_shards import open_rounds
from kanachan.data.sampler import EpochSampler, batches_of_rank
from kanachan.data.shard_file import open_shard_files
from kanachan.data.shard_folder import ROUNDS, SELF_PLAY, splits_in
from kanachan.models.learned_games import keys_of_games


class RoundSource:
    """The games of the train and validation splits of `config.path`. Raises ValueError if there are no rounds to
    train on, they cannot be read, or their games do not fill one batch."""

    def __init__(self, config: DataConfig, seed: int) -> None:
        self.config = config
        self.seed = seed
        present = splits_in(Path(config.path) / ROUNDS)
        self._rounds = {
            split: open_rounds(config.path, split, verify=config.verify)
            for split in ("train", "validation")
            if split == "train" or split in present
        }
        self._games = {split: Games.of(rounds) for split, rounds in self._rounds.items()}
        shards = [description for description, _ in open_shard_files("train", present["train"])]
        self._shard, self._checksum = shards[0], "".join(shard["checksum"] for shard in shards)
        self.name = config.path
        self.vocabulary = vocabulary_named(self._shard["vocabulary"])
        self.num_train_rows = len(self._games["train"])
        self.num_validation_rows = len(self._games["validation"]) if "validation" in self._games else 0
        self.steps_per_epoch = self.num_train_rows // config.sizes[0]
        self.description = {"path": config.path, **self._shard["made"]}
        if not self.steps_per_epoch:
            raise ValueError(
                f"{config.path}: {self.num_train_rows} games to train on, fewer than one batch of "
                f"data.batch={config.sizes[0]}: lower it"
            )

    @cached_property
    def learned_games(self) -> NDArray[np.uint64]:
        is_own = SELF_PLAY in self._shard["made"]
        return keys_of_games([] if is_own else [self._rounds["train"].game])

    @property
    def train_points(self) -> NDArray[np.int32]:
        """The points of the seats in all rounds to train on [N, S]."""
        return self._rounds["train"].delta

    def train_batches(self, share: Share) -> "RoundLoader":
        identity = {"rows": len(self._rounds["train"]), "checksum": self._checksum}
        return RoundLoader(self._rounds["train"], self._games["train"], self.config, self.seed, share, identity)

    def validation_batches(self, share: Share, limit: int | None) -> Iterable[RoundBatch]:
        if not self.num_validation_rows:
            return []
        size, count = self.config.validation_batch, self.num_validation_rows
        count = count if limit is None else min(count, limit * size)
        rounds, games = self._rounds["validation"], self._games["validation"]
        parts = batches_of_rank(count, size, share.rank, share.world)
        batches = [RoundBatch.of(rounds, games, game_G) for game_G in parts]
        return DataLoader(batches, batch_size=None)  # type: ignore[arg-type]


class RoundLoader(StepLoader):
    """Micro-batches of games; `identity` as in `StepLoader`."""

    def __init__(
        self,
        rounds: RoundColumns,
        games: Games,
        config: DataConfig,
        seed: int,
        share: Share,
        identity: dict[str, Any],
    ) -> None:
        super().__init__(len(games), config, seed, share, identity)
        self._rounds = rounds
        self._games = games
        self._order = EpochSampler(len(games), seed, unit=1)

    def __iter__(self) -> Iterator[RoundBatch]:
        epoch, first = divmod(self.step, self.steps_per_epoch)
        batch = self._batch
        for step in range(first, self.steps_per_epoch):
            game_G = self._order.rows(epoch, step * batch, (step + 1) * batch)
            game_MG = game_G.reshape(-1, self._micro_batch)
            rounds_M = self._games.length_G[game_MG].sum(axis=1)
            weight_M = (rounds_M / rounds_M.mean()).tolist()
            mine = range(self._share.rank, len(game_MG), self._share.world)
            for number in mine:
                found = RoundBatch.of(self._rounds, self._games, game_MG[number], weight_M[number])
                if number == mine[-1]:
                    # before the yield: a checkpoint is made while the generator waits here
                    self.step = epoch * self.steps_per_epoch + step + 1
                yield found
