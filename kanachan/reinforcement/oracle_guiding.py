"""Oracle guiding: a network that sees hidden tokens at first, and then fewer and fewer of them.

Suphx (Li et al. 2020, arXiv:2003.13590, section 3.3) trains a player with perfect information and takes it away by
dropout whose rate rises to 1, so that what was learned with it is kept. Here the embeddings of hidden tokens, which are
0 before the first step, are added to the vector of the summary token: so a network starts with exactly the predictions
of the weights that it is made of. As tokens of their own they would take attention from all others whatever their
embeddings are: the policy `reference` would start 0.5 nats from itself. When the last hidden token is gone the
embeddings are dropped, and the weights are like any others.
"""

from collections.abc import Callable

HiddenShare = Callable[[int], float]
"""the probability with which a hidden token is in the batches of a step"""
_DECAY = 0.75
"""share of the steps in which the probability falls"""


def hidden_share(start: float, total_steps: int) -> HiddenShare | None:
    """Returns a probability that falls linearly from `start` to 0; None if that is 0: the run is not guided."""
    last = max(1, round(_DECAY * total_steps))
    return (lambda step: start * max(0.0, 1 - step / last)) if start else None
