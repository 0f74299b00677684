"""The learner's decisions in shards of self-play: which they are, how they were drawn, and what they are credited with.

Shapes: B decisions.
"""

import hashlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kanachan.data.columns import Columns, splitmix64
from kanachan.data.loader import Labeller
from kanachan.data.shards import Shards
from kanachan.policy_config import PolicyConfig
from kanachan.reinforcement.behaviour import Behaviour
from kanachan.reinforcement.learner_seats import LearnerSeats
from kanachan.reinforcement.returns import ReturnLabelling, Utility

DOMINATING = 0.98
"""the probability above which an action that was taken has next to no gradient"""
_ROWS_AT_ONCE = 1 << 16
_MOST_MEASURED = 1 << 14


class Scales(NamedTuple):
    """Constants by which advantages are of order one, and weights 1 on average."""

    mean: float
    """of the returns, which is subtracted"""
    spread: float
    """that they are divided by"""
    weight: float
    """that weights are divided by"""


class PlayedDecisions:
    """Selects the decisions of self-play of the learner, named by its weights, and labels them with advantages. Raises
    ValueError if weights are missing or of another kind."""

    behaviour: Behaviour
    """how the decisions that were selected were drawn"""

    def __init__(self, config: PolicyConfig, weights: str) -> None:
        self._config = config
        self._weights = weights
        self._labelling = ReturnLabelling(config.reward, Utility(config.utility, config.points))
        self._scales: Scales | None = None
        self._returns: dict[str, Labeller] = {}

    def select(self, shards: Shards) -> Shards:
        """Returns the learner's decisions whose return is known, of those with a dominating action only a share. Raises
        ValueError: there are none, or the shards are not of self-play of the learner."""
        seats = LearnerSeats(shards, self._weights)
        self.behaviour = seats.behaviour
        returns = self._returns[shards.split] = self._labelling(shards)
        rows = []
        for first in range(0, len(shards), _ROWS_AT_ONCE):
            row_B = np.arange(first, min(first + _ROWS_AT_ONCE, len(shards)))
            columns = shards.gather(row_B)
            uniform_B = splitmix64(columns.game ^ splitmix64(row_B.astype(np.uint64))) / 2.0**64
            is_kept_B = uniform_B * decisions_per_row(columns, seats.behaviour, self._config.keep) < 1
            is_known_B = np.isfinite(returns.labels_of(columns)[:, 0])
            rows.append(row_B[seats.are_of(columns) & is_known_B & is_kept_B])
        row_N = np.concatenate(rows)
        if not len(row_N):
            raise ValueError(f"{shards.folder}: the {shards.split} split holds no decisions of {self._weights}")
        return shards.select(row_N)

    def label(self, shards: Shards) -> Labeller:
        """Returns the labels of a split that was selected (`kanachan.reinforcement.policy_gradient.Played`). The
        constants of all splits are measured on the first."""
        returns, config = self._returns[shards.split], self._config
        if self._scales is None:
            columns = shards.gather(spread_rows(len(shards), _MOST_MEASURED))
            return_B = returns.labels_of(columns)[:, 0]
            weight_B = decisions_per_row(columns, self.behaviour, config.keep)
            mean = float(np.average(return_B, weights=weight_B))
            spread = float(np.average((return_B - mean) ** 2, weights=weight_B)) ** 0.5 or 1.0
            self._scales = Scales(mean, spread, float(weight_B.mean()))
        # None: earlier versions had a critic here, none by default, and their runs are resumed
        settings = (returns.fingerprint, None, self._scales, config.keep)
        fingerprint = hashlib.sha256(repr(settings).encode()).hexdigest()
        scales = self._scales

        def labels_of(columns: Columns) -> NDArray[np.float32]:
            assert columns.log_probability is not None
            advantage_B = (returns.labels_of(columns)[:, 0] - scales.mean) / scales.spread
            weight_B = decisions_per_row(columns, self.behaviour, config.keep) / scales.weight
            return np.stack([columns.log_probability, advantage_B, weight_B], axis=1).astype(np.float32)

        return Labeller(fingerprint, labels_of)


def decisions_per_row(columns: Columns, behaviour: Behaviour, keep: float) -> NDArray[np.float32]:
    """Returns for how many decisions [B] each stands when only this share of those is kept whose action the player,
    without exploring, takes with more than `DOMINATING`."""
    assert columns.log_probability is not None
    own_B = np.exp(columns.log_probability) - behaviour.explore / columns.actions.lengths
    is_dominating_B = own_B > (1 - behaviour.explore) * DOMINATING
    return np.where(is_dominating_B, np.float32(1 / keep), np.float32(1))


def spread_rows(num_rows: int, most: int) -> NDArray[np.int64]:
    """Returns at most so many rows, evenly spread over all."""
    return np.unique(np.linspace(0, num_rows - 1, most).astype(np.int64))
