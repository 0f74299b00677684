"""Returns, as in reinforcement learning: the change of each seat's expected utility of the game in a round.

A reward predictor predicts the expected utility at the start of each round. The return of a round is the change from
its start to the start of the next round, or for the last round to the actual utility of the game. So the returns of a
game's rounds add up to the utility of the game minus the expected utility at its start, and the actions of a round are
credited only with the result of this round.

Shapes: N rounds, S seats, B decisions, O orders of the seats, R ranks.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kanachan.data.columns import Columns
from kanachan.data.loader import Labeller
from kanachan.data.round_columns import RoundColumns, RoundIndex
from kanachan.data.round_shards import open_rounds
from kanachan.data.shards import Shards
from kanachan.inference.reward_predictor import RewardPredictor
from kanachan.models.card import file_hash
from kanachan.models.seat_orders import SeatOrders
from kanachan.objectives.reward import Outcome
from kanachan.policy_config import RANK_POINTS, UtilityKind, rank_points, require_points


@dataclass(frozen=True)
class Utility:
    """Utility of the end of a game for a seat. Raises ValueError if the points are not finite or are all equal."""

    kind: UtilityKind = "ranks"
    """ranks: `points` of the final rank; grading_points: grading points of the platform"""
    points: tuple[float, ...] = RANK_POINTS
    """points of each rank, from the first to the last; used only with ranks"""

    def __post_init__(self) -> None:
        if self.kind == "ranks":
            require_points(self.points)
        else:
            object.__setattr__(self, "points", RANK_POINTS)  # not used; reset so that utilities of one kind are equal

    @property
    def unit(self) -> str:
        """The unit in words."""
        if self.kind == "ranks":
            return "ranks" if self.points == rank_points(len(self.points)) else "points"
        return "grading points"

    def require(self, num_seats: int) -> None:
        """Raises ValueError if the number of points is not the number of ranks."""
        if self.kind == "ranks" and len(self.points) != num_seats:
            raise ValueError(f"{num_seats} points are needed, one for each rank, not {list(self.points)}")

    def expected(self, outcome: Outcome) -> NDArray[np.float32]:
        """Returns every seat's expected utility at the end of the game [N, S], from predictions [N, S, …]."""
        if self.kind == "grading_points":
            return outcome.grading_points.cpu().numpy().astype(np.float32)
        log_NSO = outcome.order_log_probability.cpu()
        orders = SeatOrders(log_NSO.shape[1])
        probability_XR = orders.rank_log_probability(log_NSO.flatten(0, 1)).exp().numpy()
        value_X = probability_XR.astype(np.float64) @ np.array(self.points)
        return value_X.reshape(log_NSO.shape[:2]).astype(np.float32)

    def achieved(self, rounds: RoundColumns) -> NDArray[np.float32]:
        """Returns every seat's actual utility in the game of each round [N, S]."""
        if self.kind == "grading_points":
            return rounds.grading_delta.astype(np.float32)
        return np.array(self.points, np.float32)[rounds.rank]


class RoundReturns:
    """The returns of rounds, sorted by game and by their order in it, and of their decisions. Raises ValueError if the
    utility does not fit the number of seats."""

    def __init__(self, rounds: RoundColumns, predictor: RewardPredictor, utility: Utility) -> None:
        vocabulary = predictor.vocabulary
        utility.require(vocabulary.num_seats)
        self.utility = utility
        self._vocabulary = vocabulary
        self._index = RoundIndex(rounds)
        self.return_NS: NDArray[np.float32] = np.zeros((0, vocabulary.num_seats), np.float32)
        """return of each round; NaN where it is not known what followed the round"""
        if len(rounds):
            before_NS = utility.expected(predictor.of_rounds(rounds))
            after_NS = np.where(rounds.is_last[:, None], utility.achieved(rounds), np.roll(before_NS, -1, axis=0))
            self.return_NS = np.where(rounds.is_whole[:, None], after_NS - before_NS, np.float32(np.nan))

    def of(self, columns: Columns) -> NDArray[np.float32]:
        """Returns return_BS, the returns of all seats in the round of each decision; NaN if unknown. `columns`: as
        annotated, before seats are rotated; seat 0 is the first dealer of the game."""
        row_B = self._index.rows_of(columns, self._vocabulary)
        return_BS = np.full((len(columns), self._vocabulary.num_seats), np.nan, np.float32)
        return_BS[row_B >= 0] = self.return_NS[row_B[row_B >= 0]]
        return return_BS


class ReturnLabelling:
    """Makes the soft labels label_B1 of a split: the return of the actor, NaN if it is unknown. Raises ValueError if
    the weights `reward` are not of a reward predictor."""

    def __init__(self, reward: str, utility: Utility) -> None:
        self.utility = utility
        self._predictor = RewardPredictor.load(reward)
        self._sha256 = file_hash(reward)

    def __call__(self, shards: Shards) -> Labeller:
        """Returns the labels of a split; raises ValueError if its rounds are missing or its vocabulary differs."""
        shards.require(self._predictor.vocabulary, "the reward predictor")
        rounds = open_rounds(shards.folder, shards.split, verify=True)
        returns = RoundReturns(rounds, self._predictor, self.utility)
        fingerprint = hashlib.sha256(f"{self._sha256} {self.utility}".encode()).hexdigest()
        return Labeller(fingerprint, lambda columns: np.take_along_axis(returns.of(columns), columns.seat[:, None], 1))
