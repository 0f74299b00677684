"""The temperature by which a network's logits are divided so that its probabilities come true: one number, fitted to
held-out decisions by maximum likelihood. What is best stays best; only how certain the network says it is changes.

A rank network has two: what it says of the ranks after an action, and of the order of the seats before it, are logits
of different heads.

Shapes: B decisions, A answers (imitation: the candidates, padded with -inf; rank: the ranks; summary: the orders).
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from kanachan.data.columns import Columns
from kanachan.evaluation.bootstrap import REPLICATES, Estimate, cluster_bootstrap, ratio_statistic
from kanachan.evaluation.calibration import calibration_statistic
from kanachan.inference.bisection import bisected_exponential
from kanachan.inference.policy import NetworkPolicy, stacked

LOWEST, HIGHEST = 0.01, 100.0
_ROWS_AT_ONCE = 1 << 16


class CalibrationData(NamedTuple):
    """What a network was asked and how it came out."""

    logit_BA: Tensor
    """float32, as they come from the network, not divided by the temperature of its card"""
    answer_B: Tensor
    """int64: what came true (imitation: the action taken; rank: the actor's rank, after the action taken)"""
    game_B: Tensor
    """int64"""


@torch.inference_mode()
def collect_logits(
    policy: NetworkPolicy, columns: Columns, batch: int, progress: Callable[[int], object]
) -> dict[str, CalibrationData]:
    """Evaluates a network on every row, `batch` at a time; `progress` is called with how many.

    Returns:
        Data by the name of the temperature that they are for (`kanachan.objectives.objective.Objective.calibratable`).
    """
    assert policy.objective.temperatures
    logits, answers = defaultdict(list), defaultdict(list)
    for first in range(0, len(columns), batch):
        rows = policy.batch(columns.rows(first, first + batch)).to(policy.device)
        for name, (logit_BA, answer_B) in policy.objective.calibratable(policy.network(rows), rows).items():
            logits[name].append(logit_BA.cpu())
            answers[name].append(answer_B.cpu())
        progress(len(rows))
    game_B = torch.from_numpy(columns.game.view(np.int64).copy())
    return {name: CalibrationData(stacked(logits[name]), torch.cat(answers[name]), game_B) for name in logits}


def fitted_temperature(logit_BA: Tensor, answer_B: Tensor) -> float:
    """The temperature of the smallest mean negative log-likelihood, which is convex in its reciprocal.

    Raises:
        ValueError: it is not between LOWEST and HIGHEST, because the greatest logit is always right, or logits say no
            more than chance.
    """
    if _slope(logit_BA, answer_B, LOWEST) <= 0:
        raise ValueError(
            f"no temperature down to {LOWEST} is best: on these decisions the network's first choice is always right; "
            "take more decisions"
        )
    if _slope(logit_BA, answer_B, HIGHEST) >= 0:
        raise ValueError(
            f"no temperature up to {HIGHEST:g} is best: on these decisions the network is no better than chance; train "
            "it longer, or take more decisions"
        )
    return bisected_exponential(
        lambda temperature: _slope(logit_BA, answer_B, temperature) > 0, math.log(LOWEST), math.log(HIGHEST)
    )


def _slope(logit_BA: Tensor, answer_B: Tensor, temperature: float) -> float:
    """The derivative of the mean negative log-likelihood by 1 / temperature: the expected logit less that of the
    answer. Positive: the network is too certain."""
    total = 0.0
    for first in range(0, len(answer_B), _ROWS_AT_ONCE):
        chunk_BA = logit_BA[first : first + _ROWS_AT_ONCE].double()
        answer_B1 = answer_B[first : first + _ROWS_AT_ONCE, None]
        probability_BA = (chunk_BA / temperature).softmax(dim=1)
        # 0 times -inf at padding is no number
        expected_B = (probability_BA * chunk_BA.masked_fill(chunk_BA.isneginf(), 0.0)).sum(dim=1)
        total += float((expected_B - chunk_BA.gather(1, answer_B1)[:, 0]).sum())
    return total / len(answer_B)


def certainty_metrics(
    questions: CalibrationData, temperature: float, replicates: int = REPLICATES
) -> dict[str, Estimate]:
    """`nll`, `ece` and `top1` (as `decision_metrics` has them) of the logits divided by `temperature`."""
    log_BA = (questions.logit_BA / temperature).log_softmax(dim=1)
    top_B1, answer_B1 = log_BA.argmax(dim=1, keepdim=True), questions.answer_B[:, None]
    is_top_B = (top_B1 == answer_B1)[:, 0].numpy()
    confidence_B = log_BA.gather(1, top_B1)[:, 0].exp().numpy()
    formulas = {
        "nll": ratio_statistic(-log_BA.gather(1, answer_B1)[:, 0].double().numpy()),
        "top1": ratio_statistic(is_top_B),
        "ece": calibration_statistic(confidence_B, is_top_B),
    }
    return cluster_bootstrap(questions.game_B.numpy(), formulas, replicates)


def calibrated_card(
    card: dict[str, Any],
    questions: Mapping[str, CalibrationData],
    replicates: int = REPLICATES,
    **about: Any,
) -> dict[str, Any]:
    """The card with the fitted temperatures, and under `calibration` the figures without them and with them; those of
    the summary under `summary` there.

    Args:
        about: what else is to be known of the decisions: where they are from.
    """
    temperatures: dict[str, float] = {name: _fitted(name, asked) for name, asked in questions.items()}
    figures = {
        name: {
            when: {key: figure._asdict() for key, figure in certainty_metrics(asked, divisor, replicates).items()}
            for when, divisor in (("before", 1.0), ("after", temperatures[name]))
        }
        for name, asked in questions.items()
    }
    asked = questions["temperature"]
    calibration = {**about, "games": len(np.unique(asked.game_B.numpy())), "decisions": len(asked.answer_B)}
    calibration |= figures["temperature"]
    if "summary_temperature" in figures:
        calibration["summary"] = figures["summary_temperature"]
    return {**card, **temperatures, "calibration": calibration}


def _fitted(name: str, asked: CalibrationData) -> float:
    try:
        return fitted_temperature(asked.logit_BA, asked.answer_B)
    except ValueError as error:
        if name == "temperature":
            raise
        raise ValueError(f"the order of the seats: {error}") from None
