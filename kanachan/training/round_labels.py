"""What decisions are credited with by `objective.target=round`: the outcome that is expected after their round.

A reward predictor sees no tiles. So its prediction at the start of the next round is what the round has brought, and
has a fraction of the variance of the outcome of the game, which many later rounds decide. After the last round the
outcome itself is known.

Shapes: N rounds, S seats, B decisions, L numbers of a soft label.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from kanachan.config import ObjectiveConfig, StageName
from kanachan.data.columns import Columns
from kanachan.data.round_columns import RoundColumns, RoundIndex
from kanachan.data.round_shards import open_rounds
from kanachan.data.shards import Shards
from kanachan.inference.reward_predictor import RewardPredictor
from kanachan.models.card import weights_file
from kanachan.objectives.networks import objective_class
from kanachan.objectives.objective import Objective
from kanachan.objectives.prior import require_reward_predictor
from kanachan.objectives.targets import Results


class RoundLabels:
    """Soft labels of decisions, by their round and their seat.

    Args:
        label_NSL: at the start of each round.
        fingerprint: of what computed them.
    """

    def __init__(
        self, rounds: RoundColumns, label_NSL: NDArray[np.float32], objective: Objective, fingerprint: str
    ) -> None:
        self.fingerprint = fingerprint
        self._index = RoundIndex(rounds)
        self._is_followed_N = rounds.is_whole & ~rounds.is_last
        self._label_NSL = label_NSL
        self._objective = objective

    def __call__(self, columns: Columns) -> NDArray[np.float32]:
        """Returns label_BL of decisions as annotated, before seats are rotated: that of the start of the next round, or
        where this is not known, of the outcome of the game."""
        vocabulary = self._objective.vocabulary
        row_B = self._index.rows_of(columns, vocabulary)
        is_followed_B = (row_B >= 0) & self._is_followed_N[row_B]
        label_BL = self._objective.label_of_results(Results.of_columns(columns, vocabulary)).numpy()
        label_BL[is_followed_B] = self._label_NSL[row_B[is_followed_B] + 1, columns.seat[is_followed_B]]
        return label_BL


class RoundLabelling:
    """Computes the soft labels of decisions, those of each split once.

    Args:
        stage: of `config`, whose reward predictor computes them.

    Raises:
        ValueError: it is not a reward predictor.
    """

    def __init__(self, stage: StageName, config: ObjectiveConfig) -> None:
        self._objective_class, self._config = objective_class(stage), config
        self._name = config.reward or config.prior
        assert self._name is not None, "ObjectiveConfig checks it"
        self._predictor = RewardPredictor.load(self._name)
        self._fingerprint = hashlib.sha256(weights_file(self._name).read_bytes()).hexdigest()

    def __call__(self, shards: Shards) -> RoundLabels:
        """Returns the labels of a split.

        Raises:
            ValueError: there are no rounds of it, or the reward predictor does not fit the decisions or the objective.
        """
        objective = self._objective_class(self._config, shards.vocabulary)
        require_reward_predictor(self._predictor.card, objective, f"the reward predictor {self._name}")
        rounds = open_rounds(shards.folder, shards.split)
        label_NSL = objective.label_of_prediction(*self._predictor.of_rounds(rounds)).numpy()
        return RoundLabels(rounds, label_NSL, objective, self._fingerprint)
