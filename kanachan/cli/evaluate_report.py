"""The report of kanachan-evaluate for networks that score actions: text, and entries of the JSON file."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from annotate.runtime.json_output import plain
from kanachan.objectives.stages import scoring_stages

if TYPE_CHECKING:
    from kanachan.evaluation.comparison import Difference
    from kanachan.evaluation.evaluator import Evaluation
    from kanachan.inference.policy import Policy
    from kanachan.objectives.objective import Objective


@dataclass(frozen=True)
class Subject:
    """A network or file of probabilities to measure, and its names in the report."""

    letter: str
    path: str
    objective: "Objective"
    policy: "Policy | None"
    """None for a file of probabilities"""


@dataclass(frozen=True)
class Measured:
    """The metrics of all subjects on the decisions of one folder."""

    header: dict[str, Any]
    """entries of the report that are common to all subjects"""
    notes: list[str]
    evaluations: "dict[Subject, Evaluation]"
    comparisons: "dict[Subject, dict[str, Difference]]"

    @property
    def report(self) -> dict[str, Any]:
        """The content of the JSON file, with the metrics of each network or file."""
        entries = []
        reference = next(iter(self.evaluations))
        for s, evaluation in self.evaluations.items():
            metrics = _metrics(evaluation)
            if s in self.comparisons:
                metrics["comparison"] = {"reference": reference.path, "differences": plain(self.comparisons[s])}
            entries.append({"path": s.path, **_about(s), **metrics})
        return {**self.header, "weights": entries}


def report_of(measured: Measured) -> str:
    from kanachan.evaluation.tables import stage_tables

    evaluations = measured.evaluations
    parts = [_heading(measured)]
    parts.append(_networks(evaluations))
    for stage in scoring_stages():
        of_stage = {s.letter: evaluation for s, evaluation in evaluations.items() if evaluation.stage == stage}
        if of_stage:
            num_seats = next(iter(evaluations)).objective.vocabulary.num_seats
            parts.append(stage_tables(stage, of_stage, num_seats))
    return "\n\n".join([*parts, *_comparisons(measured)])


def _comparisons(measured: Measured) -> list[str]:
    """Formats the differences from the first network, if any were computed."""
    from kanachan.evaluation.comparison import comparison_tables

    if not measured.comparisons:
        return []
    reference = next(iter(measured.evaluations))
    return [comparison_tables(reference.letter, {s.letter: c for s, c in measured.comparisons.items()})]


def _heading(measured: Measured) -> str:
    header = measured.header
    limited = " (the first)" if header["limit"] == header["decisions"] else ""
    of_split = "" if header["split"] == "lines" else f"{header['split']} split of "
    lines = [
        f"{of_split}{header['shards']}: {header['games']:,} games, {header['decisions']:,} decisions{limited}",
        f"[brackets]: 95 % intervals from {header['bootstrap']:,} resamples of whole games",
    ]
    if any("prior" in s.objective.uses for s in measured.evaluations):
        lines.append(f"ranks and grading by scores and round only: {header['baseline']}")
    return "\n".join([*lines, *measured.notes])


def side_by_side_report(measured: Sequence[Measured]) -> str:
    """Formats the most important metrics for several folders."""
    from kanachan.evaluation.tables import side_by_side

    evaluations = measured[0].evaluations
    parts = [_heading(each) for each in measured]
    parts.append(_networks(evaluations))
    for stage in scoring_stages():
        rows = [
            ([f"{each.header['shards']} {s.letter}".rstrip(), f"{each.header['games']:,}"], each.evaluations[s])
            for each in measured
            for s in evaluations
            if s.objective.stage == stage
        ]
        if rows:
            parts.append(side_by_side(stage, rows))
    for each in measured:
        parts += [f"{each.header['shards']}\n\n{text}" for text in _comparisons(each)]
    return "\n\n".join(parts)


def _networks(subjects: Iterable[Subject]) -> str:
    from kanachan.evaluation.tables import table

    rows = []
    for s in subjects:
        if s.policy is None:
            rows.append([s.letter, s.objective.stage, "", "", f"{s.path}, probabilities"])
            continue
        card = s.policy.card
        rows.append([s.letter, card["stage"], _lineage(card), f"{card.get('steps') or 0:,}", s.path])
    return table(["", "stage", "encoder from", "steps", "weights"], rows, flush_left=5)


def _lineage(card: Mapping[str, Any]) -> str:
    """Returns the earlier stages, such as `imitation (9 runs) > round_delta`; runs of a stage are joined."""
    runs = [(stage, len(list(of))) for stage, of in groupby(step["stage"] for step in card.get("lineage", []))]
    return " > ".join(stage if count == 1 else f"{stage} ({count} runs)" for stage, count in runs) or "scratch"


def _about(subject: Subject) -> dict[str, Any]:
    if subject.policy is None:
        return {"stage": subject.objective.stage, "predictions": subject.path}
    card = subject.policy.card
    return {name: card.get(name) for name in ("stage", "steps", "samples", "lineage", "model", "objective", "commit")}


def _metrics(evaluation: "Evaluation") -> dict[str, Any]:
    names = ("agreement", "questions", "values", "log_likelihood", "less_scores", "reliability")
    metrics = {name: plain(getattr(evaluation, name)) for name in (*names, "chance")}
    return metrics | {"verdict": plain(evaluation.verdict._asdict())}
