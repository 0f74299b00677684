"""Conversion of one game record to its encoded annotations, in whichever process."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from annotate.game.record import Game, Unreadable
from annotate.pipeline.outputs import Encode, encode_text
from annotate.pipeline.report import Report
from annotate.records.reading import Record, games_of
from annotate.replay.replay import ReplayResult, annotate_game, fault_of_ours
from annotate.runtime.garbage import no_search_for_cycles

INCOMPLETE = "left out, as their end is not recorded (--keep-incomplete keeps their recorded rounds)"

_OTHER_PLAYERS = "skipped, as they are for another number of players than --players"
_NOT_BY = "skipped, as no player has a name of --by"
_NO_NAMES = "skipped, as their records hold no names, which --by needs"


@dataclass
class AnnotatedGame:
    """One game's encoded annotations and its report."""

    id: str
    play: str
    """`Game.play`"""
    file: str
    data: bytes
    report: Report
    num_players: int


@no_search_for_cycles()
def annotate_record(
    record: Record,
    room: int,
    grades: Sequence[int],
    writes_hidden: bool = False,
    keeps_incomplete: bool = False,
    num_players: int | None = None,
    by: Sequence[str] = (),
    encode: Encode = encode_text,
) -> tuple[list[AnnotatedGame], Report]:
    """Converts the games of one record; returns them and the report of the record itself, without its games' reports.

    Args:
        keeps_incomplete: also annotates games without final scores.
        num_players: annotates only games of so many players.
        by: annotates only the decisions of players with these names, if there are any.
    """
    annotate = partial(annotate_game, room=room, grades=grades, writes_hidden=writes_hidden)
    annotated, record_report = list[AnnotatedGame](), Report(files=1, size=record.size)
    try:
        for game in games_of(record):
            if isinstance(game, Unreadable):
                record_report.leave_out(game.problem)
            elif num_players not in (None, game.vocabulary.num_seats):
                annotated.append(_skipped(game, record.name, Report(notes=Counter([_OTHER_PLAYERS]))))
            elif lacks_end(game) and not keeps_incomplete:
                report = Report(games=1, notes=Counter([INCOMPLETE]))
                report.leave_out(f"{record.name}: the whole game {game.id}: {game.incomplete}")
                annotated.append(_skipped(game, record.name, report))
            elif seats_by(game, by) == ():
                note = _NOT_BY if game.origin.has_names else _NO_NAMES
                annotated.append(_skipped(game, record.name, Report(notes=Counter([note]))))
            else:
                annotated.append(_annotated(game, record.name, annotate, by, encode))
    except ValueError as error:
        record_report.leave_out(str(error))
    except Exception as error:
        record_report.leave_out(f"{record.name}: {fault_of_ours(error)}", is_fault=True)
    return annotated, record_report


def _skipped(game: Game, file: str, report: Report) -> AnnotatedGame:
    return AnnotatedGame(game.id, game.play, file, b"", report, game.vocabulary.num_seats)


def _annotated(
    game: Game, file: str, annotate: Callable[..., ReplayResult], by: Sequence[str], encode: Encode
) -> AnnotatedGame:
    try:
        result = annotate(game, seats=seats_by(game, by))
        data = encode(result.annotations, result.summary)
    except Exception as error:
        report = Report(games=1)
        report.leave_out(f"{file}: the whole game {game.id}: {fault_of_ours(error)}", is_fault=True)
        return _skipped(game, file, report)
    report = Report(games=1, rounds=result.num_rounds, unknown=result.num_unknown, notes=Counter(result.notes))
    report.automatic, report.others = result.automatic, result.num_others
    report.by = Counter([name for name in by if game.origin.seats_of((name,))])
    for text in result.left_out:
        report.leave_out(f"{file}: {text}", is_fault=text in result.faults)
    report.differences = [f"{file}: {text}" for text in result.differences]
    report.num_differences = len(report.differences)
    report.count(result.annotations, game.vocabulary)
    return AnnotatedGame(game.id, game.play, file, data, report, game.vocabulary.num_seats)


def seats_by(game: Game, names: Sequence[str]) -> tuple[int, ...] | None:
    """Returns the seats of the players with one of these names; None, all seats, if there are no names."""
    return game.origin.seats_of(names) if names else None


def lacks_end(game: Game) -> bool:
    """Returns whether the game has rounds but no final scores."""
    return bool(game.rounds) and game.final_scores is None
