"""The loss of stage policy: a clipped policy gradient, with penalties for divergence from the policy that played.

The behaviour μ took action a with advantage A: the result of the round for the seat, minus the expected one. Let π be
the policy that is trained, π_old its initial policy, and π_fix a further policy, all at the temperature of the games,
and r = π(a) / π_old(a). The loss of a decision is

    - w min(r A, clip(r, 1 - c, 1 + c) A) + β KL(π ‖ π_old) + β' KL(π ‖ π_fix) - α H(π),    w = π_old(a) / μ(a).

w is 1 up to rounding, unless some actions were drawn at random. Then μ is a mixture with equal probabilities, and
clipping around μ would do harm; so the change from π_old is clipped (as in Hilton et al. 2021, "Batch size-invariance
for policy optimization", arXiv:2110.00641).

Shapes: B decisions, A candidates.
"""

from typing import NamedTuple

from torch import Tensor

from kanachan.data.batch import Batch
from kanachan.policy_config import PolicyConfig
from kanachan.reinforcement.behaviour import divergence, of_actions


class Played(NamedTuple):
    """The soft labels of a batch in stage policy (`kanachan.data.batch.Labels.label_BL`)."""

    log_behaviour_B: Tensor
    """log probability of the action in the distribution that it was sampled from"""
    advantage_B: Tensor
    """advantage, divided by a constant so that it is of order one"""
    weight_B: Tensor
    """number of decisions that this one stands for, 1 on average"""

    @classmethod
    def of_batch(cls, batch: Batch) -> "Played":
        assert batch.label_BL is not None
        return cls(*batch.label_BL.unbind(dim=1))


class LogProbabilities(NamedTuple):
    """Log probabilities of the candidates by the three policies; -inf at padding."""

    new_BA: Tensor
    old_BA: Tensor
    fixed_BA: Tensor


def policy_gradient(
    config: PolicyConfig,
    log: LogProbabilities,
    batch: Batch,
    entropy_weight: Tensor | float,
) -> dict[str, Tensor]:
    """Returns `loss`, the mean to be minimised, and further means over the decisions, detached.

    `gradient`: the first term; `importance`: π(a) / μ(a); `clipped`: share of the decisions without a gradient;
    `divergence` and `magnet_divergence` in nats; `entropy` in nats, and `old_entropy`, the entropy of π_old on the
    same decisions; `advantage`; `change` of log π(a), and `advantage_change`, the mean of its product with the
    advantage; `row_weight`.
    """
    played, mask_BA = Played.of_batch(batch), batch.candidate_BA != 0
    new_B, old_B = (of_actions(log_BA, batch.chosen_B) for log_BA in (log.new_BA, log.old_BA))
    advantage_B, weight_B = played.advantage_B, played.weight_B
    ratio_B, importance_B = (new_B - old_B).exp(), (old_B - played.log_behaviour_B).exp()
    clipped_B = ratio_B.clamp(1 - config.clip, 1 + config.clip)
    gained_B = importance_B * (ratio_B * advantage_B).minimum(clipped_B * advantage_B)
    change_B = (new_B - old_B).detach()
    terms = {
        "gradient": -gained_B,
        "divergence": divergence(log.new_BA, log.old_BA),
        "magnet_divergence": divergence(log.new_BA, log.fixed_BA),
        "entropy": entropy(log.new_BA, mask_BA),
        "old_entropy": entropy(log.old_BA, mask_BA),
        "importance": importance_B * ratio_B,
        "clipped": (ratio_B * advantage_B > clipped_B * advantage_B).float(),
        "advantage": advantage_B,
        "change": change_B,
        "advantage_change": advantage_B * change_B,
    }
    means = {name: (weight_B * term_B).mean() for name, term_B in terms.items()}
    loss = means["gradient"] + config.kl * means["divergence"] - entropy_weight * means["entropy"]
    loss = loss + config.magnet_kl * means["magnet_divergence"]
    return {"loss": loss, **{name: mean.detach() for name, mean in means.items()}, "row_weight": weight_B.mean()}


def entropy(log_BA: Tensor, mask_BA: Tensor) -> Tensor:
    """Returns the entropy of a policy [B], in nats."""
    # log probabilities of padding are infinite
    return -(log_BA.exp() * log_BA.masked_fill(~mask_BA, 0.0)).sum(dim=1)
