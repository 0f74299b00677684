"""The learner's decisions in shards of self-play: their selection, the distribution of actions, and the advantages.

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
"""probability above which an action that was taken has almost no gradient"""
_ROWS_AT_ONCE = 1 << 16
_MOST_MEASURED = 1 << 14


class Scales(NamedTuple):
    """Constants that scale advantages to order one, and weights to 1 on average."""

    mean: float
    """mean of the returns, which is subtracted"""
    spread: float
    """divisor of the returns"""
    weight: float
    """divisor of the weights"""


class PlayedDecisions:
    """Selects the learner's decisions in self-play, and labels them with advantages. `weights`: weights of the learner.
    Raises ValueError if weights are missing or of another kind."""

    behaviour: Behaviour
    """distribution from which the selected decisions were drawn"""

    def __init__(self, config: PolicyConfig, weights: str) -> None:
        self._config = config
        self._weights = weights
        assert config.reward is not None, "checked with the settings"
        self._labelling = ReturnLabelling(config.reward, Utility(config.utility, config.points))
        self._scales: Scales | None = None

    def prepare(self, shards: Shards) -> tuple[Shards, Labeller]:
        """Returns the learner's decisions with a known return, but only a share of decisions with a dominating action,
        and their labels (`kanachan.reinforcement.policy_gradient.Played`). The constants of all splits are measured on
        the first one. Raises ValueError if there are no such decisions, or the shards are not of the learner's
        self-play."""
        seats, returns = LearnerSeats(shards, self._weights), self._labelling(shards)
        self.behaviour = seats.behaviour
        selected = shards.select(self._rows(shards, seats, returns))
        if self._scales is None:
            self._scales = self._measured(selected, returns)
        return selected, self._labeller(returns, self._scales)

    def _rows(self, shards: Shards, seats: LearnerSeats, returns: Labeller) -> NDArray[np.int64]:
        rows = []
        for first in range(0, len(shards), _ROWS_AT_ONCE):
            row_B = np.arange(first, min(first + _ROWS_AT_ONCE, len(shards)))
            columns = shards.gather(row_B)
            uniform_B = splitmix64(columns.game ^ splitmix64(row_B.astype(np.uint64))) / 2.0**64
            is_kept_B = uniform_B * decisions_per_row(columns, self.behaviour, self._config.keep) < 1
            is_known_B = np.isfinite(returns.labels_of(columns)[:, 0])
            rows.append(row_B[seats.are_of(columns) & is_known_B & is_kept_B])
        row_N = np.concatenate(rows)
        if not len(row_N):
            raise ValueError(f"{shards.folder}: the {shards.split} split holds no decisions of {self._weights}")
        return row_N

    def _measured(self, shards: Shards, returns: Labeller) -> Scales:
        columns = shards.gather(spread_rows(len(shards), _MOST_MEASURED))
        return_B = returns.labels_of(columns)[:, 0]
        weight_B = decisions_per_row(columns, self.behaviour, self._config.keep)
        mean = float(np.average(return_B, weights=weight_B))
        spread = float(np.average((return_B - mean) ** 2, weights=weight_B)) ** 0.5 or 1.0
        return Scales(mean, spread, float(weight_B.mean()))

    def _labeller(self, returns: Labeller, scales: Scales) -> Labeller:
        keep = self._config.keep
        # without the scales, whose last digits depend on the CPU: they follow from the shards and these settings
        fingerprint = hashlib.sha256(repr((returns.fingerprint, keep)).encode()).hexdigest()

        def labels_of(columns: Columns) -> NDArray[np.float32]:
            assert columns.log_probability is not None
            advantage_B = (returns.labels_of(columns)[:, 0] - scales.mean) / scales.spread
            weight_B = decisions_per_row(columns, self.behaviour, keep) / scales.weight
            return np.stack([columns.log_probability, advantage_B, weight_B], axis=1).astype(np.float32)

        return Labeller(fingerprint, labels_of)


def decisions_per_row(columns: Columns, behaviour: Behaviour, keep: float) -> NDArray[np.float32]:
    """Returns how many decisions [B] each row stands for, if only the share `keep` is kept of decisions whose action
    the player, without exploring, takes with a probability above `DOMINATING`."""
    assert columns.log_probability is not None
    # in float64, so that no CPU rounds another decision across the limit
    own_B = np.exp(columns.log_probability.astype(np.float64)) - behaviour.explore / columns.actions.lengths
    is_dominating_B = own_B > (1 - behaviour.explore) * DOMINATING
    return np.where(is_dominating_B, np.float32(1 / keep), np.float32(1))


def spread_rows(num_rows: int, most: int) -> NDArray[np.int64]:
    """Returns at most `most` rows, evenly spread over all rows."""
    return np.unique(np.linspace(0, num_rows - 1, most).astype(np.int64))
