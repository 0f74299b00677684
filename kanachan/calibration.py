"""The temperature by which a network's logits are divided so that its probabilities come true: one number, fitted to
held-out decisions by maximum likelihood. What is best stays best; only how certain the network says it is changes.

Shapes: B decisions, A answers (imitation: the candidates, padded with -inf; rank: the ranks).
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from kanachan.checkpoint import TEMPERED_STAGES
from kanachan.columns import Columns
from kanachan.metrics import REPLICATES, Figure, calibration_formula, figures_of, ratio_formula
from kanachan.objectives import Rank
from kanachan.policy import Policy

LOWEST, HIGHEST = 0.01, 100.0
_PRECISION = 1e-9  # of the temperature's logarithm
_ROWS_AT_ONCE = 1 << 16


class Questions(NamedTuple):
    """What a network was asked and how it came out."""

    logit_BA: Tensor
    """float32, as they come from the network, not divided by the temperature of its card"""
    answer_B: Tensor
    """int64: what came true (imitation: the action taken; rank: the actor's rank, after the action taken)"""
    game_B: Tensor
    """int64"""


@torch.inference_mode()
def questions_of(policy: Policy, columns: Columns, batch: int, progress: Callable[[int], object]) -> Questions:
    """Asks a network of one of `TEMPERED_STAGES` about every row, `batch` at a time; `progress` is told how many."""
    assert policy.stage in TEMPERED_STAGES
    logits, answers = [], []
    for first in range(0, len(columns), batch):
        rows = policy.batch(columns.rows(first, first + batch)).to(policy.device)
        output = policy.network(rows)
        if isinstance(policy.objective, Rank):
            logits.append(policy.objective.rank_log_probability(output, rows).cpu())
            answers.append(policy.objective.rank(rows).cpu())
        else:
            logits.append(policy.objective.score(output).cpu())
            answers.append(rows.chosen_B.cpu())
        progress(len(rows))
    return Questions(stacked(logits), torch.cat(answers), torch.from_numpy(columns.game.view(np.int64).copy()))


def stacked(parts: Sequence[Tensor]) -> Tensor:
    """Grids [B, A] below one another, the narrower ones padded with -inf."""
    width = max(part.shape[1] for part in parts)
    return torch.cat([F.pad(part, (0, width - part.shape[1]), value=-math.inf) for part in parts])


def fitted_temperature(logit_BA: Tensor, answer_B: Tensor) -> float:
    """The temperature of the smallest mean negative log-likelihood, which is convex in its reciprocal.

    Raises:
        ValueError: it is not between LOWEST and HIGHEST, because the greatest logit is always right, or logits say no
            more than chance.
    """
    low, high = math.log(LOWEST), math.log(HIGHEST)
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
    while high - low > _PRECISION:
        middle = (low + high) / 2
        if _slope(logit_BA, answer_B, math.exp(middle)) > 0:
            low = middle
        else:
            high = middle
    return math.exp((low + high) / 2)


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


def certainty_figures(questions: Questions, temperature: float, replicates: int = REPLICATES) -> dict[str, Figure]:
    """`nll`, `ece` and `top1` (`kanachan.metrics.decision_figures`) of the logits divided by `temperature`."""
    log_BA = (questions.logit_BA / temperature).log_softmax(dim=1)
    top_B1, answer_B1 = log_BA.argmax(dim=1, keepdim=True), questions.answer_B[:, None]
    is_top_B = (top_B1 == answer_B1)[:, 0].numpy()
    confidence_B = log_BA.gather(1, top_B1)[:, 0].exp().numpy()
    formulas = {
        "nll": ratio_formula(-log_BA.gather(1, answer_B1)[:, 0].double().numpy()),
        "top1": ratio_formula(is_top_B),
        "ece": calibration_formula(confidence_B, is_top_B),
    }
    return figures_of(questions.game_B.numpy(), formulas, replicates)


def calibrated_card(
    card: dict[str, Any], questions: Questions, replicates: int = REPLICATES, **about: Any
) -> dict[str, Any]:
    """The card with the fitted `temperature`, and under `calibration` the figures without it and with it.

    Args:
        about: what else is to be known of the decisions: where they are from.
    """
    temperature = fitted_temperature(questions.logit_BA, questions.answer_B)
    figures = {
        name: {key: figure._asdict() for key, figure in certainty_figures(questions, divisor, replicates).items()}
        for name, divisor in (("before", 1.0), ("after", temperature))
    }
    num_games = len(np.unique(questions.game_B.numpy()))
    calibration = {**about, "games": num_games, "decisions": len(questions.answer_B), **figures}
    return {**card, "temperature": temperature, "calibration": calibration}
