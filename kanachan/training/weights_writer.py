"""Writes the weights files of a run, with a card that records their origin."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from kanachan.config import WEIGHTS_NAME, TrainConfig
from kanachan.models.learned_games import LearnedGames
from kanachan.models.weights import (
    CARD_NAME,
    commit_of_program,
    lineage_of,
    make_card,
    read_weights,
    write_card,
    write_weights,
)
from kanachan.objectives.stages import REWARD
from kanachan.training.ancestry import Ancestry
from kanachan.training.checkpointing import read_checkpoint
from kanachan.training.data_source import DataSource
from kanachan.training.ema import averaged
from kanachan.training.run_folder import BEST_NAME, CHECKPOINTS, settings_as_json
from kanachan.training.strategies import tensors_of_network


class WeightsWriter:
    """Writes the network of a run with a card that records its origin. `more`: further entries of the card."""

    def __init__(self, config: TrainConfig, data: DataSource, ancestry: Ancestry, more: Mapping[str, Any]) -> None:
        self.config = config
        self.out = Path(config.run.out)
        self.data = data
        self._ancestry = ancestry
        self._more = more
        commit_of_program()  # the cards name the commit of now, though the checkout may change

    def write_best(self, path: Path, tensors: Mapping[str, Tensor], metrics: dict[str, float], step: int) -> None:
        write_weights(path, tensors, self._card(metrics, step))

    def write_last(
        self, path: Path, metrics: dict[str, float], last_step: int, best_step: int | None
    ) -> list[dict[str, Any]]:
        """Writes the weights file, from the checkpoint `path` of the last step or from the best step, and the card next
        to it; returns the lineage, with this stage last."""
        if best_step is None:
            checkpoint = read_checkpoint(path)
            tensors = averaged(tensors_of_network(checkpoint["state_dict"]), checkpoint)
        else:
            tensors = read_weights(self.out / CHECKPOINTS / BEST_NAME).tensors
        card = self._card(metrics, last_step if best_step is None else best_step)
        card["chosen"] = "last step" if best_step is None else f"lowest validation loss of {last_step} steps"
        write_card(self.out / CARD_NAME, card)
        write_weights(self.out / WEIGHTS_NAME, tensors, card)
        return lineage_of(read_weights(self.out))

    def _card(self, metrics: dict[str, float], step: int) -> dict[str, Any]:
        config = self.config
        learned = self._ancestry.games | LearnedGames(self.data.learned_games, is_complete=True)
        return make_card(
            config.stage,
            config.reward if config.stage == REWARD else config.model,
            config.objective,
            self.data.vocabulary,
            steps=step,
            samples=step * config.data.sizes[0],
            metrics={name: value for name, value in metrics.items() if math.isfinite(value)},  # JSON knows no NaN
            lineage=self._ancestry.lineage,
            data=self.data.description,
            learned_games=learned.encode(),
            config=settings_as_json(config),
            **self._more,
        )
