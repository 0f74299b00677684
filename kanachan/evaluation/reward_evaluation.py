"""Evaluates reward predictors at the starts of the rounds of held-out games.

Shapes: N rounds, S seats, R replicates.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from annotate.vocabulary import Vocabulary
from kanachan.data.round_columns import RoundColumns
from kanachan.evaluation.bootstrap import Estimate, Floats, cluster_bootstrap, ratio_statistic
from kanachan.evaluation.calibration import Mask, is_last_round
from kanachan.evaluation.value_metrics import explained_variance_statistic, skill_statistic
from kanachan.inference.reward_predictor import RewardPredictor
from kanachan.objectives.reward import true_orders

ALL, LAST = "all rounds", "last rounds"
_WINDS = ("East", "South")


class RewardRows(NamedTuple):
    """The predictions of a reward predictor at the start of each round."""

    log_likelihood_N: Floats
    """log probability of the game's final order, as a mean over the seats' predictions, which agree"""
    points_NS: Floats
    """expected grading points"""


@dataclass(frozen=True)
class RewardEvaluation:
    """The metrics of a reward predictor by groups of rounds: `all rounds`, `last rounds`, `East 1` …"""

    log_likelihood: dict[str, Estimate]
    """log-likelihood of the order of the seats, in nats"""
    explained_variance: dict[str, Estimate]
    """explained variance of the grading points, in all and in last rounds"""
    less_first: dict[str, Estimate]
    """`log_likelihood` minus another predictor's, from the same resamples of games"""
    skill_over_first: dict[str, Estimate]
    """reduction of the squared error of grading points, as a share of the other predictor's error"""


def rows_of(predictor: RewardPredictor, rounds: RoundColumns) -> RewardRows:
    """Predicts all rounds, which must be rounds of whole games, in order."""
    outcome = predictor.of_rounds(rounds)
    rank_NS = torch.from_numpy(rounds.rank.astype(np.int64)).to(predictor.network.orders.number_SO.device)
    order_NS = true_orders(predictor.network, rank_NS).cpu()
    log_NS = outcome.order_log_probability.gather(-1, order_NS[..., None])[..., 0]
    return RewardRows(log_NS.double().mean(dim=1).numpy(), outcome.grading_points.double().numpy())


def groups_of_rounds(rounds: RoundColumns, vocabulary: Vocabulary) -> dict[str, Mask]:
    """Returns a mask of rounds [N] for each group that occurs. Last rounds are the last regular round and any later."""
    is_last_N = is_last_round(rounds.wind, rounds.dealer, rounds.style, vocabulary.num_seats)
    groups = {ALL: np.ones(len(rounds), bool), LAST: is_last_N}
    for wind, name in enumerate(_WINDS):
        for dealer in range(vocabulary.num_seats):
            groups[f"{name} {dealer + 1}"] = (rounds.wind == wind) & (rounds.dealer == dealer)
    groups["West"] = rounds.wind >= len(_WINDS)
    return {name: where_N for name, where_N in groups.items() if where_N.any()}


def evaluate_rewards(
    rows: RewardRows,
    rounds: RoundColumns,
    vocabulary: Vocabulary,
    first: RewardRows | None,
    replicates: int,
) -> RewardEvaluation:
    """Computes the metrics of a predictor. `first`: the predictions of another predictor, for comparison."""
    groups, game_N = groups_of_rounds(rounds, vocabulary), rounds.game.view(np.int64)
    main = {name: groups[name] for name in (ALL, LAST) if name in groups}
    likelihoods = {name: ratio_statistic(rows.log_likelihood_N, where_N) for name, where_N in groups.items()}
    target_NS = rounds.grading_delta.astype(np.float64)
    explained = {name: _explained(rounds, rows.points_NS, where_N, replicates) for name, where_N in main.items()}
    less_first: dict[str, Estimate] = {}
    skill: dict[str, Estimate] = {}
    if first is not None:
        gain_N = rows.log_likelihood_N - first.log_likelihood_N
        gains = {name: ratio_statistic(gain_N, where_N) for name, where_N in groups.items()}
        less_first = cluster_bootstrap(game_N, gains, replicates)
        square_N, first_square_N = (((of.points_NS - target_NS) ** 2).sum(axis=1) for of in (rows, first))
        skills = {name: skill_statistic(square_N, first_square_N, where_N) for name, where_N in main.items()}
        skill = cluster_bootstrap(game_N, skills, replicates)
    return RewardEvaluation(cluster_bootstrap(game_N, likelihoods, replicates), explained, less_first, skill)


def _explained(rounds: RoundColumns, points_NS: Floats, where_N: Mask, replicates: int) -> Estimate:
    """Computes the explained variance of the grading points of all seats over some rounds."""
    value_B, target_B = points_NS[where_N].ravel(), rounds.grading_delta[where_N].ravel().astype(np.float64)
    game_B = np.repeat(rounds.game[where_N].view(np.int64), points_NS.shape[1])
    return cluster_bootstrap(game_B, {"": explained_variance_statistic(value_B, target_B)}, replicates)[""]
