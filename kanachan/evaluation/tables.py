"""Formats evaluations as text, at most 100 columns wide."""

import math
from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill
from typing import Any

from kanachan.evaluation.bootstrap import FEWEST_GAMES, Estimate
from kanachan.evaluation.decision_metrics import KINDS
from kanachan.evaluation.evaluator import Evaluation
from kanachan.evaluation.reward_evaluation import RewardEvaluation
from kanachan.evaluation.separate_questions import DISCARD, QUESTIONS
from kanachan.objectives.networks import objective_class
from kanachan.objectives.rank import Rank

WIDTH = 100
_GAP = "  "
MISSING = "-"
PREDICTORS = {"action": "action taken", "situation": "situation only"}
_SCORES = "scores and round only"
"""the predictor that is the same for all networks of the stage"""
_LIKELIHOOD_TITLES = {
    "rank": "rank (1 of {num_ranks})",
    "order": "order (1 of {num_orders})",
    "order/start": "order, at starts of rounds",
    "order/last": "order, at starts of last rounds",
}
_OF_QUESTION = ("accuracy", "balanced_accuracy", "recall", "log_likelihood", "taken", "majority/accuracy")
REWARD_TITLE = "Reward: how games end, predicted at the starts of their rounds"
_Lettered = Mapping[str, Evaluation]


def table(header: Sequence[str], rows: Iterable[Sequence[str]], flush_left: int = 1) -> str:
    """Formats columns under a ruled header, each as wide as its widest cell; the first `flush_left` are flush left."""
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


def decimals(size: float) -> int:
    """Returns the decimal places that distinguish values of about this size."""
    return 3 if size < 2 else 1


def with_interval(estimate: Estimate | None, digits: int, scale: float = 1.0, sign: str = "") -> str:
    """Formats an estimate with its interval, `71.2 [70.3, 72.1]`, or a dash if it is missing or not finite. `sign`: "+"
    also shows the sign of positive numbers."""
    if estimate is None or not math.isfinite(estimate.value):
        return MISSING
    value, low, high = (f"{number * scale:{sign}z,.{digits}f}" for number in estimate[:3])
    # if all resamples are equal, as with one game, the spread is unknown
    return f"{value} [{low}, {high}]" if estimate.low < estimate.high else value


def _share(estimate: Estimate | None) -> str:
    return MISSING if estimate is None else f"{estimate.value:.1%}"


def stage_tables(stage: str, evaluations: _Lettered, num_seats: int) -> str:
    """Formats all tables of one stage, with a letter for each network."""
    objective = objective_class(stage)
    title = objective.title
    parts = [f"{title}\n{'=' * len(title)}"]
    if not objective.has_value:
        parts += [_verdict_lines(evaluations), _decision_table(evaluations, has_probability=True)]
        parts += [_calibration_line(evaluations), *_question_tables(evaluations)]
        return "\n\n".join(parts)
    parts += [_verdict_lines(evaluations), _value_table(evaluations)]
    if issubclass(objective, Rank):
        parts += _likelihood_tables(evaluations, num_seats)
    parts.append("Reliability: mean prediction and mean outcome, by deciles of the predictions")
    parts.append(_reliability_table(evaluations, "points"))
    if issubclass(objective, Rank):
        parts.append("Reliability of the rank probabilities: predicted probability and empirical frequency, in %")
        parts.append(_reliability_table(evaluations, "rank"))
    parts.append("Agreement of the best action with the player's")
    parts.append(_decision_table(evaluations, has_probability=False))
    return "\n\n".join(parts)


def side_by_side(stage: str, rows: Sequence[tuple[Sequence[str], Evaluation]]) -> str:
    """Formats the most important metrics of one stage on several data sets, one row per network and data set. `rows`:
    the data set with the network's letter, its number of games, and the evaluation."""
    labels = ("shards", "games")
    objective = objective_class(stage)
    ranks = issubclass(objective, Rank)
    if not objective.has_value:
        header = ["all %", "discard %", "NLL", "calibration error %"]
    else:
        header = ["explained variance %", "skill %"]
    header += ["rank over scores, nats", "order over scores, nats"] if ranks else []
    lines = []
    for cells, evaluation in rows:
        agreement = evaluation.agreement
        if not objective.has_value:
            metrics = [with_interval(agreement.get(name), 1, 100) for name in ("top1", "discard/accuracy")]
            metrics += [with_interval(agreement.get("nll"), 3), with_interval(agreement.get("ece"), 2, 100)]
        else:
            metrics = _value_cells(evaluation, "action")[:2]
        metrics += _less_scores_cells(evaluation, "action", ["rank"]) if ranks else []
        metrics += _less_scores_cells(evaluation, "situation", ["order/start"]) if ranks else []
        lines.append([*cells, *metrics])
    return f"{objective.title}\n{'=' * len(objective.title)}\n\n{table([*labels, *header], lines, len(labels))}"


def _decision_table(evaluations: _Lettered, *, has_probability: bool) -> str:
    """Formats agreement with the player: of the networks, then of a uniform choice among the possible actions. Without
    `has_probability`, the uniform choice has rows only for all decisions and for discards."""
    kinds, first = decision_rows(), next(iter(evaluations.values()))
    sides = [
        (kind, f"{kind[0]} {letter}".rstrip(), evaluation.agreement)
        for kind in kinds
        for letter, evaluation in evaluations.items()
    ]
    sides += [(kind, f"{kind[0]}, chance", first.chance) for kind in (kinds if has_probability else kinds[:2])]
    rows = []
    for (_, accuracy, prefix), label, estimates in sides:
        estimate = estimates.get(accuracy)
        if estimate is None:
            continue
        nll = estimates.get(f"{prefix}nll") if not accuracy.endswith("exact") else None
        rows.append(
            [
                label,
                f"{estimate.decisions:,}",
                _share(estimates.get(f"{prefix}taken")),
                with_interval(estimate, 1, 100),
                *([with_interval(nll, 3)] if has_probability else []),
                with_interval(estimates.get(f"{prefix}recall"), 1, 100),
            ]
        )
    return table(["", "decisions", "taken", "accuracy %", *(["NLL"] if has_probability else []), "recall %"], rows)


def decision_rows() -> list[tuple[str, str, str]]:
    """Returns the label, the name of the accuracy and the prefix of the other metrics of each row."""
    rows = [("all", "top1", "")]
    for kind in KINDS:
        if kind == "discard":
            rows += [("discard tile", "discard/accuracy", "discard/"), ("discard exact", "discard/exact", "discard/")]
        else:
            rows.append((kind, f"{kind}/accuracy", f"{kind}/"))
    return rows


def question_label(kind: str) -> str:
    """Returns the name of a separate question."""
    return "which discard" if kind == DISCARD else f"{kind}?"


def _question_tables(evaluations: _Lettered) -> list[str]:
    right, further = [], []
    for kind in QUESTIONS:
        for letter, evaluation in evaluations.items():
            of = {name: evaluation.questions.get(f"{kind}/{name}") for name in _OF_QUESTION}
            if of["accuracy"] is None:
                continue
            label = f"{question_label(kind)} {letter}".rstrip()
            decisions, majority = f"{of['accuracy'].decisions:,}", _share(of["majority/accuracy"]).removesuffix("%")
            right.append([label, decisions, _share(of["taken"]), with_interval(of["accuracy"], 1, 100), majority])
            balanced, recall = (with_interval(of[name], 1, 100) for name in ("balanced_accuracy", "recall"))
            further.append([label, balanced, recall, with_interval(of["log_likelihood"], 3)])
    if not right:
        return []
    title = "As separate questions: which of 34 kinds of tile is discarded; is an action of the kind taken"
    return [
        title,
        table(["", "decisions", "yes", "accuracy %", "majority %"], right),
        table(["", "balanced accuracy %", "recall %", "log-likelihood"], further),
    ]


def _verdict_lines(evaluations: _Lettered) -> str:
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
            for predictor, label in PREDICTORS.items()
            if predictor in evaluation.values
        ]
    by_scores: dict[tuple[str, ...], str] = {}  # several, if the networks have different points of ranks
    for letter, evaluation in evaluations.items():
        if "scores" in evaluation.values:
            by_scores.setdefault(tuple(_value_cells(evaluation, "scores")), f"{letter} {_SCORES}")
    rows += [[_SCORES if len(by_scores) == 1 else label, *cells] for cells, label in by_scores.items()]
    rows.append(["chance (the mean of all)", f"{0:.1f}", MISSING, MISSING])
    return table(header, rows)


def _value_cells(evaluation: Evaluation, predictor: str) -> list[str]:
    metrics = evaluation.values[predictor]
    return [
        with_interval(metrics["explained_variance"], 1, 100),
        with_interval(metrics.get("skill"), 1, 100),
        with_interval(metrics["mean_absolute_error"], decimals(metrics["mean_absolute_error"].value)),
    ]


def _likelihood_tables(evaluations: _Lettered, num_seats: int) -> list[str]:
    """Formats the likelihoods of all decisions, and of the first in each round, when only scores and deal are known."""
    num_orders = math.factorial(num_seats)
    chance = {what: f"{-math.log(num_seats if what == 'rank' else num_orders):.3f}" for what in _LIKELIHOOD_TITLES}
    tables = []
    for whats in (("rank", "order"), ("order/start", "order/last")):
        rows = []
        for letter, evaluation in evaluations.items():
            rows += [
                [f"{letter} {label}".lstrip(), *_likelihood_cells(evaluation, predictor, whats)]
                for predictor, label in PREDICTORS.items()
                if any(predictor in evaluation.log_likelihood[what] for what in whats)
            ]
        first = next(iter(evaluations.values()))
        if "scores" in first.log_likelihood["rank"]:
            rows.append([_SCORES, *_likelihood_cells(first, "scores", whats)])
            rows += [
                [f"{letter} {label}, minus scores".lstrip(), *_less_scores_cells(evaluation, predictor, whats)]
                for letter, evaluation in evaluations.items()
                for predictor, label in PREDICTORS.items()
                if any(predictor in evaluation.less_scores.get(what, {}) for what in whats)
            ]
        rows.append(["chance", *(chance[what] for what in whats)])
        titles = [_LIKELIHOOD_TITLES[what].format(num_ranks=num_seats, num_orders=num_orders) for what in whats]
        tables.append(table(["log-likelihood given", *titles], rows))
    if any(evaluation.less_scores for evaluation in evaluations.values()):
        tables[-1] += f"\n*: the interval excludes zero, with at least {FEWEST_GAMES} games"
    return tables


def _less_scores_cells(evaluation: Evaluation, predictor: str, whats: Sequence[str]) -> list[str]:
    """Formats the gain over scores and round, marked if the interval excludes zero and there are enough games."""
    cells = []
    for what in whats:
        estimate = evaluation.less_scores.get(what, {}).get(predictor)
        is_clear = estimate is not None and estimate.is_clear
        cells.append(with_interval(estimate, 3, sign="+") + (" *" if is_clear else ""))
    return cells


def _likelihood_cells(evaluation: Evaluation, predictor: str, whats: Sequence[str]) -> list[str]:
    return [with_interval(evaluation.log_likelihood[what].get(predictor), 3) for what in whats]


def _reliability_table(evaluations: _Lettered, what: str) -> str:
    """Formats two networks side by side, further networks below. `what`: points, or a group of probabilities."""
    items, tables = list(evaluations.items()), []
    digits, scale, sign = (1, 100, "")
    if what == "points":
        digits, scale, sign = decimals(items[0][1].values["action"]["mean_absolute_error"].value), 1, "+"
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
                row += [f"{predicted * scale:{sign}z,.{digits}f}", with_interval(outcome, digits, scale, sign)]
            rows.append(row)
        tables.append(table(header, rows))
    return "\n\n".join(tables)


def reward_tables(evaluations: Mapping[str, RewardEvaluation], num_seats: int) -> str:
    """Formats all tables, with a letter for each predictor; differences are from the first predictor."""
    first, *others = evaluations
    groups, main = evaluations[first].log_likelihood, evaluations[first].explained_variance

    def rows_of(names: Iterable[str], letters: Iterable[str], metric: str, *form: Any) -> list[list[str]]:
        """Formats a metric of some predictors with `with_interval`."""
        columns = [getattr(evaluations[letter], metric) for letter in letters]
        return [[name, *(with_interval(estimates[name], *form) for estimates in columns)] for name in names]

    header = ["log-likelihood of the order", "rounds", *(letter or "nats" for letter in evaluations)]
    likelihoods = rows_of(groups, evaluations, "log_likelihood", 3)
    rows = [[name, f"{groups[name].decisions:,}", *cells] for name, *cells in likelihoods]
    rows.append(["chance", "", *(f"{-math.log(math.factorial(num_seats)):.3f}" for _ in evaluations)])
    parts = [f"{REWARD_TITLE}\n{'=' * len(REWARD_TITLE)}", table(header, rows)]
    if others:
        header = ["gain of the log-likelihood", *(f"{letter} - {first}" for letter in others)]
        parts.append(table(header, rows_of(groups, others, "less_first", 4, 1.0, "+")))
    header = ["explained variance of grading points, %", *evaluations]
    parts.append(table(header, rows_of(main, evaluations, "explained_variance", 1, 100)))
    if others:
        header = ["skill %, grading points", *(f"{letter} over {first}" for letter in others)]
        parts.append(table(header, rows_of(main, others, "skill_over_first", 1, 100, "+")))
    return "\n\n".join(parts)
