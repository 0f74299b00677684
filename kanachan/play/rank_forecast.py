"""Predicted final ranks at the start of each round: `phi_matrix` of the review mode.

Weights of the stage `rank` predict them at the seat's first decision of the round. Without such weights, or if the
round ends before that decision, they depend on the scores alone: each score changes by a normally distributed number,
whose standard deviation is that of Houou games (4,900 points for a round, of three players 7,000, measured over 150
games) times the square root of the rounds left.

Shapes: S seats, R ranks, N random samples, O orders of the seats.
"""

import numpy as np
import torch
from numpy.typing import NDArray

from annotate.game.record import Event
from annotate.game.tiles import WINDS
from annotate.observation import Observation
from kanachan.data.columns import columns_of_observations
from kanachan.inference.policy import Policy
from kanachan.objectives.objective import RankObjective

_POINTS_PER_ROUND = {4: 4_900.0, 3: 7_000.0}
"""by number of seats"""
_NUM_SAMPLES = 20_000


class RankForecast:
    """The rank probabilities of a game, a matrix for each round.

    Args:
        weights: of the stage rank; None: scores alone are used.
        style: 0 East only, 1 East and South.
    """

    def __init__(self, weights: Policy | None, style: int) -> None:
        self._winds = style + 1
        self._weights = weights
        self._is_final = False
        self.matrices: list[NDArray[np.float64]] = []
        """[S, R] of each round that has started"""

    def start_round(self, start: Event) -> None:
        """Appends the matrix of a round, from the scores."""
        num_seats = len(start["scores"])
        place = WINDS[start["bakaze"]] * num_seats + start["kyoku"] - 1
        self._is_final = self._weights is None
        self.matrices.append(by_scores(start["scores"], max(1, self._winds * num_seats - place)))

    def see(self, observation: Observation, seat: int) -> None:
        """Replaces the matrix of the round at the seat's first decision; ignores later ones."""
        if self._is_final or self._weights is None:
            return
        self._is_final = True
        self.matrices[-1] = by_weights(self._weights, observation, seat)


def predicts_ranks(weights: Policy) -> bool:
    """Returns whether these weights predict the probabilities of the orders of the seats."""
    return isinstance(weights.objective, RankObjective) and weights.objective.num_summary_outputs > 0


def require_ranks(weights: Policy, name: str) -> Policy:
    """Returns `weights`; raises ValueError, naming the file, unless they predict the order of the seats."""
    if not predicts_ranks(weights):
        raise ValueError(
            f"{name}: weights of the stage rank with objective.baseline are needed to predict ranks, not of "
            f"{weights.stage}"
        )
    return weights


@torch.inference_mode()
def by_weights(weights: Policy, observation: Observation, seat: int) -> NDArray[np.float64]:
    """Returns probability_SR as weights predict it for an observation of `seat`."""
    objective = weights.objective
    assert isinstance(objective, RankObjective)
    batch = weights.batch(columns_of_observations([observation], weights.vocabulary)).to(weights.device)
    probability_O = objective.order_log_probability(weights.output(batch)).exp()[0].double().cpu().numpy()
    rank_OS = objective.orders.rank_OS.cpu().numpy()
    if weights.actor_first:  # seat 0 of the network is `seat`
        rank_OS = np.roll(rank_OS, seat, axis=1)
    return _counted(rank_OS, probability_O)


def by_scores(scores: list[int], rounds_left: int) -> NDArray[np.float64]:
    """Returns probability_SR from the scores alone."""
    normal_NS = np.random.default_rng(0).standard_normal((_NUM_SAMPLES, len(scores)))
    final_NS = np.array(scores) + normal_NS * _POINTS_PER_ROUND[len(scores)] * rounds_left**0.5
    rank_NS = (-final_NS).argsort(axis=1).argsort(axis=1)
    return _counted(rank_NS, np.full(_NUM_SAMPLES, 1 / _NUM_SAMPLES))


def _counted(rank_NS: NDArray[np.int64], weight_N: NDArray[np.float64]) -> NDArray[np.float64]:
    num_seats = rank_NS.shape[1]
    return np.stack([np.bincount(rank_NS[:, seat], weight_N, num_seats) for seat in range(num_seats)])
