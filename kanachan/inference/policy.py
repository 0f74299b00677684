"""Policies predict the scores of the candidate actions of observations.

Shapes: B decisions, A candidates, R ranks.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from annotate.annotation import Observation
from annotate.vocabulary import Vocabulary
from annotate.words import describe_action
from kanachan.config import StageName
from kanachan.data.batch import Batch, TokenLayout, collate
from kanachan.data.columns import Columns, ObservationColumns, columns_of_observations
from kanachan.data.decisions import Rows, observations_of
from kanachan.data.symmetry import SeatRotation
from kanachan.inference.choice import Prediction
from kanachan.models.transformer import Encoded, Network, Output
from kanachan.objectives.networks import load_network
from kanachan.objectives.objective import Objective

DEFAULT_BATCH = 256
_FIELDS = ("scores", "probabilities", "rank_probabilities")
"""names in `Objective.predictions`, in the order of the fields of `Prediction`"""


class Policy:
    """A trained network that scores the candidate actions of observations.

    Args:
        card: card of the weights file. Its `temperature`, if it has one (kanachan-calibrate), divides the logits of the
            candidates or of their ranks, and its `summary_temperature` the logits of the orders of the seats before the
            action, wherever logits become probabilities.
    """

    def __init__(
        self,
        network: Network,
        objective: Objective,
        *,
        card: Mapping[str, Any] | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        self.network = network.to(device).eval()
        self.objective = objective.to(device).eval()
        self.card = dict(card or {})
        self.temperature = float(self.card.get("temperature", 1.0))
        self.summary_temperature = float(self.card.get("summary_temperature", 1.0))
        assert self.temperature == self.summary_temperature == 1 or objective.temperatures
        self.device = torch.device(device)
        self.vocabulary: Vocabulary = objective.vocabulary
        self.layout = TokenLayout(self.vocabulary)
        self._seat_rotation = SeatRotation(self.vocabulary)

    @staticmethod
    def load(weights: str | Path, device: torch.device | str = "cpu") -> "Policy":
        """Loads the policy of a weights file or of the folder of a finished run. Raises ValueError if the file is
        missing, cut off, of another vocabulary, or of a size that differs from its card."""
        network, objective, card = load_network(weights, device)
        return Policy(network, objective, card=card, device=device)

    @property
    def stage(self) -> StageName:
        return self.objective.stage

    @property
    def meaning(self) -> str:
        """Description of `Prediction.shown` for people."""
        return self.objective.meaning

    def in_words(self, rows: Rows, batch: int = DEFAULT_BATCH) -> list[dict[str, float]]:
        """Returns for each decision its possible actions in words, the best first, with `Prediction.shown`: their
        probabilities after imitation, their expected points after other stages; see `predictions`."""
        observations = observations_of(rows, self.vocabulary)
        described = []
        for observation, prediction in zip(observations, self.predictions(observations, batch), strict=True):
            shown = zip(observation.actions, prediction.shown.tolist(), strict=True)
            ranked = sorted(shown, key=lambda action: -action[1])
            described.append({describe_action(token, self.vocabulary): number for token, number in ranked})
        return described

    def predictions(self, rows: Rows, batch: int = DEFAULT_BATCH) -> list[Prediction]:
        """Returns the predictions in the order of the decisions; evaluates `batch` decisions at once. Raises
        ValueError, with the number of the row (from 1), if a row is not a decision of the policy's vocabulary."""
        observations = observations_of(rows, self.vocabulary)
        # decisions of a seat in a round are adjacent: the network computes their shared events only once
        keys = [(sparse[:3], progression) for sparse, _, progression, _ in observations]  # room, style, seat; events
        order = sorted(range(len(keys)), key=keys.__getitem__)
        predictions = self.evaluate([observations[place] for place in order], batch)
        return [predictions[place] for place in np.argsort(order)]

    def batch(self, columns: ObservationColumns) -> Batch:
        """Returns decisions as a batch, with seats in the same order as in training."""
        return collate(self.ordered(columns), self.layout)

    def batches(self, columns: Columns) -> Iterator[Batch]:
        """Yields decisions as batches on the policy's device."""
        for first in range(0, len(columns), DEFAULT_BATCH):
            yield self.batch(columns.rows(first, first + DEFAULT_BATCH)).to(self.device)

    def ordered(self, columns: ObservationColumns) -> ObservationColumns:
        """Returns decisions with seats in the same order as in training."""
        return self._seat_rotation.actor_first(columns)

    def evaluate(self, observations: Sequence[Observation], batch: int = DEFAULT_BATCH) -> list[Prediction]:
        """Returns the predictions in the order of the observations; evaluates `batch` observations at once."""
        predictions: list[Prediction] = []
        for first in range(0, len(observations), batch):
            columns = columns_of_observations(observations[first : first + batch], self.vocabulary)
            predictions += self.predict(self.batch(columns))
        return predictions

    def with_network(self, network: Network) -> "Policy":
        """Returns the same policy with another network that has the same outputs."""
        return Policy(network, self.objective, card=self.card, device=self.device)

    @torch.inference_mode()
    def output(self, batch: Batch) -> Output:
        """Returns the output for `batch`, which must be on the policy's device, at the policy's temperatures."""
        return scale_logits(self.network(batch), self.temperature, self.summary_temperature)

    def decoded(self, batch: Batch, encoded: Encoded) -> Output:
        """Returns the output for `batch`, encoded by a network with the same encoder, at the policy's temperatures."""
        return scale_logits(self.network.decoded(batch, encoded), self.temperature, self.summary_temperature)

    @torch.inference_mode()
    def predict(self, batch: Batch) -> list[Prediction]:
        """Returns a prediction for each row of `batch`, which may be on any device."""
        batch = batch.to(self.device)
        output = self.output(batch)
        num_candidates_B = output.mask_BA.sum(dim=1).tolist()
        values: list[float | None] = [None] * len(num_candidates_B)
        if self.objective.has_value:
            values = self.objective.situation_value(output).tolist()
        tensors = self.objective.predictions(output)
        columns = (_rows(tensors.get(name), num_candidates_B) for name in _FIELDS)
        return [Prediction(*row) for row in zip(*columns, values, strict=True)]


def scale_logits(output: Output, temperature: float, summary_temperature: float = 1.0) -> Output:
    """Divides the logits of the candidates and the logits of the summary by their temperatures."""
    if temperature != 1:
        output = output._replace(candidate_BAK=output.candidate_BAK.float() / temperature)
    if summary_temperature != 1:
        output = output._replace(summary_BK=output.summary_BK.float() / summary_temperature)
    return output


def _rows(tensor: Tensor | None, num_candidates_B: list[int]) -> list[Any]:
    """Returns the rows without their padding, or None for each row if `tensor` is None."""
    if tensor is None:
        return [None] * len(num_candidates_B)
    rows = tensor.cpu().numpy()
    return [row[:num].copy() for row, num in zip(rows, num_candidates_B, strict=True)]


def stacked(parts: Sequence[Tensor]) -> Tensor:
    """Concatenates tensors [B, A] along their rows; narrower tensors are padded with -inf."""
    width = max(part.shape[1] for part in parts)
    return torch.cat([F.pad(part, (0, width - part.shape[1]), value=-math.inf) for part in parts])
