"""The trained reward predictor: how games end, predicted at the starts of their rounds or at decisions.

Shapes: N rounds, B decisions, S seats, O orders of the seats, K bins.
"""

from collections.abc import Mapping, Sequence
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
        """Loads a weights file, or that of a run folder or of a name (`kanachan.models.reference`). Raises ValueError:
        it is missing, cut off or damaged, or not a reward predictor; names the file."""
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

    @torch.no_grad()
    def of_rounds(self, rounds: RoundColumns) -> Outcome:
        """Predicts the outcome for every seat at the start of each round [N, S, …]."""
        state = RoundState.of_rounds(rounds)
        firsts = range(0, len(rounds), _ROWS_AT_ONCE)
        return _joined([self.of_states(state.at(slice(first, first + _ROWS_AT_ONCE))) for first in firsts])

    @torch.no_grad()
    def of_observations(self, columns: ObservationColumns) -> Outcome:
        """Predicts the outcome for the deciding seat at each decision [B, …], from the scores as they are then.
        `columns`: as annotated: seats not canonicalised."""
        whole, seat_B = RoundState.of_observations(columns, self.vocabulary), torch.from_numpy(columns.seat)
        parts = []
        for first in range(0, len(columns), _ROWS_AT_ONCE):
            rows = slice(first, first + _ROWS_AT_ONCE)
            of_seats, seats = self.of_states(whole.at(rows)), seat_B[rows]
            parts.append(_at(of_seats, (torch.arange(len(seats)), seats)))
        return _joined(parts)

    @torch.no_grad()
    def of_states(self, state: RoundState) -> Outcome:
        """Predicts the outcome for every seat [X, S, …], on the CPU."""
        device = next(self.network.parameters()).device
        outcome = self.objective.outcome(self.network(state.each(lambda column: column.to(device))))
        return outcome.each(Tensor.cpu)


def _at(outcome: Outcome, index: Any) -> Outcome:
    return outcome.each(lambda tensor: tensor[index])


def _joined(parts: Sequence[Outcome]) -> Outcome:
    """Joins the outcomes of some rows, of which there must be some parts."""
    return Outcome(*map(torch.cat, zip(*parts, strict=True)))
