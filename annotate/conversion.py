"""One game record to what is written of it, in whichever process."""

from collections import Counter
from dataclasses import dataclass

from annotate.annotation import format_line
from annotate.records.reading import Record, read_record
from annotate.replay import annotate_game
from annotate.report import Report
from annotate.vocabulary import FOUR_PLAYERS

FAULT = "a fault of this program, please report it with the file:"


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
        record_report.left_out.append(f"{record.name}: {FAULT} {type(error).__name__}: {error}")
        return [], record_report
    return annotated, record_report
