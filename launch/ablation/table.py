"""Figures of variants as a Markdown table: means over the seeds, and differences from the reference.

The error of a difference comes from how far runs of one variant with different seeds lie apart, pooled over all
variants; that all are measured on the same decisions does not enter it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import mean, variance
from typing import Any

from variants import REFERENCE, Variant

from kanachan.objectives.objective import Objective, RankObjective
from kanachan.objectives.registry import objective_class

_Figure = Callable[[dict[str, Any]], float]
_IMITATION: dict[str, tuple[_Figure, int]] = {
    "negative log-likelihood": (lambda entry: entry["agreement"]["nll"]["value"], 4),
    "accuracy %": (lambda entry: 100 * entry["agreement"]["top1"]["value"], 2),
    "discard %": (lambda entry: 100 * entry["agreement"]["discard/accuracy"]["value"], 2),
}
_VALUES: dict[str, tuple[_Figure, int]] = {
    "explained variance %": (lambda entry: 100 * entry["values"]["action"]["explained_variance"]["value"], 2),
    # how often the action of the greatest value is the player's: what explained variance does not see, as that is of
    # actions that were taken
    "agreement %": (lambda entry: 100 * entry["agreement"]["top1"]["value"], 1),
}
_RANK: dict[str, tuple[_Figure, int]] = {
    **_VALUES,
    "log-likelihood of the rank": (lambda entry: entry["log_likelihood"]["rank"]["action"]["value"], 4),
}


def markdown(stage: str, figures: Mapping[Variant, Sequence[dict[str, Any]]]) -> str:
    """A row for each variant: every figure, and in brackets how far it is from the reference, ± its standard error
    where a variant has several runs."""
    columns = _columns(objective_class(stage))
    reference = next(variant for variant in figures if variant.name == REFERENCE)
    lines = [f"| {stage} | {' | '.join(columns)} |", f"| --- |{' ---: |' * len(columns)}"]
    error = {
        name: _deviation([[of(e) for e in entries] for entries in figures.values()])
        for name, (of, _) in columns.items()
    }
    for variant, entries in figures.items():
        cells = []
        for name, (of, digits) in columns.items():
            value = mean(map(of, entries))
            cell = f"{value:.{digits}f}"
            if variant is not reference:
                difference = value - mean(map(of, figures[reference]))
                both = error[name] * math.sqrt(1 / len(entries) + 1 / len(figures[reference]))
                cell += f" ({difference:+.{digits}f}" + (")" if math.isnan(both) else f" ± {both:.{digits}f})")
            cells.append(cell)
        lines.append(f"| {variant.what} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _columns(objective: type[Objective]) -> dict[str, tuple[_Figure, int]]:
    if not objective.has_value:
        return _IMITATION
    return _RANK if issubclass(objective, RankObjective) else _VALUES


def _deviation(samples: Sequence[Sequence[float]]) -> float:
    """The standard deviation between runs of one variant, pooled over the variants; nan if each has only one run."""
    repeated = [sample for sample in samples if len(sample) > 1]
    if not repeated:
        return math.nan
    freedom = sum(len(sample) - 1 for sample in repeated)
    return math.sqrt(sum((len(sample) - 1) * variance(sample) for sample in repeated) / freedom)
