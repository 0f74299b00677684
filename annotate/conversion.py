"""One game record to what is written of it, in whichever process."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from annotate.annotation import Annotation
from annotate.outputs import encode_text
from annotate.records.reading import Record, read_record
from annotate.records.record import Game
from annotate.replay import annotate_game
from annotate.report import Report
from annotate.vocabulary import FOUR_PLAYERS

INCOMPLETE = "left out, as their end is not recorded (--keep-incomplete keeps the rounds that are)"


@dataclass
class AnnotatedGame:
    """One game's annotations as they are written, with what the report needs to know of it."""

    id: str
    file: str
    data: bytes
    report: Report

    @property
    def lines(self) -> str:
        """If they were encoded as text."""
        return self.data.decode()


def annotate_record(
    record: Record,
    room: int,
    grade: int,
    writes_hidden: bool = False,
    keeps_incomplete: bool = False,
    encode: Callable[[Sequence[Annotation]], bytes] = encode_text,
) -> tuple[list[AnnotatedGame], Report]:
    """The games of one record, and the report of the record itself (its games' reports are their own).

    Args:
        keeps_incomplete: annotates games without final scores, too.
    """
    record_report = Report(files=1, size=record.size)
    try:
        games = read_record(record)
        annotated = []
        for game in games:
            if lacks_end(game) and not keeps_incomplete:
                report = Report(games=1, notes=Counter([INCOMPLETE]))
                report.leave_out(f"{record.name}: the whole game {game.id}: {game.incomplete}")
                annotated.append(AnnotatedGame(game.id, record.name, b"", report))
                continue
            result = annotate_game(game, FOUR_PLAYERS, room, grade, writes_hidden)
            report = Report(games=1, rounds=result.num_rounds, unknown=result.num_unknown, notes=Counter(result.notes))
            for text in result.left_out:
                report.leave_out(f"{record.name}: {text}")
            report.differences = [f"{record.name}: {text}" for text in result.differences]
            report.num_differences = len(report.differences)
            report.count(result.annotations)
            annotated.append(AnnotatedGame(game.id, record.name, encode(result.annotations), report))
    except ValueError as error:
        record_report.leave_out(str(error))
        return [], record_report
    except Exception as error:  # a fault of ours must not cost the other files; it is reported and fails the run
        fault = f"a fault of this program, please report it with the file: {type(error).__name__}: {error}"
        record_report.leave_out(f"{record.name}: {fault}", is_fault=True)
        return [], record_report
    return annotated, record_report


def lacks_end(game: Game) -> bool:
    """Whether there are rounds, of which it is not known to what ranks and scores they led."""
    return bool(game.rounds) and game.final_scores is None
