"""The trained reward predictor: predicts how games end, at the starts of their rounds or at decisions.

Shapes: N rounds, B decisions, S seats, O orders of the seats, K bins.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from annotate.vocabulary import Vocabulary
from kanachan.data.columns import ObservationColumns
from kanachan.data.round_columns import RoundColumns
from kanachan.data.round_state import RoundState
from kanachan.models.reward_network import RewardNetwork
from kanachan.models.weights import load_tensors, read_weights, reward_settings
from kanachan.objectives.reward import Outcome, RewardObjective, build_reward_predictor
from kanachan.objectives.stages import REWARD

_ROWS_AT_ONCE = 8192


class RewardPredictor:
    """A frozen network, the bins of its grading points, and the card of its weights."""

    def __init__(
        self, network: RewardNetwork, objective: RewardObjective, vocabulary: Vocabulary, card: Mapping[str, Any]
    ) -> None:
        self.network = network.eval().requires_grad_(False)
        self.objective = objective.eval()
        self.vocabulary = vocabulary
        self.card = dict(card)

    @classmethod
    def load(cls, path: str | Path, device: torch.device | str = "cpu") -> "RewardPredictor":
        """Loads the weights file of a path, a run folder or a name (`kanachan.models.reference`). Raises ValueError,
        naming the file, if it is missing, cut off, damaged or not a reward predictor."""
        weights = read_weights(path)
        if weights.stage != REWARD:
            raise ValueError(
                f"{weights.path}: weights of stage {weights.stage}; a reward predictor is expected here "
                f"(kanachan-train --stage {REWARD})"
            )
        vocabulary, model = weights.vocabulary, reward_settings(weights.card, weights.path)
        network, objective = build_reward_predictor(model, vocabulary)
        load_tensors(network, weights.tensors, weights.path)
        return cls(network.to(device), objective.to(device), vocabulary, weights.card)

    def of_rounds(self, rounds: RoundColumns) -> Outcome:
        """Predicts the outcome for every seat at the start of each round [N, S, …]."""
        return self._in_parts(RoundState.of_rounds(rounds), None)

    def of_observations(self, columns: ObservationColumns) -> Outcome:
        """Predicts the outcome for the deciding seat at each decision [B, …], from the scores at that time.
        `columns`: as annotated, with seats not canonicalised."""
        return self._in_parts(RoundState.of_observations(columns, self.vocabulary), torch.from_numpy(columns.seat))

    @torch.no_grad()
    def _in_parts(self, state: RoundState, seat_X: Tensor | None) -> Outcome:
        """Predicts the outcome for the given seats or for every seat, some rows at a time, on the CPU."""
        device, parts = next(self.network.parameters()).device, []
        for first in range(0, len(state.wind_X), _ROWS_AT_ONCE):
            rows = slice(first, first + _ROWS_AT_ONCE)
            part = state.at(rows).each(lambda column: column.to(device))
            outcome = Outcome(*map(Tensor.cpu, self.objective.outcome(self.network(part))))
            if seat_X is not None:
                index = torch.arange(len(seat_X[rows])), seat_X[rows]
                outcome = Outcome(*(tensor[index] for tensor in outcome))
            parts.append(outcome)
        return Outcome(*map(torch.cat, zip(*parts, strict=True)))
