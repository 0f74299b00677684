"""The target of stage critic, from which stage policy makes advantages: the returns of the seats in the round of each
decision.

Shapes: B decisions, S seats.
"""

import hashlib

from kanachan.data.loader import Labeller
from kanachan.data.round_shards import open_rounds
from kanachan.data.shards import Shards
from kanachan.inference.reward_predictor import RewardPredictor
from kanachan.models.card import file_hash
from kanachan.reinforcement.returns import RoundReturns, Utility, counted_from_actor


class ReturnLabelling:
    """Makes the soft labels label_BS of a split: the returns of the actor, the next seat and so on, NaN if they are
    unknown. `reward`: weights of a reward predictor; None if the utility needs none. Raises
    ValueError: it is not one."""

    def __init__(self, reward: str | None, utility: Utility) -> None:
        self.utility = utility
        self._predictor = None if reward is None else RewardPredictor.load(reward)
        self.sha256 = None if reward is None else file_hash(reward)
        """of the reward predictor's file"""

    def __call__(self, shards: Shards) -> Labeller:
        """Returns the labels of a split; raises ValueError if there are no rounds of it, or of another vocabulary."""
        if self._predictor is not None:
            shards.require(self._predictor.vocabulary, "the reward predictor")
        rounds = open_rounds(shards.folder, shards.split)
        returns = RoundReturns(rounds, self._predictor, self.utility, shards.vocabulary)
        fingerprint = hashlib.sha256(f"{self.sha256} {self.utility}".encode()).hexdigest()
        return Labeller(fingerprint, lambda columns: counted_from_actor(returns.of(columns), columns.seat))
