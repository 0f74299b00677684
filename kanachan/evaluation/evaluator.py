"""Evaluates networks on held-out decisions: computes predictions row by row, and metrics from the predictions.

Shapes: B decisions, A candidates, R ranks, O orders of the seats, K outputs of a head.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch

from kanachan.config import StageName
from kanachan.data.columns import Columns
from kanachan.evaluation.baselines import actor_orders
from kanachan.evaluation.bootstrap import Estimate, Floats, cluster_bootstrap, ratio_statistic
from kanachan.evaluation.calibration import Bin, reliability, reliability_of_ranks
from kanachan.evaluation.decision_metrics import DecisionMeter, DecisionRows, concatenated, decision_metrics
from kanachan.evaluation.held_out import HeldOut
from kanachan.evaluation.separate_questions import AnswerMeter, Answers, question_metrics
from kanachan.evaluation.value_metrics import explained_variance_statistic, skill_statistic
from kanachan.evaluation.verdicts import Verdict, less_chance_of_ranks, verdict_on_imitation, verdict_on_values
from kanachan.inference.policy import Policy
from kanachan.models.seat_orders import SeatOrders
from kanachan.objectives.objective import Objective
from kanachan.objectives.rank import Rank
from kanachan.objectives.targets import Results, final_rank

_RANKS = "rank_probability/action"


class Predictions(NamedTuple):
    """The predictions of one network for all held-out decisions, in the order of their columns."""

    decisions: DecisionRows
    numbers: dict[str, Floats]
    """inputs of metrics by name, [B] or [B, R]; see `kanachan.objectives.objective.Objective.measured`"""
    answers: Answers | None = None
    """answers to separate questions, if scores are logits"""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The metrics of one network; metrics of quantities that it does not predict are missing."""

    stage: StageName
    games: int
    """number of games from which all metrics are computed"""
    agreement: dict[str, Estimate]
    """`kanachan.evaluation.decision_metrics.decision_metrics`: agreement of the best action with the player's"""
    questions: dict[str, Estimate] = field(default_factory=dict)
    """imitation: `kanachan.evaluation.separate_questions.question_metrics`"""
    values: dict[str, dict[str, Estimate]] = field(default_factory=dict)
    """by predictor: `action` (given the action taken), `situation` (before it), `scores` (the baseline that sees only
    scores and round)"""
    log_likelihood: dict[str, dict[str, Estimate]] = field(default_factory=dict)
    """log-likelihoods by predictor: `rank`, `order`, and of the order at the starts of rounds (`order/start`) and of
    last rounds (`order/last`)"""
    less_scores: dict[str, dict[str, Estimate]] = field(default_factory=dict)
    """`log_likelihood` minus that of `scores`, from the same resamples of games; positive: the network is better"""
    reliability: dict[str, list[Bin]]
    """reliability by deciles of predictions: of `points`, given the action taken, and of the probabilities of ranks"""
    chance: dict[str, Estimate]
    """the metrics of `agreement` for a uniform choice among the possible actions"""
    verdict: Verdict
    """whether the network learned something"""


@torch.inference_mode()
def predictions_of(policy: Policy, columns: Columns, progress: Callable[[int], object]) -> Predictions:
    """Evaluates a network on every row; calls `progress` with the number of rows done."""
    meter = DecisionMeter(policy.vocabulary)
    answer_meter = None if policy.objective.has_value else AnswerMeter(policy.vocabulary)
    decisions: list[DecisionRows] = []
    answers: list[Answers] = []
    numbers: list[dict[str, Floats]] = []
    for rows in policy.batches(columns):
        output = policy.output(rows)
        score_BA = policy.objective.score(output)
        decisions.append(meter.rows(score_BA, rows))
        if answer_meter is not None:
            answers.append(answer_meter.rows(score_BA, rows))
        measured = policy.objective.measured(output, rows)
        numbers.append({name: tensor.double().cpu().numpy() for name, tensor in measured.items()})
        progress(len(rows))
    joined = {name: np.concatenate([part[name] for part in numbers]) for name in numbers[0]}
    return Predictions(concatenated(decisions), joined, concatenated(answers) if answers else None)


def evaluated(objective: Objective, predictions: Predictions, held_out: HeldOut) -> Evaluation:
    """Computes the metrics of a network's predictions."""
    if isinstance(objective, Rank):
        metrics = _of_ranks(objective, predictions.numbers, held_out)
    elif objective.has_value:
        metrics = _of_points(objective, predictions.numbers, held_out)
    else:
        metrics = _of_choices(predictions, held_out)
    return Evaluation(
        stage=objective.stage,
        games=held_out.num_games,
        agreement=decision_metrics(
            predictions.decisions, has_probability=not objective.has_value, replicates=held_out.replicates
        ),
        chance=held_out.chance,
        **metrics,
    )


def _of_choices(predictions: Predictions, held_out: HeldOut) -> dict[str, Any]:
    assert predictions.answers is not None, "scores are logits"
    # chance means that each possible action has the same probability
    gain_B = predictions.decisions.log_probability_B.astype(np.float64) + np.log(held_out.columns.actions.lengths)
    less_chance = cluster_bootstrap(held_out.game_B, {"": ratio_statistic(gain_B)}, held_out.replicates)[""]
    rows = predictions.decisions
    confidence_B, is_top_B = rows.confidence_B.astype(np.float64), rows.is_top_B.astype(np.float64)
    return {
        "questions": question_metrics(predictions.answers, held_out.replicates),
        "reliability": {"best action": reliability(held_out.game_B, confidence_B, is_top_B, held_out.replicates)},
        "verdict": verdict_on_imitation(less_chance, held_out.num_games),
    }


def _of_ranks(objective: Rank, numbers: dict[str, Floats], held_out: HeldOut) -> dict[str, Any]:
    """Computes the metrics of ranks, which are judged by their likelihood."""
    order_BO = held_out.order_by_scores
    orders = SeatOrders(held_out.vocabulary.num_seats)
    rank_BR = orders.rank_probability(torch.from_numpy(order_BO)).numpy()
    log_likelihood, less_scores = _log_likelihood(held_out, numbers, rank_BR, order_BO)
    less_chance = less_chance_of_ranks(log_likelihood["rank"]["action"], orders.num_seats)
    return {
        "values": _values(held_out, numbers, rank_BR @ objective.points_R.double().cpu().numpy()),
        "log_likelihood": log_likelihood,
        "less_scores": less_scores,
        "reliability": _point_reliability(held_out, numbers) | _rank_reliability(held_out, numbers, rank_BR),
        "verdict": verdict_on_values(less_scores["rank"]["action"], less_chance, "nats", held_out.num_games),
    }


def _of_points(objective: Objective, numbers: dict[str, Floats], held_out: HeldOut) -> dict[str, Any]:
    """Computes the metrics of points, which are judged by their squared error."""
    values = _values(held_out, numbers, held_out.mean_by_scores(objective))
    skill, less_chance = values["action"].get("skill"), values["action"]["explained_variance"]
    return {
        "values": values,
        "reliability": _point_reliability(held_out, numbers),
        "verdict": verdict_on_values(skill, less_chance, "squared error", held_out.num_games),
    }


def _values(held_out: HeldOut, numbers: dict[str, Floats], baseline_B: Floats | None) -> dict[str, dict[str, Estimate]]:
    """Computes how well the network and the baseline, `scores`, predict the target."""
    predicted_B = {"action": numbers["action"], "situation": numbers["situation"], "scores": baseline_B}
    return {
        name: _value_estimates(held_out, value_B, numbers["target"], baseline_B)
        for name, value_B in predicted_B.items()
        if value_B is not None
    }


def _value_estimates(
    held_out: HeldOut, value_B: Floats, target_B: Floats, baseline_B: Floats | None
) -> dict[str, Estimate]:
    """Computes how well values predict their targets; includes `skill` if the baseline is another prediction."""
    error_B = value_B - target_B
    statistics = {"explained_variance": explained_variance_statistic(value_B, target_B)}
    if baseline_B is not None and baseline_B is not value_B:
        statistics["skill"] = skill_statistic(error_B**2, (baseline_B - target_B) ** 2)
    statistics["bias"] = ratio_statistic(error_B)
    statistics["mean_absolute_error"] = ratio_statistic(np.abs(error_B))
    return cluster_bootstrap(held_out.game_B, statistics, held_out.replicates)


def _log_likelihood(
    held_out: HeldOut, numbers: dict[str, Floats], rank_BR: Floats, order_BO: Floats
) -> tuple[dict[str, dict[str, Estimate]], dict[str, dict[str, Estimate]]]:
    columns, vocabulary = held_out.columns, held_out.vocabulary
    of = {name: column for name, column in numbers.items() if name.startswith(("rank/", "order/"))}
    row_B, rank_B = np.arange(len(columns)), final_rank(Results.of_columns(columns, vocabulary)).numpy()
    of["rank/scores"] = np.log(rank_BR[row_B, rank_B])
    of["order/scores"] = np.log(order_BO[row_B, actor_orders(columns, vocabulary)])
    log_likelihood, less_scores = {}, {}
    for group, where_B in {"rank": None, "order": None, **held_out.starts}.items():
        prefix = group.partition("/")[0] + "/"
        value_of = {name.removeprefix(prefix): value_B for name, value_B in of.items() if name.startswith(prefix)}
        ratios = {name: ratio_statistic(value_B, where_B) for name, value_B in value_of.items()}
        log_likelihood[group] = cluster_bootstrap(held_out.game_B, ratios, held_out.replicates)
        scores_B = value_of.pop("scores")
        ratios = {name: ratio_statistic(value_B - scores_B, where_B) for name, value_B in value_of.items()}
        less_scores[group] = cluster_bootstrap(held_out.game_B, ratios, held_out.replicates)
    return log_likelihood, less_scores


def _point_reliability(held_out: HeldOut, numbers: dict[str, Floats]) -> dict[str, list[Bin]]:
    return {"points": reliability(held_out.game_B, numbers["action"], numbers["target"], held_out.replicates)}


def _rank_reliability(held_out: HeldOut, numbers: dict[str, Floats], scores_BR: Floats) -> dict[str, list[Bin]]:
    columns, vocabulary, replicates = held_out.columns, held_out.vocabulary, held_out.replicates
    groups = {"rank": np.ones(len(columns), bool), "rank, last round": held_out.is_last_B}
    bins = reliability_of_ranks(columns, numbers[_RANKS], vocabulary, groups, replicates)
    for predictor, probability_BR in (("situation", numbers["rank_probability/situation"]), ("scores", scores_BR)):
        starts = {f"rank at starts of rounds, {predictor}": held_out.starts["order/start"]}
        bins |= reliability_of_ranks(columns, probability_BR, vocabulary, starts, replicates)
    return bins
