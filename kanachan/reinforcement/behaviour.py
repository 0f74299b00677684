"""The distribution by which actions are sampled from the scores of a network.

Shapes: B decisions, A candidates.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

MOST_DISAGREEMENT = 0.05
"""limit in nats of the mean difference between recomputed and recorded log-probabilities: else another policy played"""


@dataclass(frozen=True)
class Behaviour:
    """A distribution over the candidates, as `kanachan.inference.choice.choose` samples from it."""

    temperature: float
    """divisor of the scores; the distribution is the softmax of the quotients"""
    explore: float = 0.0
    """share of actions that are drawn from all candidates with equal probabilities"""

    def log_probabilities(self, score_BA: Tensor) -> Tensor:
        """Returns log_probability_BA, float64; -inf at padding, where the scores are -inf too."""
        log_BA = (score_BA.double() / self.temperature).log_softmax(dim=1)
        if not self.explore:
            return log_BA
        is_candidate_BA = score_BA > -math.inf
        uniform_B1 = math.log(self.explore) - is_candidate_BA.sum(dim=1, keepdim=True).log()
        sampled_BA = log_BA + math.log1p(-self.explore) if self.explore < 1 else torch.full_like(log_BA, -math.inf)
        return torch.logaddexp(sampled_BA, uniform_B1).masked_fill(~is_candidate_BA, -math.inf)


def of_actions(log_BA: Tensor, chosen_B: Tensor) -> Tensor:
    """Returns the log-probabilities of the actions taken [B]."""
    return log_BA.gather(1, chosen_B[:, None])[:, 0]


def divergence(log_BA: Tensor, reference_BA: Tensor) -> Tensor:
    """Computes the Kullback-Leibler divergence of each row from a reference row [B], in nats. `log_BA, reference_BA`:
    log-probabilities; -inf at padding."""
    probability_BA = log_BA.exp()
    # where the probability is 0, the difference of infinite numbers would give NaN gradients
    difference_BA = (log_BA - reference_BA).masked_fill(probability_BA == 0, 0.0)
    return (probability_BA * difference_BA).sum(dim=1)
