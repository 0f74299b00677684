"""Oracle guiding: a network that sees hidden tokens at first, and then fewer and fewer of them.

Suphx (Li et al. 2020, arXiv:2003.13590, section 3.3) trains a player with perfect information and takes it away by
dropout whose rate rises to 1, so that what was learned with it is kept. Here the embeddings of hidden tokens, which are
0 before the first step, are added to the vector of the summary token: so a network starts with exactly the predictions
of the weights that it is made of. As tokens of their own they would take attention from all others whatever their
embeddings are: the policy `reference` would start 0.5 nats from itself. When the last hidden token is gone the
embeddings are dropped, and the weights are like any others.
"""

from kanachan.config import TrainConfig

_DECAY = 0.75
"""share of the steps in which the probability falls"""


class HiddenShare:
    """The probability with which a hidden token is in the batches of a step: falls linearly, then is 0.

    Args:
        start: at the first step.
        total_steps: of the run.
    """

    def __init__(self, start: float, total_steps: int) -> None:
        self._start = start
        self._last = max(1, round(_DECAY * total_steps))

    def __call__(self, step: int) -> float:
        return self._start * max(0.0, 1 - step / self._last)

    @classmethod
    def of_run(cls, config: TrainConfig, total_steps: int) -> "HiddenShare | None":
        """Returns that of a run; None if it is not guided."""
        return cls(config.policy.oracle, total_steps) if config.policy.oracle else None
