"""What must hold whatever a file holds: no fault, no hang, and every annotation right or the round reported."""

import codecs
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from annotate.annotation import Annotation, format_line, parse_line
from annotate.records.reading import Record, read_record
from annotate.replay.replay import ReplayResult, annotate_game
from annotate.vocabulary import FOUR_PLAYERS
from tests.fuzz.compare import disagreement, put_in_order
from tests.fuzz.plain_reading import (
    RecordedRound,
    rounds_of_majsoul,
    rounds_of_majsoul_json,
    rounds_of_mjai,
    rounds_of_mjlog,
    rounds_of_tenhou_json,
)

TIME_LIMIT = 5.0
"""seconds for one file"""
_PLAIN_READERS: dict[str, Callable[[bytes], list[Any]]] = {
    "mjlog": rounds_of_mjlog,
    "mjai": rounds_of_mjai,
    "majsoul": rounds_of_majsoul,
    "majsoul-json": rounds_of_majsoul_json,
    "tenhou-json": rounds_of_tenhou_json,
}
_DETAILS = re.compile(r"\(.*|\[.*|'.*|\".*|: line .*|\b[1-9]?[mpsz]r?\b|\b[ESWNPFC]\b|-?\d[\d.,]*")


class Hang(BaseException):
    """A file has taken more than TIME_LIMIT."""


@dataclass
class Outcome:
    """What became of one file."""

    refused: Counter[str] = field(default_factory=Counter)
    """files that are not records, by reason"""
    left_out: Counter[str] = field(default_factory=Counter)
    """rounds and what else is missing, by reason"""
    games: int = 0
    rounds: int = 0
    """that were replayed"""
    lines: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises Hang when it takes longer."""

    def stop(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def examine(record: Record, reader: str, writes_hidden: bool = False) -> Outcome:
    """Annotates one record, and compares the result with a plain reading."""
    outcome = Outcome()
    reports: list[ReplayResult] = []
    try:
        with time_limit(TIME_LIMIT):
            reports = [annotate_game(game, writes_hidden=writes_hidden) for game in read_record(record)]
    except Hang:
        outcome.failures.append(f"hang: more than {TIME_LIMIT} s")
        return outcome
    except ValueError as error:
        text = str(error)
        outcome.refused[reason(text, record.name)] += 1
        if not text.startswith(f"{record.name}: ") or len(text) < len(record.name) + 6:
            outcome.failures.append(f"report: a refusal without name or reason: {text!r}")
        return outcome
    except Exception as error:
        outcome.failures.append(f"raised: {type(error).__name__}: {str(error)[:200]}")
        return outcome
    for report in reports:
        outcome.games += 1
        outcome.rounds += report.num_rounds
        outcome.left_out.update(reason(text, "") for text in report.left_out)
        lines = [f"{format_line(annotation)}\n" for annotation in report.annotations]
        outcome.lines += [line.partition("\t")[2] for line in lines]
        if [parse_line(line, FOUR_PLAYERS) for line in lines] != report.annotations:
            outcome.failures.append("lines: read back they are not the annotations that were written")
    if outcome.lines and record.data is not None:
        _check_content(reader, record.data, reports, outcome)
    return outcome


def _check_content(reader: str, data: bytes, reports: Sequence[ReplayResult], outcome: Outcome) -> None:
    try:
        recorded = _PLAIN_READERS[reader](data.removeprefix(codecs.BOM_UTF8))
    except Exception as error:
        outcome.failures.append(f"content: the plain reading fails: {type(error).__name__}: {error}")
        return
    outcome.failures += _compare(recorded, [annotation for report in reports for annotation in report.annotations])
    num_accounted = sum(report.num_rounds + len(report.left_out) for report in reports)
    if len(recorded) > num_accounted:
        outcome.failures.append(f"lost: {len(recorded)} rounds in the file, {num_accounted} annotated or reported")


def _compare(recorded: Sequence[Any], annotations: Sequence[Annotation]) -> Iterator[str]:
    waiting = list(recorded)
    for lines in _by_round(annotations):
        problems = []
        for number, one in enumerate(waiting):
            problem = _disagreement(one, lines)
            if problem is None:
                del waiting[: number + 1]
                break
            problems.append(problem)
        else:
            yield f"content: {problems[0] if problems else 'a round that is not in the file'}"


def _disagreement(one: Any, lines: Sequence[Annotation]) -> str | None:
    try:
        if isinstance(one, RecordedRound):
            return disagreement(one, lines)
        round_, seats = one
        return disagreement(put_in_order(round_, seats, lines), lines)
    except Exception as error:  # its content cannot be played
        return f"cannot be played: {type(error).__name__}: {error}"


def _by_round(annotations: Sequence[Annotation]) -> Iterator[list[Annotation]]:
    lines: list[Annotation] = []
    for annotation in annotations:
        if annotation.progression == (0,) and lines:
            yield lines
            lines = []
        lines.append(annotation)
    if lines:
        yield lines


def reason(text: str, name: str) -> str:
    """A reason without its details, so that alike ones are counted together."""
    text = re.sub(r"^(East|South|West|North) \d-\d+: ", "a round: ", text.removeprefix(name).removeprefix(": "))
    text = re.sub(r"^(round|line|message) \d+(, \w+)?( in \w+ \d-\d+)?: ", r"\1: ", text)
    return _DETAILS.sub("#", text)[:90].strip()
