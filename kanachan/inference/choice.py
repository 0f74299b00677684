"""Chooses an action from the scores of the candidates, for the arena, the bot and the review.

Shapes: A candidates, R ranks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Prediction:
    """The prediction for one decision; candidates are in the order of the annotation's field 4."""

    score: NDArray[np.float32]
    """[A] higher is better. Imitation: logits divided by the policy's temperature; else: expected points of the stage's
    target"""
    probability: NDArray[np.float32] | None
    """[A] imitation: probability that the player takes the action"""
    rank_probability: NDArray[np.float32] | None
    """[A, R] rank: probability of each final rank of the actor after the action"""
    value: float | None
    """the expected target of the stage before the action, in points, if the network predicts it"""

    @property
    def shown(self) -> NDArray[np.float32]:
        """The numbers shown to people [A]: probabilities if there are any, else scores."""
        return self.score if self.probability is None else self.probability


class Action(NamedTuple):
    """The action of an agent."""

    token: int
    log_probability: float | None = None
    """log probability of the token in the distribution it was sampled from; None for agents without a distribution"""


def choose(
    actions: Sequence[int],
    prediction: Prediction,
    temperature: float | None = None,
    uniform: float | None = None,
    explore: float = 0.0,
) -> Action:
    """Chooses the action of the highest score, or with a temperature, samples from the softmax of scores divided by
    it, using a random number `uniform` (0 to 1, 1 excluded). A share `explore` is drawn uniformly from all actions."""
    score_A = prediction.score
    assert len(actions) == len(score_A)
    if temperature is None:
        assert not explore, "an action of the highest score is not sampled"
        place = int(score_A.argmax())
        return Action(actions[place], 0.0)
    assert uniform is not None, "sampling needs a random number"
    weight_A = np.exp((score_A - score_A.max()).astype(np.float64) / temperature)
    if explore:
        weight_A = (1 - explore) * weight_A + explore * weight_A.sum() / len(weight_A)
    total = weight_A.sum()
    below = weight_A.cumsum().searchsorted(uniform * total, side="right")
    place = min(int(below), len(score_A) - 1)
    log_probability = float(np.log(weight_A[place] / total))
    return Action(actions[place], log_probability)
