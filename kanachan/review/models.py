"""Describes the networks of a review, and how much a player's choices differ from the networks' choices.

A network with probabilities rates the game (`kanachan.review.rating`); an action with a probability below BAD_MOVE is a
bad move. A decision differs if its gap divided by the network's scale is at least the threshold of the review.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from annotate.runtime.json_output import rounded
from kanachan.evaluation.decision_metrics import KINDS
from kanachan.inference.policy import Policy
from kanachan.review.predictions import ReviewedPrediction
from kanachan.review.rating import place_in, rating_of

Data = dict[str, Any]

ALL = "all"
"""row of the summary for all kinds of decisions"""
BAD_MOVE = 0.05
"""probability below which an action taken is a bad move"""
_SPREAD_QUANTILE = 0.9
_NOT_EVALUATED = "the card of the weights does not state whether these values are better than the scores alone"


@dataclass(frozen=True, slots=True)
class Reviewer:
    """A policy and its name in the review."""

    name: str
    policy: Policy
    rating_scale: Data | None = None
    """the result of `kanachan.review.rating.scale_of`"""

    @property
    def has_probability(self) -> bool:
        return not self.policy.objective.has_value

    def scale(self, rows: Sequence[ReviewedPrediction]) -> float:
        """Returns the divisor of gaps: 1 for probabilities; for values, a large spread in this game."""
        if self.has_probability:
            return 1.0
        return float(np.quantile([row.spread for row in rows], _SPREAD_QUANTILE)) or 1.0


def model_of(
    reviewer: Reviewer, kinds: Sequence[Sequence[str]], rows: Sequence[ReviewedPrediction], answers: Sequence[Data]
) -> Data:
    """Returns the description of a network and its results for the whole game."""
    policy = reviewer.policy
    num_bad = sum(answer["is_bad"] for answer in answers)
    has_rating = reviewer.has_probability
    rating = rating_of(rows) if has_rating else 0.0
    return {
        "name": reviewer.name,
        "stage": policy.stage,
        "meaning": policy.meaning,
        "unit": "probability" if reviewer.has_probability else policy.objective.value_unit,
        "scale": rounded(reviewer.scale(rows)),
        **_standing(policy),
        "rating": rounded(rating) if has_rating else None,
        "rating_scale": place_in(reviewer.rating_scale, rating) if has_rating else None,
        "differing": sum(answer["differs"] for answer in answers),
        "bad_moves": num_bad if has_rating else None,
        "bad_moves_per_100": rounded(100 * num_bad / len(rows)) if has_rating else None,
        "summary": _summary(reviewer, kinds, rows),
        "worst": _worst(rows, answers),
    }


def answers_of(reviewer: Reviewer, rows: Sequence[ReviewedPrediction], threshold: float) -> list[Data]:
    """Returns a network's answer to each decision."""
    scale = reviewer.scale(rows)
    return [_answer(reviewer, row, scale, threshold) for row in rows]


def _answer(reviewer: Reviewer, prediction: ReviewedPrediction, scale: float, threshold: float) -> Data:
    chosen, gap = prediction.chosen, rounded(prediction.gap / scale)
    return {
        "shown": _rounded(prediction.shown),
        "best": prediction.best,
        "loss": _rounded(prediction.loss),
        "gap": gap,
        "differs": prediction.best != chosen and gap >= threshold,
        "is_bad": reviewer.has_probability and float(prediction.shown[chosen]) < BAD_MOVE,
        "rank_probability": _rounded(prediction.rank_probability),
        "expected": _rounded(prediction.expected),
        "expected_ranks": _rounded(prediction.expected_ranks),
    }


def _standing(policy: Policy) -> Data:
    """Returns the comparison with a prediction from the scores alone in the network's card, and a caveat."""
    verdict = (policy.card.get("evaluation") or {}).get("verdict")
    found: Data = {"caveat": None, "caveat_kind": None, "evaluation": None}
    if verdict is None:
        has_value = policy.objective.has_value
        return {**found, "caveat": _NOT_EVALUATED, "caveat_kind": "not_evaluated"} if has_value else found
    less = verdict.get("less_scores")
    if less is not None:
        found["evaluation"] = {"difference": less["value"], "interval": [less["low"], less["high"]]}
    if not verdict["is_better"]:
        found |= {"caveat": verdict["sentence"], "caveat_kind": "not_better"}
    return found


def _rounded(value: Any) -> Any:
    if value is None:
        return None
    return [_rounded(v) for v in value] if np.ndim(value) else rounded(float(value))


def _worst(rows: Sequence[ReviewedPrediction], answers: Sequence[Data]) -> list[int]:
    """Returns the decisions in which the network prefers another action, by descending gap."""
    others = [i for i, row in enumerate(rows) if row.best != row.chosen]
    return sorted(others, key=lambda i: -answers[i]["gap"])


def _summary(reviewer: Reviewer, kinds: Sequence[Sequence[str]], rows: Sequence[ReviewedPrediction]) -> list[Data]:
    """Returns for each kind of decision the number of decisions, how often the action taken is the network's best, the
    mean probability of the action taken (None for values) and the mean loss."""
    table = []
    for kind in (ALL, *KINDS):
        of_kind = [row for row, offered in zip(rows, kinds, strict=True) if kind in (ALL, *offered)]
        if not of_kind:
            continue
        shown = [float(row.shown[row.chosen]) for row in of_kind]
        table.append(
            {
                "kind": kind,
                "decisions": len(of_kind),
                "agreed": sum(row.best == row.chosen for row in of_kind),
                "mean_probability": _rounded(np.mean(shown)) if reviewer.has_probability else None,
                "mean_loss": _rounded(np.mean([row.loss for row in of_kind])),
            }
        )
    return table
