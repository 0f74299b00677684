"""kanachan-annotate: game records to annotation lines, on all cores, with a report of what was left out and why."""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import IO

from tqdm import tqdm

from annotate.annotation import Annotation, format_line, parse_line
from annotate.decisions import KINDS, kind_of
from annotate.files import reading_text, writing_text
from annotate.records.reading import ACCEPTED, Record, find_records, read_record, records_of
from annotate.replay import DEFAULT_GRADE, DEFAULT_ROOM, annotate_game
from annotate.terminal import run_cleanly
from annotate.vocabulary import FOUR_PLAYERS, NUM_GRADES
from annotate.words import describe
from annotate.workers import in_order

_KIND_OF_ACTION = [kind_of(token, FOUR_PLAYERS) for token in range(FOUR_PLAYERS.action.size)]

_MOST_DIFFERENCES = 50
"""that a report shows"""


@dataclass
class Report:
    """What became of the records; sums over games, files and workers."""

    files: int = 0
    """and members of archives"""
    size: int = 0
    """bytes of them, as they lie on the disk"""
    games: int = 0
    rounds: int = 0
    decisions: int = 0
    unknown: int = 0
    chosen: Counter[str] = field(default_factory=Counter)
    """decision points by the kind of the action taken"""
    possible: Counter[str] = field(default_factory=Counter)
    """decision points by the kinds of the possible actions"""
    notes: Counter[str] = field(default_factory=Counter)
    left_out: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    """options that a record lists and the rules engine does not have, or the reverse"""

    def add(self, other: "Report") -> None:
        self.files += other.files
        self.size += other.size
        self.games += other.games
        self.rounds += other.rounds
        self.decisions += other.decisions
        self.unknown += other.unknown
        self.chosen += other.chosen
        self.possible += other.possible
        self.notes += other.notes
        self.left_out += other.left_out
        self.differences += other.differences

    def count(self, annotations: Sequence[Annotation]) -> None:
        self.decisions += len(annotations)
        for annotation in annotations:
            self.chosen[_KIND_OF_ACTION[annotation.actions[annotation.chosen]]] += 1
            self.possible.update({_KIND_OF_ACTION[token] for token in annotation.actions})

    def text(self) -> str:
        """A table for people."""
        lines = [
            f"{self.files:>12,} files",
            f"{self.games:>12,} games",
            f"{self.rounds:>12,} rounds",
            f"{self.decisions:>12,} decision points",
            "",
            f"{'kind':<12}{'taken':>12}{'possible':>12}",
        ]
        lines += [f"{kind:<12}{self.chosen[kind]:>12,}{self.possible[kind]:>12,}" for kind in KINDS]
        lines += [
            "",
            f"{self.unknown:,} choices left out that the record does not show (another seat's claim came first)",
        ]
        lines += [f"{count:,} games: {note}" for note, count in sorted(self.notes.items())]
        if self.differences:
            lines.append(
                f"{len(self.differences):,} options on which record and rules engine differ (the engine's stand):"
            )
            lines += [f"  {text}" for text in self.differences[:_MOST_DIFFERENCES]]
            lines += ["  ..."] if len(self.differences) > _MOST_DIFFERENCES else []
        if self.left_out:
            lines += [f"{len(self.left_out):,} left out:", *(f"  {text}" for text in self.left_out)]
        else:
            lines.append("nothing else left out")
        return "\n".join(lines)


@dataclass
class AnnotatedGame:
    """One game's lines, with what the report needs to know of it."""

    id: str
    file: str
    lines: str
    report: Report


def annotate_record(
    record: Record, room: int, grade: int, writes_hidden: bool = False
) -> tuple[list[AnnotatedGame], Report]:
    """The games of one record, and the report of the record itself (its games' reports are their own)."""
    record_report = Report(files=1, size=record.size)
    try:
        games = read_record(record)
        annotated = []
        for game in games:
            result = annotate_game(game, FOUR_PLAYERS, room, grade, writes_hidden)
            report = Report(games=1, rounds=result.num_rounds, unknown=result.num_unknown, notes=Counter(result.notes))
            report.left_out = [f"{record.name}: {text}" for text in result.left_out]
            report.differences = [f"{record.name}: {text}" for text in result.differences]
            report.count(result.annotations)
            lines = "".join(f"{format_line(annotation)}\n" for annotation in result.annotations)
            annotated.append(AnnotatedGame(game.id, record.name, lines, report))
    except ValueError as error:
        record_report.left_out.append(str(error))
        return [], record_report
    except Exception as error:  # a fault of ours must not cost the other files; it is reported and fails the run
        record_report.left_out.append(f"{record.name}: {_FAULT} {type(error).__name__}: {error}")
        return [], record_report
    return annotated, record_report


_FAULT = "a fault of this program, please report it with the file:"


def _write(paths: Sequence[str], output: IO[str], room: int, grade: int, writes_hidden: bool, jobs: int) -> Report:
    report = Report()
    file_of_game: dict[str, str] = {}
    task = partial(annotate_record, room=room, grade=grade, writes_hidden=writes_hidden)
    progress = tqdm(total=_size(paths), unit="B", unit_scale=True, disable=None, smoothing=0.05)
    with progress, closing(in_order(task, records_of(paths), jobs)) as results:
        for games, record_report in results:
            report.add(record_report)
            progress.update(record_report.size)
            for game in games:
                if game.id in file_of_game:
                    first = file_of_game[game.id]
                    report.left_out.append(f"{game.file}: game {game.id} was there before, in {first}")
                    continue
                file_of_game[game.id] = game.file
                output.write(game.lines)
                report.add(game.report)
    return report


def _size(paths: Sequence[str]) -> int | None:
    """Bytes to be read, where that can be told; the number of records in archives cannot."""
    try:
        return sum(map(os.path.getsize, paths))
    except OSError:
        return None


def _explain(paths: Sequence[str], number: int, room: int, grade: int, writes_hidden: bool) -> str:
    records = list(islice(records_of(paths), 2))
    if len(records) != 1:
        raise ValueError("--explain needs one file; of an archive one member, as in archive.zip!folder/game.xml")
    annotations = _annotations_of(records[0], room, grade, writes_hidden, most=max(number, 1))
    if not 1 <= number <= len(annotations):
        raise ValueError(f"{records[0].name}: --explain {number} is not in 1 ... {len(annotations)}")
    return describe(annotations[number - 1], FOUR_PLAYERS)


def _annotations_of(record: Record, room: int, grade: int, writes_hidden: bool, most: int) -> list[Annotation]:
    """The annotations of a record, or the first `most` of a file of annotation lines."""
    try:
        games = read_record(record)
    except ValueError as error:
        if record.data is not None or record.problem is not None:
            raise
        return _parse_lines(record.name, str(error), most)
    reports = [annotate_game(game, FOUR_PLAYERS, room, grade, writes_hidden) for game in games]
    return [annotation for report in reports for annotation in report.annotations]


def _parse_lines(path: str, why_no_record: str, most: int) -> list[Annotation]:
    annotations: list[Annotation] = []
    with reading_text(path) as lines:
        for line in islice(lines, most):
            try:
                annotations.append(parse_line(line, FOUR_PLAYERS))
            except ValueError as error:
                number = len(annotations) + 1
                raise ValueError(f"{why_no_record}; nor are these annotations: line {number}: {error}") from None
    return annotations


def _verify(paths: Sequence[str], jobs: int) -> int:
    from annotate.verify import verify  # its tables take a moment, which nobody else should wait

    verification = verify(paths, jobs)
    print(verification.text())
    return 1 if verification.kinds else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kanachan-annotate",
        description="Replays game records of four-player riichi mahjong and writes every decision of every player as "
        f"one line of text. Accepts {ACCEPTED}; formats are told by content. A round that the rules engine cannot "
        "replay exactly is left out and named in the report, which goes to standard error.",
    )
    parser.add_argument(
        "records",
        nargs="+",
        help="files, folders (with all below them), glob patterns; archives "
        "(zip, or tar that is plain, gzip or zstd) are read member by member, and archive.zip!folder/game.xml is one",
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="annotation lines; compressed by suffix (.gz, .zst); - is standard output",
    )
    what.add_argument(
        "--explain", type=int, metavar="N", help="print decision N (from 1) of a record or of annotation lines in words"
    )
    what.add_argument(
        "--verify",
        action="store_true",
        help="read files of annotation lines (plain, .gz, .zst; - is standard input) in the place of records, check "
        "what must hold of every line and from line to line, and report violations; exit status 1 if there are any",
    )
    parser.add_argument(
        "-j", "--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all %(default)s cores)"
    )
    parser.add_argument(
        "--room",
        type=int,
        default=DEFAULT_ROOM,
        choices=range(5),
        help="room of games whose record does not tell: 0 Bronze ... 4 Throne (default: %(default)s)",
    )
    parser.add_argument(
        "--grade",
        type=int,
        default=DEFAULT_GRADE,
        choices=range(NUM_GRADES),
        metavar=f"0...{NUM_GRADES - 1}",
        help="grade of players whose record does not tell: 0 Novice 1, 14 Saint 3, 15 Celestial (default: %(default)s)",
    )
    parser.add_argument(
        "--hidden",
        action="store_true",
        help="add an eighth field: the other three hands, and the tiles to be drawn where the record tells them; "
        "shards do not hold it",
    )
    parser.add_argument("--strict", action="store_true", help="exit with status 3 if anything was left out")
    return parser


def annotate(argv: Sequence[str] | None = None) -> int:
    """The command kanachan-annotate."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.jobs < 1:
        parser.error(f"--jobs must be at least 1, not {options.jobs}")

    def body() -> int:
        if options.verify:
            return _verify(options.records, options.jobs)
        paths = find_records(options.records)
        if options.explain is not None:
            print(_explain(paths, options.explain, options.room, options.grade, options.hidden))
            return 0
        with writing_text(options.output) as output:
            report = _write(paths, output, options.room, options.grade, options.hidden, options.jobs)
            print(report.text(), file=sys.stderr)
            if report.decisions == 0:
                raise ValueError("no decision point in any of the records (see the report above): nothing written")
        if any(_FAULT in text for text in report.left_out):
            return 1
        return 3 if options.strict and report.left_out else 0

    return run_cleanly(parser.prog, body)
