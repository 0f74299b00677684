"""Formats the differences of networks as text."""

import math
from collections.abc import Iterator, Mapping
from textwrap import fill
from typing import NamedTuple

from kanachan.evaluation.bootstrap import FEWEST_GAMES
from kanachan.evaluation.comparison import Comparison, Difference
from kanachan.evaluation.separate_questions import QUESTIONS
from kanachan.evaluation.tables import MISSING, PREDICTORS, WIDTH, decision_rows, question_label, table, with_interval


class _Measure(NamedTuple):
    """How a metric is shown in a comparison."""

    label: str
    digits: int
    scale: float = 1.0
    is_better_low: bool = False


_ACCURACY, _RECALL = _Measure("accuracy %", 2, 100), _Measure("recall %", 2, 100)
_NLL = _Measure("NLL", 4, is_better_low=True)
_EXPLAINED = _Measure("explained variance %", 2, 100)
_ERROR = _Measure("mean absolute error", 1, is_better_low=True)
_QUESTIONS = {
    "accuracy": _ACCURACY,
    "balanced_accuracy": _Measure("balanced %", 2, 100),
    "log_likelihood": _Measure("log-likelihood", 4),
}
_LIKELIHOODS = {what: _Measure(f"{what} log-likelihood", 4) for what in ("rank", "order")}
_STARTS = {"order/start": "starts of rounds", "order/last": "starts of last rounds"}


def comparison_tables(reference: str, comparisons: Mapping[str, Comparison]) -> str:
    """Formats the differences of networks, by their letters, from the first, whose letter is `reference`."""
    title = f"Differences from {reference}, on the same decisions and the same resamples of games"
    parts = [f"{title}\n{'=' * len(title)}"]
    for letter, comparison in comparisons.items():
        header = [f"{letter} - {reference}", "of", "decisions", reference, letter, "difference", ""]
        rows = [
            [measure.label, of, *_difference_cells(comparison.differences[name], measure)]
            for name, measure, of in _compared_metrics()
            if name in comparison.differences
        ]
        text = table(header, rows, flush_left=2)
        parts.append("\n".join([text, *_not_comparable(comparison)]))
    parts.append(
        "*: the interval excludes zero, as one in twenty does by chance where networks are equally good\n"
        f"few games: the decisions are of fewer than {FEWEST_GAMES} games, too few for reliable intervals"
    )
    return "\n\n".join(parts)


def _not_comparable(comparison: Comparison) -> list[str]:
    """Formats a line for each reason; a measure of which nothing is comparable is named without its kinds."""
    shared = {measure for name, measure, _ in _compared_metrics() if name in comparison.differences}
    labels: dict[str, dict[str, None]] = {}
    for name, measure, of in _compared_metrics():
        if name in comparison.not_comparable:
            label = measure.label.removesuffix(" %") + (f" of {of}" if measure in shared else "")
            labels.setdefault(comparison.not_comparable[name], {})[label] = None
    lines = [f"not comparable ({reason}): {', '.join(found)}" for reason, found in labels.items()]
    return [fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False) for line in lines]


def _difference_cells(found: Difference, measure: _Measure) -> list[str]:
    sides = [MISSING if math.isnan(v) else f"{v * measure.scale:z,.{measure.digits}f}" for v in found[:2]]
    mark = ""
    if found.games < FEWEST_GAMES:
        mark = "few games"
    elif found.excludes_zero:
        mark = "worse *" if (found.difference.value < 0) != measure.is_better_low else "better *"
    difference = with_interval(found.difference, measure.digits, measure.scale, sign="+")
    return [f"{found.difference.decisions:,}", *sides, difference, mark]


def _compared_metrics() -> Iterator[tuple[str, _Measure, str]]:
    """Yields the name, the measure and what it is computed over, in the order of the rows."""
    kinds = list(decision_rows())
    for label, accuracy, _ in kinds:
        yield f"agreement/{accuracy}", _ACCURACY, label
    for name, measure in (("nll", _NLL), ("recall", _RECALL)):
        for label, accuracy, prefix in kinds:
            if not accuracy.endswith("exact"):
                yield f"agreement/{prefix}{name}", measure, label
    for name, measure in _QUESTIONS.items():
        for kind in QUESTIONS:
            yield f"questions/{kind}/{name}", measure, question_label(kind)
    for predictor, label in PREDICTORS.items():
        yield f"values/{predictor}/explained_variance", _EXPLAINED, label
        yield f"values/{predictor}/mean_absolute_error", _ERROR, label
    for what, measure in _LIKELIHOODS.items():
        for predictor, label in PREDICTORS.items():
            yield f"log_likelihood/{what}/{predictor}", measure, label
    for what, label in _STARTS.items():
        yield f"log_likelihood/{what}/situation", _LIKELIHOODS["order"], label
