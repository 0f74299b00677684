"""Networks that are not trained, whose action probabilities a run learns or stays near.

Distillation: the targets of a network are the action probabilities of another network, its teacher, instead of the
actions taken (Hinton et al. 2015, arXiv:1503.02531).
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from annotate.vocabulary import Vocabulary
from kanachan.config import TrainConfig
from kanachan.data.batch import Batch
from kanachan.models.card import weights_file
from kanachan.models.transformer import Encoded, Network
from kanachan.objectives.networks import has_same_heads, load_network
from kanachan.objectives.objective import Objective


class TemperedNetwork:
    """A network whose scores, divided by a temperature, are log probabilities up to a constant.

    Not a module, so that it is not part of checkpoints.
    """

    def __init__(self, network: Network, objective: Objective, temperature: float) -> None:
        self.network, self.objective, self.temperature = network, objective, temperature

    def to(self, device: torch.device) -> "TemperedNetwork":
        """Moves the network to a device, if it is not there."""
        self.network.to(device)
        return self

    def __call__(self, batch: Batch, encoded: Encoded | None = None) -> Tensor:
        """Returns log_BA of the candidates, -inf at padding. `encoded`: the batch, encoded by a network with the
        same encoder; None: it is encoded here."""
        output = self.network(batch) if encoded is None else self.network.decoded(batch, encoded)
        return log_probabilities(self.objective.score(output), self.temperature)

    @torch.no_grad()
    def labelled(self, batch: Batch) -> Batch:
        """Returns the batch with this network's probabilities [B, A] as its soft labels."""
        return batch.with_soft_labels(self.to(batch.table_BS.device)(batch).exp())


def log_probabilities(score_BA: Tensor, temperature: float) -> Tensor:
    """Returns log_BA of the softmax of the scores divided by the temperature; -inf at padding."""
    return (score_BA.float() / temperature).log_softmax(dim=1)


def load_tempered(path: Path, temperature: float) -> tuple[TemperedNetwork, dict[str, Any]]:
    """Loads a network that is not trained, and the card of its weights. `temperature` is multiplied by the calibrated
    one in the card."""
    network, objective, card = load_network(path)
    network.requires_grad_(False)
    return TemperedNetwork(network, objective, temperature * card.get("temperature", 1.0)), card


def open_tempered(
    setting: str, path: str, config: TrainConfig, vocabulary: Vocabulary, temperature: float = 1.0
) -> tuple[TemperedNetwork, dict[str, Any]]:
    """Loads the network that a setting of a run names, as `load_tempered` does. Raises ValueError, which names the
    setting, if the weights do not fit the run."""
    network, card = load_tempered(weights_file(path), temperature)
    objective = network.objective
    if not has_same_heads(objective.stage, config.stage):
        raise ValueError(f"{setting}={path}: of stage {objective.stage}, which has no probabilities of actions")
    if objective.vocabulary is not vocabulary:
        raise ValueError(
            f"{setting}={path}: made for the vocabulary {objective.vocabulary.name}, but the decisions are in "
            f"{vocabulary.name}"
        )
    return network, card


def open_teacher(config: TrainConfig, vocabulary: Vocabulary) -> TemperedNetwork | None:
    """Loads the network of objective.teacher, if it is given; raises ValueError if it does not fit the run."""
    path = config.objective.teacher
    if path is None:
        return None
    with torch.random.fork_rng(devices=[]):  # a run initialises the same weights with and without a teacher
        return open_tempered("objective.teacher", path, config, vocabulary)[0]
