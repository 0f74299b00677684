"""Advantage-weighted policies: imitation, shifted towards the actions to which a value network gives higher values.

p(a) is proportional to prior(a) exp(advantage(a) / temperature), where the prior is an imitation network's probability
and the advantage is the value of an action minus the expected value under the prior. At a high temperature the policy
is the prior; towards 0 all probability goes to the action of the highest value among those with a positive prior. The
temperature, in points, can be computed from a mean Kullback-Leibler divergence from the prior, which falls as the
temperature rises.

Shapes: B decisions, A candidates; log probabilities are -inf at padding, and values may be anything there.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from kanachan.data.batch import Batch
from kanachan.data.columns import Columns
from kanachan.inference.behaviour import divergence
from kanachan.inference.bisection import bisected_exponential
from kanachan.inference.policy import Policy, stacked
from kanachan.models.transformer import Output

_REACH = 30.0  # range of the search around the largest advantage, as a logarithm


def advantages(log_prior_BA: Tensor, value_BA: Tensor) -> Tensor:
    """Returns advantage_BA: the value of each action minus its expectation under the prior; 0 where the prior is 0."""
    is_possible_BA = ~log_prior_BA.isneginf()
    value_BA = value_BA.masked_fill(~is_possible_BA, 0.0)
    expected_B1 = (log_prior_BA.exp() * value_BA).sum(dim=1, keepdim=True)
    return (value_BA - expected_B1).masked_fill(~is_possible_BA, 0.0)


def reweighted(log_prior_BA: Tensor, value_BA: Tensor, temperature: float) -> Tensor:
    """Returns log_probability_BA, proportional to the prior times exp(advantage / temperature).

    Args:
        temperature: positive, in the unit of the values; infinity gives the prior.
    """
    is_possible_BA = ~log_prior_BA.isneginf()
    advantage_BA = advantages(log_prior_BA, value_BA)
    # relative to the highest, so that not all are infinite at very low temperatures
    highest_B1 = advantage_BA.masked_fill(~is_possible_BA, -math.inf).amax(dim=1, keepdim=True)
    behind_BA = (advantage_BA - highest_B1).masked_fill(~is_possible_BA, 0.0)
    return (log_prior_BA + behind_BA / temperature).log_softmax(dim=1)


def temperature_of_divergence(log_prior_BA: Tensor, value_BA: Tensor, target: float) -> float:
    """Computes the temperature at which the mean divergence over the decisions is `target`.

    Raises:
        ValueError: the divergence is out of reach.
    """
    log_prior_BA, value_BA = log_prior_BA.double(), value_BA.double()

    def mean_divergence(temperature: float) -> float:
        policy_BA = reweighted(log_prior_BA, value_BA, temperature)
        return float(divergence(policy_BA, log_prior_BA).mean())

    largest = float(advantages(log_prior_BA, value_BA).abs().max())
    if largest == 0:
        raise ValueError("all actions of a decision have the same value, so there is nothing to re-weight by")
    low, high = math.log(largest) - _REACH, math.log(largest) + _REACH
    furthest = mean_divergence(math.exp(low))
    if not mean_divergence(math.exp(high)) < target < furthest:
        raise ValueError(
            f"a divergence of {target} nats is out of reach: always taking the action of the highest value diverges "
            f"by {furthest:.4g}"
        )
    return bisected_exponential(lambda temperature: mean_divergence(temperature) > target, low, high)


class AdvantagePolicy(Policy):
    """An imitation policy re-weighted by the advantages of a value network, with the interface of imitation.

    Scores are log probabilities of the re-weighted policy; the value of a decision is that of the value network.

    Args:
        prior: of the stage imitation.
        value: of a later stage.
        temperature: see `reweighted`; in the points of the value's stage.

    Raises:
        ValueError: the stages do not fit, the temperature is not positive, or the two differ in the vocabulary or in
            `actor_first`.
    """

    def __init__(self, prior: Policy, value: Policy, temperature: float = math.inf) -> None:
        if "probabilities" not in prior.objective.prediction_fields:
            raise ValueError(
                f"a network after {prior.stage} is not a prior: imitation is needed, which has probabilities"
            )
        if not value.objective.has_value:
            raise ValueError(f"a network after {value.stage} has no values to re-weight by: name one of a later stage")
        theirs, ours = value.vocabulary.fingerprint, prior.vocabulary.fingerprint
        if theirs != ours:
            raise ValueError(f"the values have the vocabulary {theirs}, the prior {ours}: they must be the same")
        if value.actor_first != prior.actor_first:
            raise ValueError(
                f"the values were trained with data.actor_first={value.actor_first}, the prior with "
                f"{prior.actor_first}: they must be the same"
            )
        if not temperature > 0:
            raise ValueError(f"the temperature of advantages must be positive, not {temperature}")
        super().__init__(prior.objective, actor_first=prior.actor_first, card=prior.card, device=prior.device)
        self.prior = prior
        self.value = value
        self.advantage_temperature = temperature

    def with_temperature(self, temperature: float) -> "AdvantagePolicy":
        """Returns the same policy with another temperature of the advantages."""
        return AdvantagePolicy(self.prior, self.value, temperature)

    @property
    def meaning(self) -> str:
        """A description, for people, of `Prediction.shown`."""
        return (
            f"probability: imitation re-weighted by the {self.value.meaning.partition(';')[0]}, temperature "
            f"{self.advantage_temperature:,.4g}"
        )

    @torch.inference_mode()
    def output_and_value(self, batch: Batch) -> tuple[Output, Tensor | None]:
        """Returns one number for each candidate, its log probability, the rest of the prior's output, and value_B."""
        log_prior_BA, value_BA, output, value_B = self.evaluate_all(batch)
        log_probability_BA = reweighted(log_prior_BA, value_BA, self.advantage_temperature)
        return output._replace(candidate_BAK=log_probability_BA.float()[:, :, None]), value_B

    def temperature_of(self, columns: Columns, target: float, batch: int, progress: Callable[[int], object]) -> float:
        """Computes the temperature at which the mean divergence from the prior over these decisions is `target`.

        Args:
            batch: decisions in a batch; `progress` is called with the size of each batch.
        """
        log_priors, values = [], []
        for first in range(0, len(columns), batch):
            rows = self.batch(columns.rows(first, first + batch)).to(self.device)
            log_prior_BA, value_BA, *_ = self.evaluate_all(rows)
            log_priors.append(log_prior_BA.cpu())
            values.append(value_BA.cpu())
            progress(len(rows))
        return temperature_of_divergence(stacked(log_priors), stacked(values), target)

    @torch.inference_mode()
    def evaluate_all(self, batch: Batch) -> tuple[Tensor, Tensor, Output, Tensor | None]:
        """Returns log_prior_BA and value_BA as 64-bit floats, the prior's output, and value_B before the action."""
        output = self.prior.output(batch)
        log_prior_BA = self.prior.objective.score(output).double().log_softmax(dim=1)
        valued, value_B = self.value.output_and_value(batch)
        return log_prior_BA, self.value.objective.score(valued).double(), output, value_B
