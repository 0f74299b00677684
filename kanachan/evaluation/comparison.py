"""Compares two networks on the same held-out decisions: differences of their metrics, with intervals, and as text.

Both sides of a difference are computed from the same resamples of games, so that the difficulty of a game affects both
sides and cancels: the interval is far narrower than the intervals of the two metrics suggest.

Shapes: B decisions.
"""

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kanachan.evaluation.bootstrap import FEWEST_GAMES, Estimate, Statistic, cluster_bootstrap, ratio_statistic
from kanachan.evaluation.calibration import Mask
from kanachan.evaluation.decision_metrics import decision_statistics
from kanachan.evaluation.evaluator import Predictions
from kanachan.evaluation.separate_questions import QUESTIONS, question_statistics
from kanachan.evaluation.tables import (
    MISSING,
    PREDICTORS,
    decimals,
    decision_rows,
    question_label,
    table,
    with_interval,
)
from kanachan.evaluation.value_metrics import explained_variance_statistic

_AGREEMENT = ("top1", "nll", "accuracy", "exact", "recall")
_QUESTIONS = ("accuracy", "balanced_accuracy", "log_likelihood")
_LIKELIHOODS = ("rank/action", "rank/situation", "order/situation")


class Difference(NamedTuple):
    """A metric of two networks."""

    reference: float
    other: float
    difference: Estimate
    """other - reference"""
    games: int
    """games with decisions over which the metric is computed; conclusions need at least `FEWEST_GAMES` games"""
    excludes_zero: bool
    """whether the interval excludes zero"""


def compared(
    reference: Predictions,
    other: Predictions,
    game_B: NDArray[np.int64],
    starts: Mapping[str, Mask],
    replicates: int,
) -> dict[str, Difference]:
    """Computes the differences of all metrics that two networks share, named as in the JSON of an evaluation: agreement
    with the player, and other metrics if both predict the same quantities. `starts`: as in `HeldOut`."""
    theirs, ours = (_statistics(predictions, starts) for predictions in (reference, other))
    # targets differ between stages, and between tables of rank points
    has_target = "target" in reference.numbers and "target" in other.numbers
    is_same = has_target and np.array_equal(reference.numbers["target"], other.numbers["target"])
    shared = [name for name in theirs if name in ours and (is_same or not name.startswith("values/"))]
    drawn = cluster_bootstrap(game_B, {name: difference(theirs[name], ours[name]) for name in shared}, replicates)
    their_values, our_values = (
        cluster_bootstrap(game_B, {name: side[name] for name in shared}, replicates=1) for side in (theirs, ours)
    )
    differences = {}
    for name, estimate in drawn.items():
        sides = their_values[name].value, our_values[name].value
        differences[name] = Difference(*sides, estimate, estimate.games, estimate.excludes_zero)
    return differences


def difference(reference: Statistic, other: Statistic) -> Statistic:
    """Returns the statistic of `other` minus `reference`, both computed from the same games."""
    width = len(reference.columns)
    return Statistic(
        (*reference.columns, *other.columns),
        lambda sums_RC: other.statistic(sums_RC[:, width:]) - reference.statistic(sums_RC[:, :width]),
        reference.where_B.astype(bool) & other.where_B.astype(bool),
    )


def _statistics(predictions: Predictions, starts: Mapping[str, Mask]) -> dict[str, Statistic]:
    """Returns a network's metrics for which higher or lower values are clearly better."""
    numbers = predictions.numbers
    agreement = decision_statistics(predictions.decisions, has_probability="target" not in numbers)
    statistics = {f"agreement/{name}": f for name, f in agreement.items() if name.rpartition("/")[2] in _AGREEMENT}
    if predictions.answers is not None:
        questions = question_statistics(predictions.answers)
        statistics |= {f"questions/{name}": f for name, f in questions.items() if name.partition("/")[2] in _QUESTIONS}
    for predictor in ("action", "situation"):
        if predictor in numbers:
            value_B, target_B = numbers[predictor], numbers["target"]
            statistics[f"values/{predictor}/explained_variance"] = explained_variance_statistic(value_B, target_B)
            statistics[f"values/{predictor}/mean_absolute_error"] = ratio_statistic(np.abs(value_B - target_B))
    statistics |= {f"log_likelihood/{name}": ratio_statistic(numbers[name]) for name in _LIKELIHOODS if name in numbers}
    if "order/situation" in numbers:
        for name, where_B in starts.items():
            if where_B.any():
                statistics[f"log_likelihood/{name}/situation"] = ratio_statistic(numbers["order/situation"], where_B)
    return statistics


class _Measure(NamedTuple):
    label: str
    digits: int | None
    """None: as many as a number of this size needs"""
    scale: float = 1.0
    is_better_low: bool = False


_ACCURACY, _RECALL = _Measure("accuracy %", 2, 100), _Measure("recall %", 2, 100)
_NLL = _Measure("NLL", 4, is_better_low=True)
_EXPLAINED = _Measure("explained variance %", 2, 100)
_ERROR = _Measure("mean absolute error", None, is_better_low=True)
_QUESTION_MEASURES = {
    "accuracy": _ACCURACY,
    "balanced_accuracy": _Measure("balanced %", 2, 100),
    "log_likelihood": _Measure("log-likelihood", 4),
}
_LIKELIHOOD_MEASURES = {what: _Measure(f"{what} log-likelihood", 4) for what in ("rank", "order")}
_STARTS = {"order/start": "starts of rounds", "order/last": "starts of last rounds"}


def comparison_tables(reference: str, comparisons: Mapping[str, Mapping[str, Difference]]) -> str:
    """Formats the differences of networks from the first one, `reference`; networks are named by letters."""
    title = f"Differences from {reference}, on the same decisions and the same resamples of games"
    parts = [f"{title}\n{'=' * len(title)}"]
    for letter, comparison in comparisons.items():
        header = [f"{letter} - {reference}", "of", "decisions", reference, letter, "difference", ""]
        rows = [
            [measure.label, of, *_difference_cells(comparison[name], measure)]
            for name, measure, of in _compared_metrics()
            if name in comparison
        ]
        parts.append(table(header, rows, flush_left=2))
    parts.append(
        "*: the interval excludes zero; if networks are equally good, one in twenty does so by chance\n"
        f"few games: the decisions are from fewer than {FEWEST_GAMES} games, too few for reliable intervals\n"
        "metrics that only one of two networks has, or that have different targets, are left out"
    )
    return "\n\n".join(parts)


def _difference_cells(found: Difference, measure: _Measure) -> list[str]:
    digits = decimals(found[0]) if measure.digits is None else measure.digits
    sides = [MISSING if math.isnan(v) else f"{v * measure.scale:z,.{digits}f}" for v in found[:2]]
    mark = ""
    if found.games < FEWEST_GAMES:
        mark = "few games"
    elif found.excludes_zero:
        mark = "worse *" if (found.difference.value < 0) != measure.is_better_low else "better *"
    difference = with_interval(found.difference, digits, measure.scale, sign="+")
    return [f"{found.difference.decisions:,}", *sides, difference, mark]


def _compared_metrics() -> Iterator[tuple[str, _Measure, str]]:
    """Yields the name, the measure and the label of its decisions or predictor, in the order of the rows."""
    kinds = list(decision_rows())
    for label, accuracy, _ in kinds:
        yield f"agreement/{accuracy}", _ACCURACY, label
    for name, measure in (("nll", _NLL), ("recall", _RECALL)):
        for label, accuracy, prefix in kinds:
            if not accuracy.endswith("exact"):
                yield f"agreement/{prefix}{name}", measure, label
    for name, measure in _QUESTION_MEASURES.items():
        for kind in QUESTIONS:
            yield f"questions/{kind}/{name}", measure, question_label(kind)
    for predictor, label in PREDICTORS.items():
        yield f"values/{predictor}/explained_variance", _EXPLAINED, label
        yield f"values/{predictor}/mean_absolute_error", _ERROR, label
    for what, measure in _LIKELIHOOD_MEASURES.items():
        for predictor, label in PREDICTORS.items():
            yield f"log_likelihood/{what}/{predictor}", measure, label
    for what, label in _STARTS.items():
        yield f"log_likelihood/{what}/situation", _LIKELIHOOD_MEASURES["order"], label
