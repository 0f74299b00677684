"""The loss of the reward predictor's predictions after a round."""

from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import RewardConfig
from kanachan.data.round_batch import Games, RoundBatch
from kanachan.objectives.reward import RewardObjective, build_reward_predictor
from tests.support.random_rounds import random_rounds

ROUNDS = random_rounds(games=3, seed=0)


def batch_of_games() -> RoundBatch:
    return RoundBatch.of(ROUNDS, Games.of(ROUNDS), np.arange(3))


@torch.no_grad()
def test_a_rounds_target_is_the_prediction_at_the_next_round_or_else_the_outcome() -> None:
    torch.manual_seed(0)
    network, objective = build_reward_predictor(RewardConfig(width=8), FOUR_PLAYERS)
    torch.nn.init.normal_(network.head.weight, std=0.3)
    torch.nn.init.normal_(network.after_round.head.weight, std=0.3)
    batch = batch_of_games()
    is_followed_N = batch.is_followed_N.clone()
    is_followed_N[2] = False  # the next round is not known
    batch = replace(batch, is_followed_N=is_followed_N)
    start, losses = network(batch.state), []
    for row in range(len(ROUNDS)):
        state = batch.state.at([row])
        for seat in range(4):
            points = batch.delta_NS[row, seat].view(1, 1)
            change_Y = network.after_round(network.features(state)[:, seat], points)[0, 0]
            log_O = (start.order_XSO[row, seat] + change_Y[:24]).log_softmax(dim=0)
            if is_followed_N[row]:
                target_O = start.order_XSO[row + 1, seat].softmax(dim=0)
            else:
                order = network.orders.number(batch.rank_NS[row].roll(-seat)[None])
                target_O = F.one_hot(order, 24)[0].float()
            losses.append(torch.special.xlogy(target_O, target_O).sum() - (target_O * log_O).sum())
    torch.testing.assert_close(
        objective.loss_after_round(network, start, batch)["after_round"], torch.stack(losses).mean()
    )


def test_the_loss_after_a_round_does_not_train_the_prediction_at_its_start() -> None:
    network, objective = build_reward_predictor(RewardConfig(width=8), FOUR_PLAYERS)
    batch = batch_of_games()
    objective.loss_after_round(network, network(batch.state), batch)["loss"].backward()
    trained = {name.split(".")[0] for name, parameter in network.named_parameters() if parameter.grad is not None}
    assert trained == {"after_round"}


def test_the_points_of_all_rounds_are_their_mean_smoothed_counts() -> None:
    objective = RewardObjective()
    points = np.array([[8000, -8000, 0, 0], [1000, 1000, -1000, -1000], [0, 0, 0, 0]], np.int32)
    plain_K = objective.round_bins.smooth(torch.from_numpy(points.ravel()).float()).mean(dim=0)
    torch.testing.assert_close(objective.points_logit(points).exp(), plain_K, rtol=1e-4, atol=1e-6)
