"""Formats evaluations of reward predictors as text."""

import math
from collections.abc import Mapping

from kanachan.evaluation.reward_evaluation import RewardEvaluation
from kanachan.evaluation.tables import table, with_interval

TITLE = "Reward: how games end, predicted at the starts of their rounds"


def reward_tables(evaluations: Mapping[str, RewardEvaluation], num_seats: int) -> str:
    """Formats all tables, with the predictors under their letters; differences are from the first."""
    first, *others = evaluations
    groups = evaluations[first].log_likelihood
    header = ["log-likelihood of the order", "rounds", *(letter or "nats" for letter in evaluations)]
    rows = [
        [name, f"{estimate.decisions:,}", *(with_interval(e.log_likelihood[name], 3) for e in evaluations.values())]
        for name, estimate in groups.items()
    ]
    rows.append(["chance", "", *(f"{-math.log(math.factorial(num_seats)):.3f}" for _ in evaluations)])
    parts = [f"{TITLE}\n{'=' * len(TITLE)}", table(header, rows)]
    if others:
        rows = [
            [name, *(with_interval(evaluations[letter].less_first[name], 4, sign="+") for letter in others)]
            for name in groups
        ]
        parts.append(table(["gain of the log-likelihood", *(f"{letter} - {first}" for letter in others)], rows))
    header = ["explained variance of grading points, %", *(letter or "" for letter in evaluations)]
    rows = [
        [name, *(with_interval(e.explained_variance[name], 1, 100) for e in evaluations.values())]
        for name in evaluations[first].explained_variance
    ]
    parts.append(table(header, rows))
    if others:
        rows = [
            [name, *(with_interval(evaluations[letter].skill_over_first[name], 1, 100, sign="+") for letter in others)]
            for name in evaluations[first].explained_variance
        ]
        parts.append(table(["skill %, grading points", *(f"{letter} over {first}" for letter in others)], rows))
    return "\n\n".join(parts)
