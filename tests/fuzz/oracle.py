"""What must be true of every file: no fault, no hang, and each annotation is right or its round is reported."""

import codecs
import copy
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from annotate.annotation import Annotation, format_line, parse_line
from annotate.records.reading import Record, read_record
from annotate.replay.replay import ReplayResult, annotate_game
from annotate.vocabulary import FOUR_PLAYERS
from tests.fuzz.compare import disagreement
from tests.fuzz.plain_reading import RecordedRound, rounds_of_mjai, rounds_of_mjlog

_TIME_LIMIT_S = 10.0  # of CPU time
PLAIN_READERS = {"mjlog": rounds_of_mjlog, "mjai": rounds_of_mjai}
"""in other formats, only faults, hangs and refusals without a reason are looked for"""


class Hang(BaseException):
    """A file has taken more than the time limit."""


@dataclass
class Outcome:
    """The result of one file."""

    refusal: str | None = None
    left_out: list[str] = field(default_factory=list)
    rounds: int = 0
    """the number of replayed rounds"""
    lines: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


@contextmanager
def _time_limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, _TIME_LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def examine(record: Record, format_: str, writes_hidden: bool = False) -> Outcome:
    """Annotates one record, and compares the result with a plain reading. Exceptions other than ValueError are raised.

    Args:
        record: with its data.
    """
    assert record.data is not None
    outcome = Outcome()
    try:
        with _time_limit():
            reports = [annotate_game(game, writes_hidden=writes_hidden) for game in read_record(record)]
    except ValueError as error:
        outcome.refusal = str(error).removeprefix(f"{record.name}: ")
        if outcome.refusal in ("", str(error)):
            outcome.failures.append(f"a refusal without name or reason: {error}")
        return outcome
    for report in reports:
        outcome.rounds += report.num_rounds
        outcome.left_out += report.left_out
        outcome.failures += [f"a fault: {text}" for text in report.faults]
        lines = [format_line(annotation) for annotation in report.annotations]
        outcome.lines += [line.partition("\t")[2] for line in lines]
        if [parse_line(line, FOUR_PLAYERS) for line in lines] != report.annotations:
            outcome.failures.append("read back the lines are not the annotations that were written")
    if outcome.lines and format_ in PLAIN_READERS:
        recorded = PLAIN_READERS[format_](record.data.removeprefix(codecs.BOM_UTF8))
        outcome.failures += _differences(recorded, reports)
        if len(recorded) > outcome.rounds + len(outcome.left_out):
            outcome.failures.append(f"{len(recorded)} rounds in the file, of which some are not mentioned")
    return outcome


def _differences(recorded: Sequence[RecordedRound], reports: Sequence[ReplayResult]) -> Iterator[str]:
    waiting = list(recorded)
    for lines in _by_round([annotation for report in reports for annotation in report.annotations]):
        problems = []
        for number, one in enumerate(waiting):
            problem = _disagreement(copy.deepcopy(one), lines)
            if problem is None:
                del waiting[: number + 1]
                break
            problems.append(problem)
        else:
            yield f"content: {problems[0] if problems else 'a round that is not in the file'}"


def _disagreement(one: RecordedRound, lines: Sequence[Annotation]) -> str | None:
    try:
        return disagreement(one, lines)
    except (LookupError, TypeError, ValueError) as error:
        return f"cannot be played: {type(error).__name__}: {error}"


def _by_round(annotations: Sequence[Annotation]) -> list[list[Annotation]]:
    rounds: list[list[Annotation]] = []
    for annotation in annotations:
        if annotation.progression == (0,) or not rounds:
            rounds.append([])
        rounds[-1].append(annotation)
    return rounds
