"""Replays recorded games in the engine and annotates every decision point of every seat.

A round is trusted only if the engine, playing the record's actions on the record's wall, produces the record's events,
dora indicators, payments and scores; otherwise it is skipped.
"""

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from annotate.annotation import Annotation
from annotate.game.decisions import Play, annotation_of, play
from annotate.game.engine.table import Table
from annotate.game.features import ObservationEncoder
from annotate.game.grading import mjsoul_deltas, mjsoul_rooms
from annotate.game.record import Game, Round, Rules
from annotate.game.results import GameSummary, RoundSummary, final_scores, game_part, round_part, round_summary
from annotate.game.settings import DEFAULT_GRADE, DEFAULT_ROOM, grades_by_seat
from annotate.game.winning import Win, wins_of
from annotate.replay.consistency import Disagreement, agreed_events
from annotate.replay.continuity import RoundSequence
from annotate.replay.script import Script
from annotate.replay.walls import wall_of


class ReplayedRound(NamedTuple):
    """The result of one round of a game."""

    place: int
    """place among the rounds of the record, from 0"""
    annotations: list[Annotation]
    wins: list[Win]


@dataclass
class ReplayResult:
    id: str
    rounds: list[ReplayedRound] = field(default_factory=list)
    """the rounds that agree with their record"""
    summary: GameSummary | None = None
    """summary of the replayed rounds; None if there are none"""
    left_out: list[str] = field(default_factory=list)
    """"round: reason" for each skipped round"""
    faults: list[str] = field(default_factory=list)
    """entries of `left_out` that are due to a fault of this program"""
    num_unknown: int = 0
    """choices that the record cannot show, because another seat's call or ron came first"""
    automatic: Counter[str] = field(default_factory=Counter)
    """choices that the server made for a player who was away, by kind"""
    num_others: int = 0
    """choices of seats that are not annotated"""
    notes: list[str] = field(default_factory=list)
    """assumptions about missing parts of the record, such as a default room"""

    @property
    def annotations(self) -> list[Annotation]:
        return [annotation for each in self.rounds for annotation in each.annotations]

    @property
    def num_rounds(self) -> int:
        return len(self.rounds)


class Replayed(NamedTuple):
    """A replayed round that agrees with its record."""

    play: Play
    results: list[tuple[int, ...]]
    """the part of the results that the round determines, by seat"""
    wins: list[Win]


def annotate_game(
    game: Game,
    room: int = DEFAULT_ROOM,
    grades: Sequence[int] = (DEFAULT_GRADE,),
    writes_hidden: bool = False,
    seats: Container[int] | None = None,
) -> ReplayResult:
    """Replays a game and annotates every decision point of `seats`, None: of all seats. `room` and `grades` (one, or
    one for each seat) are for games whose record has none."""
    report = ReplayResult(game.id, notes=list(game.notes))
    report.left_out += list(map(str, game.lost))
    if game.incomplete is not None:
        report.left_out.append(game.incomplete)
    if not game.rounds:
        return report
    if game.room is None or game.grades is None:
        report.notes.append("room or grades unknown: defaults taken")
    room = game.room if game.room is not None else room
    grades = game.grades if game.grades is not None else grades_by_seat(grades, game.vocabulary.num_seats)
    if writes_hidden and any(recorded.wall is None for recorded in game.rounds):
        report.notes.append("wall unknown: the hidden field holds hands alone")
    writer = ObservationEncoder(game.vocabulary, room, game.style, tuple(grades), writes_hidden, seats)
    found: list[tuple[int, Replayed]] = []
    course = RoundSequence(game.rounds, game.style, {lost.place for lost in game.lost})
    for place, recorded in enumerate(game.rounds):
        try:
            with course.through(place):
                replayed = _replay_under_any(recorded, game.rules, writer)
            found.append((place, replayed))
        except Disagreement as error:
            report.left_out.append(f"{recorded.name}: {error}")
        except Exception as error:  # a fault of this program costs only its round
            report.faults.append(f"{recorded.name}: {fault_of_ours(error)}")
            report.left_out.append(report.faults[-1])
    if not found:
        return report
    last_place, _ = found[-1]
    scores, grading_deltas = _end_of_game(game, report, room, grades, last_place)
    end_of_game = game_part(scores, grading_deltas)
    rounds: list[RoundSummary] = []
    for place, replayed in found:
        rounds.append(round_summary(game.rounds[place].events[0], replayed.results[0][1:]))
        decisions = replayed.play.decisions
        annotations = [annotation_of(game.id, decision, replayed.results, end_of_game) for decision in decisions]
        report.rounds.append(ReplayedRound(place, annotations, replayed.wins))
        report.num_unknown += replayed.play.num_unknown
        report.automatic += replayed.play.automatic
        report.num_others += replayed.play.num_others
    try:
        if game.final_scores is not None:
            course.end(scores)
    except Disagreement as error:
        left_out = [*report.left_out, f"the whole game: {error}"]
        return ReplayResult(game.id, left_out=left_out, faults=report.faults, notes=list(game.notes))
    report.left_out += course.missing
    report.summary = GameSummary(room, game.style, tuple(grades), rounds, tuple(scores), tuple(grading_deltas))
    return report


def fault_of_ours(error: Exception) -> str:
    """Returns the message about a fault of this program, which costs only the round or game in which it occurs."""
    return f"a fault of this program, please report it with the file: {type(error).__name__}: {error}"


def _end_of_game(
    game: Game, report: ReplayResult, room: int, grades: Sequence[int], last_place: int
) -> tuple[Sequence[int], Sequence[int]]:
    """Returns the final scores and the changes of grading points, by seat; adds notes on assumptions to `report`.
    `last_place`: index of the last round that was replayed."""
    scores = game.final_scores
    if scores is None:
        report.notes.append("end of the game missing: ranks and scores are those after its last whole round")
        return final_scores(game.rounds[last_place].events), [0] * game.vocabulary.num_seats
    deltas = game.grading_deltas
    if deltas is None:
        is_known = room in mjsoul_rooms(game.style, game.vocabulary.num_seats)
        written = "Mahjong Soul's for the rooms and grades" if is_known else "0, as those of the room are not known,"
        report.notes.append(f"change of grading points not recorded: {written} written")
        deltas = mjsoul_deltas(scores, room, grades, game.style)
    return scores, deltas


def _replay_under_any(recorded: Round, rules: Sequence[Rules], writer: ObservationEncoder) -> Replayed:
    problems = list[Disagreement]()
    for rule in rules:
        try:
            return replay_round(recorded, rule, writer)
        except Disagreement as error:
            problems.append(error)
    raise problems[0]


def replay_round(recorded: Round, rules: Rules, writer: ObservationEncoder) -> Replayed:
    """Replays one recorded round. Raises Disagreement with the first difference between the record and the engine."""
    events = recorded.events
    try:
        table = Table.of_round(
            rules,
            events[0],
            wall_of(recorded, writer.vocabulary),
            writer.vocabulary,
            is_wall_true=recorded.wall is not None,
        )
        script = Script(recorded, table)
        played = play(table, writer, script.choose)
    except Disagreement:
        raise
    except (ValueError, OverflowError) as error:  # the engine counts honba in a byte
        raise Disagreement(str(error)) from error
    script.check_finished()
    results = round_part(agreed_events(events, script.abort, table))
    return Replayed(played, results, wins_of(table))
