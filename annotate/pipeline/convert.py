"""Converts one game record to its encoded annotations, in any process."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from annotate.game.record import Game, Unreadable
from annotate.game.settings import grades_by_seat
from annotate.pipeline.outputs import Encode, Output
from annotate.pipeline.report import Report
from annotate.records.finding import Shard
from annotate.records.reading import Record, games_of
from annotate.replay.replay import annotate_game, fault_of_ours
from annotate.runtime.garbage import no_search_for_cycles
from annotate.runtime.journal import hash_of_sources
from annotate.vocabulary import VOCABULARIES

INCOMPLETE = "left out, as their end is not recorded (--keep-incomplete keeps their recorded rounds)"
OTHER_PLAYERS = "skipped, as they are for another number of players than --players"
_NOT_BY = "skipped, as no player has a name of --by"
_NO_NAMES = "skipped, as their records hold no names, which --by needs"


@dataclass(frozen=True)
class Conversion:
    """The records to convert and the settings of the conversion."""

    paths: Sequence[str]
    room: int
    grades: Sequence[int]
    writes_hidden: bool = False
    shard: Shard = Shard(1, 1)
    keeps_incomplete: bool = False
    """whether games without recorded final scores are annotated too"""
    num_players: int | None = None
    """number of players of the games to annotate; None: any number"""
    skips_others: bool = True
    """whether games with another number of players are skipped instead of refused"""
    by: Sequence[str] = ()
    """names of players whose decisions are annotated; empty: all players"""

    def settings(self, output: Output) -> dict[str, Any]:
        """Returns all settings on which the output depends, without the records."""
        # the output depends on all sources of this package
        sources = hash_of_sources(Path(__file__).parents[1].rglob("*.py"))
        return {
            "room": self.room,
            "grades": list(self.grades),
            "hidden": self.writes_hidden,
            "keep incomplete": self.keeps_incomplete,
            "players": self.num_players,
            "by": list(self.by),
            "shard": str(self.shard),
            "program": f"{version('kanachan')}, riichienv {version('riichienv')}, {sources}",
            "vocabulary": " ".join(vocabulary.fingerprint for vocabulary in VOCABULARIES.values()),
            **output.settings,
        }


@dataclass
class AnnotatedGame:
    id: str
    play: str
    """`Game.play`"""
    data: bytes
    report: Report
    num_players: int


@no_search_for_cycles()
def annotate_record(
    record: Record, conversion: Conversion, encode: Encode
) -> tuple[Record, list[AnnotatedGame], Report]:
    """Returns the record without its content, its converted games, and the record's own report, without the reports of
    its games."""
    annotated, record_report = list[AnnotatedGame](), Report(files=1, size=record.size)
    try:
        for game in games_of(record):
            if isinstance(game, Unreadable):
                record_report.leave_out(game.problem)
                continue
            data, report = _converted(game, record.name, conversion, encode)
            annotated.append(AnnotatedGame(game.id, game.play, data, report, game.vocabulary.num_seats))
    except ValueError as error:
        record_report.leave_out(str(error))
    except Exception as error:
        record_report.leave_out(f"{record.name}: {fault_of_ours(error)}", is_fault=True)
    return replace(record, data=record.data and b""), annotated, record_report


def _converted(game: Game, file: str, conversion: Conversion, encode: Encode) -> tuple[bytes, Report]:
    """Returns the encoded annotations of a game, empty if it is skipped, and its report."""
    seats = game.origin.seats_of(conversion.by) if conversion.by else None
    if seats == ():
        return b"", Report(notes=Counter([_NOT_BY if game.origin.has_names else _NO_NAMES]))
    if conversion.num_players not in (None, game.vocabulary.num_seats):
        return b"", Report(notes=Counter([OTHER_PLAYERS]))
    by = Counter([name for name in conversion.by if game.origin.seats_of((name,))])
    if game.rounds and game.final_scores is None and not conversion.keeps_incomplete:
        report = Report(games=1, notes=Counter([INCOMPLETE]), by=by)
        report.leave_out(f"{file}: the whole game {game.id}: {game.incomplete}")
        return b"", report
    grades_by_seat(conversion.grades, game.vocabulary.num_seats)  # raises ValueError if the option is wrong
    try:
        result = annotate_game(game, conversion.room, conversion.grades, conversion.writes_hidden, seats)
        data = encode(result.annotations, result.summary)
    except Exception as error:
        report = Report(games=1)
        report.leave_out(f"{file}: the whole game {game.id}: {fault_of_ours(error)}", is_fault=True)
        return b"", report
    report = Report(games=1, rounds=result.num_rounds, unknown=result.num_unknown, notes=Counter(result.notes))
    report.automatic, report.others = result.automatic, result.num_others
    report.by = by
    for text in result.left_out:
        report.leave_out(f"{file}: {text}", is_fault=text in result.faults)
    report.count(result.annotations, game.vocabulary)
    return data, report
