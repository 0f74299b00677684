"""Formats evaluations as text, at most 100 columns wide."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import fill
from typing import NamedTuple

from kanachan.evaluation.bootstrap import FEWEST_GAMES, Estimate
from kanachan.evaluation.comparison import Comparison, Difference
from kanachan.evaluation.decision_metrics import KINDS
from kanachan.evaluation.evaluator import Evaluation
from kanachan.objectives.networks import objective_class
from kanachan.objectives.objective import RankObjective

WIDTH = 100
_GAP = "  "
_MISSING = "-"
_PREDICTORS = {
    "action": "action taken",
    "situation": "situation alone",
}
_OF_ALL = {"mixture": "ranks and their points", "scores": "scores and round only"}
"""predictors that are the same for all networks of the stage"""
_LIKELIHOOD_TITLES = {
    "rank": "rank (1 of {num_ranks})",
    "order": "order (1 of {num_orders})",
    "order/start": "order, at starts of rounds",
    "order/last": "order, at starts of last rounds",
}
_Lettered = Mapping[str, Evaluation]


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
_LIKELIHOODS = {what: _Measure(f"{what} log-likelihood", 4) for what in ("rank", "order")}
_STARTS = {"order/start": "starts of rounds", "order/last": "starts of last rounds"}


def table(header: Sequence[str], rows: Iterable[Sequence[str]], flush_left: int = 1) -> str:
    """Formats columns as wide as their widest cell under a ruled header; the first `flush_left` ones are flush left."""
    lines = [list(header), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = [
        _GAP.join(
            cell.ljust(width) if i < flush_left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join([texts[0], "-" * (sum(widths) + len(_GAP) * (len(widths) - 1)), *texts[1:]])


def with_interval(estimate: Estimate | None, digits: int, scale: float = 1.0, sign: str = "") -> str:
    """Formats an estimate with its interval: `71.2 [70.3, 72.1]`; a dash where it is missing or not finite.

    Args:
        scale: 100 for per cent.
        sign: "+" shows the sign of positive numbers too.
    """
    if estimate is None or not math.isfinite(estimate.value):
        return _MISSING
    value, low, high = (f"{number * scale:{sign}z,.{digits}f}" for number in estimate[:3])
    # where all resamples are equal, as with one game, the spread is unknown
    return value if estimate.low == estimate.high else f"{value} [{low}, {high}]"


def stage_tables(stage: str, evaluations: _Lettered, num_orders: int) -> str:
    """Formats all tables of one stage, with the networks under their letters.

    Args:
        num_orders: the number of orders in which a game can end.
    """
    objective = objective_class(stage)
    title = objective.title
    parts = [f"{title}\n{'=' * len(title)}"]
    if not objective.has_value:
        parts += [_verdict_lines(evaluations), _decision_table(evaluations, has_probability=True)]
        parts.append(_calibration_line(evaluations))
        return "\n\n".join([*parts, *_comparison(evaluations)])
    parts += [_verdict_lines(evaluations), _value_table(evaluations)]
    if issubclass(objective, RankObjective):
        parts += _likelihood_tables(evaluations, num_orders)
    parts += _comparison(evaluations)
    parts.append("Reliability: mean prediction and mean outcome, by deciles of the predictions")
    parts.append(_reliability_table(evaluations, "points"))
    if issubclass(objective, RankObjective):
        parts.append("Reliability of the rank probabilities: predicted probability and empirical frequency, in %")
        parts.append(_reliability_table(evaluations, "rank"))
        parts.append("Ranks by round of the game: log-likelihood and calibration error")
        parts.append(_round_table(evaluations))
    parts.append("Agreement of the best action with the player's")
    parts.append(_decision_table(evaluations, has_probability=False))
    return "\n\n".join(parts)


def _decision_table(evaluations: _Lettered, *, has_probability: bool) -> str:
    header = ["", "decisions", "taken", "accuracy %", *(["NLL"] if has_probability else []), "recall %"]
    rows = []
    for label, accuracy, prefix in _decision_rows():
        for letter, evaluation in evaluations.items():
            agreement = evaluation.agreement
            estimate = agreement.get(accuracy)
            if estimate is None:
                continue
            nll = agreement.get(f"{prefix}nll") if not accuracy.endswith("exact") else None
            taken = agreement.get(f"{prefix}taken")
            rows.append(
                [
                    f"{label} {letter}".rstrip(),
                    f"{estimate.decisions:,}",
                    _MISSING if taken is None else f"{taken.value:.1%}",
                    with_interval(estimate, 1, 100),
                    *([with_interval(nll, 3)] if has_probability else []),
                    with_interval(agreement.get(f"{prefix}recall"), 1, 100),
                ]
            )
    return table(header, [*rows, *_chance_rows(next(iter(evaluations.values())), has_probability=has_probability)])


def _chance_rows(evaluation: Evaluation, *, has_probability: bool) -> list[list[str]]:
    """Formats the metrics of a uniform choice among the possible actions; beyond imitation only of all decisions and of
    discards."""
    chance, rows = evaluation.chance, []
    for label, accuracy, prefix in _decision_rows() if has_probability else _decision_rows()[:2]:
        estimate = chance.get(accuracy)
        if estimate is None:
            continue
        nll = chance.get(f"{prefix}nll") if not accuracy.endswith("exact") else None
        likelihood = [with_interval(nll, 3)] if has_probability else []
        recall = with_interval(chance.get(f"{prefix}recall"), 1, 100)
        name, decisions = f"{label}, chance", f"{estimate.decisions:,}"
        rows.append([name, decisions, _MISSING, with_interval(estimate, 1, 100), *likelihood, recall])
    return rows


def _decision_rows() -> list[tuple[str, str, str]]:
    """Returns the label, the name of the accuracy and the prefix of the other metrics of each row."""
    rows = [("all", "top1", "")]
    for kind in KINDS:
        if kind == "discard":
            rows += [("discard tile", "discard/accuracy", "discard/"), ("discard exact", "discard/exact", "discard/")]
        else:
            rows.append((kind, f"{kind}/accuracy", f"{kind}/"))
    return rows


def _verdict_lines(evaluations: _Lettered) -> str:
    """Formats one sentence on each network."""
    lines = [f"{letter or 'verdict'}: {evaluation.verdict.sentence}" for letter, evaluation in evaluations.items()]
    return "\n".join(fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False) for line in lines)


def _calibration_line(evaluations: _Lettered) -> str:
    texts = [
        f"{letter} {with_interval(evaluation.agreement['ece'], 2, 100)}".lstrip()
        for letter, evaluation in evaluations.items()
    ]
    return f"expected calibration error %: {', '.join(texts)}"


def _value_table(evaluations: _Lettered) -> str:
    header = [
        f"{objective_class(next(iter(evaluations.values())).stage).value_unit} predicted from",
        "explained variance %",
        "skill %",
        "mean absolute error",
    ]
    rows = []
    for letter, evaluation in evaluations.items():
        rows += [
            [f"{letter} {label}".lstrip(), *_value_cells(evaluation, predictor)]
            for predictor, label in _PREDICTORS.items()
            if predictor in evaluation.values
        ]
    first = next(iter(evaluations.values()))
    rows += [
        [label, *_value_cells(first, predictor)] for predictor, label in _OF_ALL.items() if predictor in first.values
    ]
    rows.append(["chance (the mean of all)", f"{0:.1f}", _MISSING, _MISSING])
    return table(header, rows)


def _value_cells(evaluation: Evaluation, predictor: str) -> list[str]:
    metrics = evaluation.values[predictor]
    return [
        with_interval(metrics["explained_variance"], 1, 100),
        with_interval(metrics.get("skill"), 1, 100),
        with_interval(metrics["mean_absolute_error"], _digits(evaluation)),
    ]


def _digits(evaluation: Evaluation) -> int:
    """Returns the number of digits after the decimal point."""
    return objective_class(evaluation.stage).digits


def _likelihood_tables(evaluations: _Lettered, num_orders: int) -> list[str]:
    """Formats the likelihoods of all decisions, and of the first of each round, when only scores and deal are known."""
    num_ranks = next(n for n in range(1, 10) if math.factorial(n) == num_orders)
    chance = {what: f"{-math.log(num_ranks if what == 'rank' else num_orders):.3f}" for what in _LIKELIHOOD_TITLES}
    tables = []
    for whats in (("rank", "order"), ("order/start", "order/last")):
        rows = []
        for letter, evaluation in evaluations.items():
            rows += [
                [f"{letter} {label}".lstrip(), *_likelihood_cells(evaluation, predictor, whats)]
                for predictor, label in _PREDICTORS.items()
                if any(predictor in evaluation.log_likelihood[what] for what in whats)
            ]
        first = next(iter(evaluations.values()))
        if "scores" in first.log_likelihood["rank"]:
            rows.append([_OF_ALL["scores"], *_likelihood_cells(first, "scores", whats)])
            rows += [
                [f"{letter} {label}, less scores".lstrip(), *_less_scores_cells(evaluation, predictor, whats)]
                for letter, evaluation in evaluations.items()
                for predictor, label in _PREDICTORS.items()
                if any(predictor in evaluation.less_scores.get(what, {}) for what in whats)
            ]
        rows.append(["chance", *(chance[what] for what in whats)])
        titles = [_LIKELIHOOD_TITLES[what].format(num_ranks=num_ranks, num_orders=num_orders) for what in whats]
        tables.append(table(["log-likelihood given", *titles], rows))
    return tables


def _less_scores_cells(evaluation: Evaluation, predictor: str, whats: Sequence[str]) -> list[str]:
    """Formats the gain over scores and round, with a mark where the interval excludes zero."""
    cells = []
    for what in whats:
        estimate = evaluation.less_scores.get(what, {}).get(predictor)
        excludes_zero = estimate is not None and (estimate.low > 0 or estimate.high < 0)
        cells.append(with_interval(estimate, 3, sign="+") + (" *" if excludes_zero else ""))
    return cells


def _round_table(evaluations: _Lettered) -> str:
    header = ["round", "decisions", "log-likelihood of the rank", "calibration error %"]
    rows = []
    for name in next(iter(evaluations.values())).by_round:
        for letter, evaluation in evaluations.items():
            likelihood, error = (evaluation.by_round[name][key] for key in ("log_likelihood", "ece"))
            cells = [f"{likelihood.decisions:,}", with_interval(likelihood, 3), with_interval(error, 1, 100)]
            rows.append([f"{name} {letter}".rstrip(), *cells])
    return table(header, rows)


def _likelihood_cells(evaluation: Evaluation, predictor: str, whats: Sequence[str]) -> list[str]:
    return [with_interval(evaluation.log_likelihood[what].get(predictor), 3) for what in whats]


def _comparison(evaluations: _Lettered) -> list[str]:
    """Formats a paragraph that compares the further networks with the first, if there are any."""
    first, *others = evaluations
    lines = []
    for letter in others:
        against = evaluations[letter].against_first
        parts = []
        if "skill" in against:
            parts.append(f"skill % {with_interval(against['skill'], 1, 100, sign='+')}")
        if "log_likelihood" in against:
            parts.append(f"log-likelihood {with_interval(against['log_likelihood'], 3, sign='+')}")
        lines.append(f"{letter} over {first}, on the same decisions: {', '.join(parts)}")
    return ["\n".join(lines)] if lines else []


def _reliability_table(evaluations: _Lettered, what: str) -> str:
    """Formats two networks side by side, further ones below. `what`: points, or a group of probabilities."""
    items = list(evaluations.items())
    tables = []
    for first in range(0, len(items), 2):
        pair = items[first : first + 2]
        header = [""]
        for letter, _ in pair:
            header += [f"{letter} predicted".lstrip(), "outcome"]
        rows = []
        for number in range(max(len(evaluation.reliability[what]) for _, evaluation in pair)):
            row = [str(number + 1)]
            for _, evaluation in pair:
                predicted, outcome = evaluation.reliability[what][number]
                digits, scale, sign = (_digits(evaluation), 1, "+") if what == "points" else (1, 100, "")
                row += [f"{predicted * scale:{sign}z,.{digits}f}", with_interval(outcome, digits, scale, sign)]
            rows.append(row)
        tables.append(table(header, rows))
    return "\n\n".join(tables)


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
    sides = [_MISSING if math.isnan(v) else f"{v * measure.scale:z,.{measure.digits}f}" for v in found[:2]]
    mark = ""
    if found.games < FEWEST_GAMES:
        mark = "few games"
    elif found.excludes_zero:
        mark = "worse *" if (found.difference.value < 0) != measure.is_better_low else "better *"
    difference = with_interval(found.difference, measure.digits, measure.scale, sign="+")
    return [f"{found.difference.decisions:,}", *sides, difference, mark]


def _compared_metrics() -> Iterator[tuple[str, _Measure, str]]:
    """Yields the name, the measure and what it is computed over, in the order of the rows."""
    kinds = list(_decision_rows())
    for label, accuracy, _ in kinds:
        yield f"agreement/{accuracy}", _ACCURACY, label
    for name, measure in (("nll", _NLL), ("recall", _RECALL)):
        for label, accuracy, prefix in kinds:
            if not accuracy.endswith("exact"):
                yield f"agreement/{prefix}{name}", measure, label
    for predictor, label in _PREDICTORS.items():
        yield f"values/{predictor}/explained_variance", _EXPLAINED, label
        yield f"values/{predictor}/mean_absolute_error", _ERROR, label
    for what, measure in _LIKELIHOODS.items():
        for predictor, label in _PREDICTORS.items():
            yield f"log_likelihood/{what}/{predictor}", measure, label
    for what, label in _STARTS.items():
        yield f"log_likelihood/{what}/situation", _LIKELIHOODS["order"], label
