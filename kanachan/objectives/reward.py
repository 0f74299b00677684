"""The reward predictor: predicts at the start of each round how the game ends.

Shapes: N rounds, X any leading dimensions, S seats, O orders of the seats, K bins.
"""

from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from annotate.vocabulary import Vocabulary
from kanachan.config import RewardConfig
from kanachan.data.round_batch import RoundBatch
from kanachan.models.reward_network import RewardNetwork, RewardOutput
from kanachan.objectives.hl_gauss import HLGauss

_GRADING_WEIGHT = 0.3  # weight of the loss of the grading points; the loss of the order of the seats has weight 1
_LEAST = 1e-9  # probability of points that do not occur


class Outcome(NamedTuple):
    """The predicted end of a game for a seat."""

    order_log_probability: Tensor
    """[…, O], for the orders of the seats (`kanachan.models.seat_orders.SeatOrders`), place 0 being the seat"""
    grading_points: Tensor
    """[…], the seat's expected grading points"""
    grading_logit: Tensor
    """[…, K], logits of the bins of grading points"""


class RewardObjective(nn.Module):
    """Cross-entropy of the order of the seats, and the loss of each seat's grading points as in stage grading.

    After a round, given a seat's points in it, the targets are the predictions at the start of the next round, or after
    the last round, the outcome. It is a module without parameters, so that its tables move with the network.
    """

    def __init__(self) -> None:
        super().__init__()
        self.bins = HLGauss.of_grading_points()
        self.round_bins = HLGauss.of_round_points()

    def loss(self, output: RewardOutput, batch: RoundBatch, orders_of: RewardNetwork) -> dict[str, Tensor]:
        """Returns the loss of views or of predictions, and its parts: `cross_entropy` of the orders, numbered as in
        `orders_of`, and `grading_points`. All are means over the rounds."""
        order_NS = true_orders(orders_of, batch.rank_NS)
        cross_entropy = F.cross_entropy(output.order_XSO.flatten(0, -2), order_NS.flatten())
        grading = F.cross_entropy(output.grading_XSK.flatten(0, -2), self.bins.smooth(batch.grading_NS.flatten()))
        parts = {"cross_entropy": cross_entropy.detach(), "grading_points": grading.detach()}
        return {"loss": cross_entropy + _GRADING_WEIGHT * grading, **parts}

    def loss_after_round(self, network: RewardNetwork, start: RewardOutput, batch: RoundBatch) -> dict[str, Tensor]:
        """Returns the loss of `network.after_round`, and its parts: `after_round`, the divergence of the orders from
        their targets, and `grading_after_round`. All are means over the rounds. `start`: the network's predictions,
        which this loss does not train."""
        start = RewardOutput(*map(Tensor.detach, start))
        change_NSY = network.after_round(network.features(batch.state), batch.delta_NS[..., None])[..., 0, :]
        output = start.plus(change_NSY)
        is_followed_N11 = batch.is_followed_N[:, None, None]
        order_NSO = F.one_hot(true_orders(network, batch.rank_NS), network.orders.num_orders).float()
        order_NSO = start.order_XSO.softmax(-1).roll(-1, 0).where(is_followed_N11, order_NSO)
        grading_NSK = self.bins.smooth(batch.grading_NS.flatten()).view_as(start.grading_XSK)
        grading_NSK = start.grading_XSK.softmax(-1).roll(-1, 0).where(is_followed_N11, grading_NSK)
        orders, grading = _divergence(output.order_XSO, order_NSO), _divergence(output.grading_XSK, grading_NSK)
        parts = {"after_round": orders.detach(), "grading_after_round": grading.detach()}
        return {"loss": orders + _GRADING_WEIGHT * grading, **parts}

    def points_logit(self, points_N: NDArray[np.int32]) -> Tensor:
        """Returns the log probabilities [K] of the bins of points in a round."""
        value_U, count_U = np.unique(points_N, return_counts=True)
        mass_UK = self.round_bins.smooth(torch.from_numpy(value_U).float()).double()
        mass_K = (torch.from_numpy(count_U)[:, None] * mass_UK).sum(dim=0)
        return (mass_K / mass_K.sum()).clamp(min=_LEAST).log().float()

    def outcome(self, output: RewardOutput) -> Outcome:
        """Returns the prediction for every seat [X, S, …]."""
        log_XSO, grading_XSK = output.order_XSO.log_softmax(dim=-1), output.grading_XSK
        points_XS = (grading_XSK.softmax(dim=-1) * self.bins.points_K).sum(dim=-1)
        return Outcome(log_XSO, points_XS, grading_XSK)


def _divergence(logit_XK: Tensor, target_XK: Tensor) -> Tensor:
    """Returns the mean Kullback-Leibler divergence of predictions from their targets; unlike their cross-entropy, it
    does not depend on the entropy of targets that change in training."""
    divergence_XK = F.kl_div(logit_XK.log_softmax(dim=-1), target_XK, reduction="none")
    return divergence_XK.sum(dim=-1).mean()


def true_orders(network: RewardNetwork, rank_XS: Tensor) -> Tensor:
    """Returns order_XS: the number of the order with these ranks, counted from each seat."""
    order_X = network.orders.number(rank_XS.flatten(0, -2)).view(rank_XS.shape[:-1])
    return network.orders.number_from_SO.T[order_X]


def build_reward_predictor(reward: RewardConfig, vocabulary: Vocabulary) -> tuple[RewardNetwork, RewardObjective]:
    """Builds a new network and its objective; torch's seed determines its weights."""
    return RewardNetwork(reward, vocabulary, HLGauss.COUNT, HLGauss.COUNT), RewardObjective()
