"""Calibrates the probabilities of a network by temperature scaling: its logits are divided by a number, fitted to
held-out decisions by maximum likelihood. The most probable class stays the same; only its probability changes.

A rank network has two temperatures, because the ranks after an action and the order of the seats before it are logits
of different heads.

Shapes: B decisions, A classes (imitation: the candidates, padded with -inf; rank: the ranks; summary: the orders).
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from kanachan.data.columns import Columns
from kanachan.evaluation.bootstrap import Estimate, cluster_bootstrap, ratio_statistic
from kanachan.evaluation.calibration import calibration_statistic
from kanachan.inference.policy import Policy, stacked

LOWEST, HIGHEST = 0.01, 100.0
_PRECISION = 1e-9  # precision of the logarithm of the temperature
_ROWS_AT_ONCE = 1 << 16


class CalibrationData(NamedTuple):
    """The logits of a network and the outcomes of the decisions."""

    logit_BA: Tensor
    """float32: logits of the network itself, not divided by the temperature of its card"""
    target_B: Tensor
    """int64: the true class (imitation: the action taken; rank: the actor's rank, after the action taken)"""
    game_B: Tensor
    """int64"""


@torch.inference_mode()
def collect_logits(policy: Policy, columns: Columns, progress: Callable[[int], object]) -> dict[str, CalibrationData]:
    """Evaluates a network on every row, and returns the data for each temperature by its name
    (`kanachan.objectives.objective.Objective.calibratable`); calls `progress` with the number of rows done."""
    assert policy.objective.temperatures
    logits, targets = defaultdict(list), defaultdict(list)
    for rows in policy.batches(columns):
        for name, (logit_BA, target_B) in policy.objective.calibratable(policy.network(rows), rows).items():
            logits[name].append(logit_BA.cpu())
            targets[name].append(target_B.cpu())
        progress(len(rows))
    game_B = torch.from_numpy(columns.game.view(np.int64).copy())
    return {name: CalibrationData(stacked(logits[name]), torch.cat(targets[name]), game_B) for name in logits}


def fitted_temperature(logit_BA: Tensor, target_B: Tensor) -> float:
    """Computes the temperature with the smallest mean negative log-likelihood, which is convex in 1 / temperature.
    Raises ValueError if it is below LOWEST because the highest logit is always right, or above HIGHEST because the
    logits are no better than chance."""
    if _slope(logit_BA, target_B, LOWEST) <= 0:
        raise ValueError(
            f"no temperature down to {LOWEST} is best: on these decisions the network's first choice is always right; "
            "take more decisions"
        )
    if _slope(logit_BA, target_B, HIGHEST) >= 0:
        raise ValueError(
            f"no temperature up to {HIGHEST:g} is best: on these decisions the network is no better than chance; train "
            "it longer, or take more decisions"
        )
    low, high = math.log(LOWEST), math.log(HIGHEST)
    while high - low > _PRECISION:
        middle = (low + high) / 2
        low, high = (middle, high) if _slope(logit_BA, target_B, math.exp(middle)) > 0 else (low, middle)
    return math.exp((low + high) / 2)


def _slope(logit_BA: Tensor, target_B: Tensor, temperature: float) -> float:
    """Computes the derivative of the mean negative log-likelihood by 1 / temperature: the expected logit minus the
    target's logit. If it is positive, the network is overconfident."""
    total = 0.0
    for first in range(0, len(target_B), _ROWS_AT_ONCE):
        chunk_BA = logit_BA[first : first + _ROWS_AT_ONCE].double()
        target_B1 = target_B[first : first + _ROWS_AT_ONCE, None]
        probability_BA = (chunk_BA / temperature).softmax(dim=1)
        # 0 times -inf at padding is NaN
        expected_B = (probability_BA * chunk_BA.masked_fill(chunk_BA.isneginf(), 0.0)).sum(dim=1)
        total += float((expected_B - chunk_BA.gather(1, target_B1)[:, 0]).sum())
    return total / len(target_B)


def certainty_metrics(data: CalibrationData, temperature: float, replicates: int) -> dict[str, Estimate]:
    """Computes `nll`, `ece` and `top1` (as in `decision_metrics`) from the logits divided by `temperature`."""
    log_BA = (data.logit_BA / temperature).log_softmax(dim=1)
    top_B1, target_B1 = log_BA.argmax(dim=1, keepdim=True), data.target_B[:, None]
    is_top_B = (top_B1 == target_B1)[:, 0].numpy()
    confidence_B = log_BA.gather(1, top_B1)[:, 0].exp().numpy()
    statistics = {
        "nll": ratio_statistic(-log_BA.gather(1, target_B1)[:, 0].double().numpy()),
        "top1": ratio_statistic(is_top_B),
        "ece": calibration_statistic(confidence_B, is_top_B),
    }
    return cluster_bootstrap(data.game_B.numpy(), statistics, replicates)


def calibrated_card(
    card: dict[str, Any], data: Mapping[str, CalibrationData], replicates: int, **about: Any
) -> dict[str, Any]:
    """Returns the card with the fitted temperatures and, under `calibration`, the metrics without and with them (under
    `summary` for the summary), but without an evaluation at former temperatures. `about`: further entries of
    `calibration` about the source of the decisions."""
    temperatures = {name: fitted_temperature(part.logit_BA, part.target_B) for name, part in data.items()}
    metrics = {
        name: {
            when: certainty_metrics(part, divisor, replicates)
            for when, divisor in (("before", 1.0), ("after", temperatures[name]))
        }
        for name, part in data.items()
    }
    first = data["temperature"]
    calibration = {**about, "games": len(np.unique(first.game_B.numpy())), "decisions": len(first.target_B)}
    calibration |= metrics["temperature"]
    if "summary_temperature" in metrics:
        calibration["summary"] = metrics["summary_temperature"]
    kept = {key: value for key, value in card.items() if key != "evaluation"}
    return {**kept, **temperatures, "calibration": calibration}
