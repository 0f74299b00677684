"""Conversion of one game record to its encoded annotations, in whichever process."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from annotate.game.record import Game, Unreadable
from annotate.pipeline.outputs import Encode, Output
from annotate.pipeline.report import Report
from annotate.records.finding import Shard
from annotate.records.reading import Record, games_of
from annotate.replay.replay import annotate_game, fault_of_ours
from annotate.runtime.garbage import no_search_for_cycles
from annotate.runtime.journal import hash_of_sources
from annotate.vocabulary import VOCABULARIES

INCOMPLETE = "left out, as their end is not recorded (--keep-incomplete keeps their recorded rounds)"

_OTHER_PLAYERS = "skipped, as they are for another number of players than --players"
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
    """whether games are also annotated whose final scores the record does not contain"""
    num_players: int | None = None
    """the games to annotate; None: any number of players"""
    skips_others: bool = True
    """whether games of another number of players are skipped, and not refused"""
    by: Sequence[str] = ()
    """names of players: only their decisions are annotated, if there are any"""

    def seats_of(self, game: Game) -> tuple[int, ...] | None:
        """Returns the seats whose decisions are annotated; None: all."""
        return game.origin.seats_of(self.by) if self.by else None

    def settings(self, output: Output) -> dict[str, Any]:
        """Returns all that the output depends on, except for the records."""
        # all sources of this package together decide what is written
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
    file: str
    data: bytes
    report: Report
    num_players: int


@no_search_for_cycles()
def annotate_record(
    record: Record, conversion: Conversion, encode: Encode
) -> tuple[Record, list[AnnotatedGame], Report]:
    """Returns a record without its content, its games, converted, and the report of the record itself, without those of
    its games."""
    annotated, record_report = list[AnnotatedGame](), Report(files=1, size=record.size)
    try:
        for game in games_of(record):
            if isinstance(game, Unreadable):
                record_report.leave_out(game.problem)
            elif conversion.num_players not in (None, game.vocabulary.num_seats):
                annotated.append(_skipped(game, record.name, Report(notes=Counter([_OTHER_PLAYERS]))))
            elif game.rounds and game.final_scores is None and not conversion.keeps_incomplete:
                report = Report(games=1, notes=Counter([INCOMPLETE]))
                report.leave_out(f"{record.name}: the whole game {game.id}: {game.incomplete}")
                annotated.append(_skipped(game, record.name, report))
            elif conversion.seats_of(game) == ():
                note = _NOT_BY if game.origin.has_names else _NO_NAMES
                annotated.append(_skipped(game, record.name, Report(notes=Counter([note]))))
            else:
                annotated.append(_annotated(game, record.name, conversion, encode))
    except ValueError as error:
        record_report.leave_out(str(error))
    except Exception as error:
        record_report.leave_out(f"{record.name}: {fault_of_ours(error)}", is_fault=True)
    return replace(record, data=record.data and b""), annotated, record_report


def _skipped(game: Game, file: str, report: Report) -> AnnotatedGame:
    return AnnotatedGame(game.id, game.play, file, b"", report, game.vocabulary.num_seats)


def _annotated(game: Game, file: str, conversion: Conversion, encode: Encode) -> AnnotatedGame:
    try:
        seats = conversion.seats_of(game)
        result = annotate_game(game, conversion.room, conversion.grades, conversion.writes_hidden, seats)
        data = encode(result.annotations, result.summary)
    except Exception as error:
        report = Report(games=1)
        report.leave_out(f"{file}: the whole game {game.id}: {fault_of_ours(error)}", is_fault=True)
        return _skipped(game, file, report)
    report = Report(games=1, rounds=result.num_rounds, unknown=result.num_unknown, notes=Counter(result.notes))
    report.automatic, report.others = result.automatic, result.num_others
    report.by = Counter([name for name in conversion.by if game.origin.seats_of((name,))])
    for text in result.left_out:
        report.leave_out(f"{file}: {text}", is_fault=text in result.faults)
    report.count(result.annotations, game.vocabulary)
    return AnnotatedGame(game.id, game.play, file, data, report, game.vocabulary.num_seats)
