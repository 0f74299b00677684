"""Distillation: a network learns the probabilities that another, its teacher, gives the actions, in place of the
actions taken (Hinton et al. 2015, arXiv:1503.02531)."""

from dataclasses import dataclass, replace
from typing import Any

import torch

from annotate.vocabulary import Vocabulary
from kanachan.config import ModelConfig, TrainConfig
from kanachan.data.batch import Batch
from kanachan.models.learned_games import LearnedGames
from kanachan.models.weights import lineage_of, read_weights
from kanachan.training.tempered_network import TemperedNetwork, open_tempered
from kanachan.training.throughput import FlopCount, count_flops


@dataclass(frozen=True)
class Teacher:
    """A network whose probabilities are learned."""

    network: TemperedNetwork
    model: ModelConfig
    """its sizes"""
    card: dict[str, Any]
    """which weights it has, for the cards of those that learn from it"""
    learned_games: LearnedGames

    @torch.no_grad()
    def labelled(self, batch: Batch) -> Batch:
        """Returns the batch with the teacher's probabilities [B, A] as its soft labels."""
        return batch.with_soft_labels(self.network.to(batch.table_BS.device)(batch).exp())

    def added(self, work: FlopCount, batch: Batch) -> FlopCount:
        """Adds the teacher's forward pass to the work of a batch: a third of training on it."""
        return replace(work, flops=work.flops + count_flops(self.model, batch).flops / 3)


def open_teacher(config: TrainConfig, vocabulary: Vocabulary) -> Teacher | None:
    """Loads the network of objective.teacher, if it is given; raises ValueError if it does not fit the run."""
    path = config.objective.teacher
    if path is None:
        return None
    with torch.random.fork_rng(devices=[]):  # the run initialises the same weights with and without it
        network, _ = open_tempered("objective.teacher", path, config, vocabulary)
    weights = read_weights(path)
    return Teacher(network, weights.model, lineage_of(weights)[-1], weights.learned_games)
