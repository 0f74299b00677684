"""Metrics of variants as a Markdown table: means over the seeds, and differences from the reference.

The error of a difference is estimated from the variance between seeds of one variant, pooled over all variants; it does
not use that all are evaluated on the same decisions.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import mean, variance
from typing import Any

from variants import REFERENCE, Variant

from kanachan.objectives.networks import objective_class
from kanachan.objectives.objective import Objective, RankObjective

_Metric = Callable[[dict[str, Any]], float]
_IMITATION: dict[str, tuple[_Metric, int]] = {
    "negative log-likelihood": (lambda entry: entry["agreement"]["nll"]["value"], 4),
    "accuracy %": (lambda entry: 100 * entry["agreement"]["top1"]["value"], 2),
    "discard %": (lambda entry: 100 * entry["agreement"]["discard/accuracy"]["value"], 2),
}
_VALUES: dict[str, tuple[_Metric, int]] = {
    "explained variance %": (lambda entry: 100 * entry["values"]["action"]["explained_variance"]["value"], 2),
    # how often the action of the highest value is the player's: explained variance covers only actions that were taken
    "agreement %": (lambda entry: 100 * entry["agreement"]["top1"]["value"], 1),
}
_RANK: dict[str, tuple[_Metric, int]] = {
    **_VALUES,
    "log-likelihood of the rank": (lambda entry: entry["log_likelihood"]["rank"]["action"]["value"], 4),
}


def markdown(stage: str, evaluations: Mapping[Variant, Sequence[dict[str, Any]]]) -> str:
    """Formats a row for each variant: every metric, and in brackets its difference from the reference, ± the standard
    error where a variant has several runs."""
    columns = _columns(objective_class(stage))
    reference = next(variant for variant in evaluations if variant.name == REFERENCE)
    lines = [f"| {stage} | {' | '.join(columns)} |", f"| --- |{' ---: |' * len(columns)}"]
    error = {
        name: _deviation([[of(e) for e in entries] for entries in evaluations.values()])
        for name, (of, _) in columns.items()
    }
    for variant, entries in evaluations.items():
        cells = []
        for name, (of, digits) in columns.items():
            value = mean(map(of, entries))
            cell = f"{value:.{digits}f}"
            if variant is not reference:
                difference = value - mean(map(of, evaluations[reference]))
                both = error[name] * math.sqrt(1 / len(entries) + 1 / len(evaluations[reference]))
                cell += f" ({difference:+.{digits}f}" + (")" if math.isnan(both) else f" ± {both:.{digits}f})")
            cells.append(cell)
        lines.append(f"| {variant.what} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _columns(objective: type[Objective]) -> dict[str, tuple[_Metric, int]]:
    if not objective.has_value:
        return _IMITATION
    return _RANK if issubclass(objective, RankObjective) else _VALUES


def _deviation(samples: Sequence[Sequence[float]]) -> float:
    """Computes the standard deviation between runs of a variant, pooled over the variants; nan if each has one run."""
    repeated = [sample for sample in samples if len(sample) > 1]
    if not repeated:
        return math.nan
    freedom = sum(len(sample) - 1 for sample in repeated)
    return math.sqrt(sum((len(sample) - 1) * variance(sample) for sample in repeated) / freedom)
