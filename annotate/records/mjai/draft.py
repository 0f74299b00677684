"""A game of an mjai file while its lines are being read."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from annotate.game import grading, results
from annotate.game.origin import Origin, log_in, players_of, printable
from annotate.game.record import ENDS, Event, Game, LostRound, Round, Rules, require_gain_of_first, whole_wall
from annotate.game.tiles import MJAI_NAMES, RED_IDS
from annotate.records.mjai.dialects import ERROR, NO_MOVES, Completion, require_red_fives, style_of
from annotate.records.mjai.events import kind_of_event, num_seats_of, round_event, start_kyoku, without_empty_seat
from annotate.records.mjai.fields import HIDDEN, WALL, fields_of, normalised
from annotate.vocabulary import vocabulary_of_seats

EVENTS = {"start_game", "end_kyoku", "end_game", *fields_of(3).events, *fields_of(4).events}
"""types of the events of games; events of all other types are messages"""
_RED_FIVES = tuple(MJAI_NAMES[tile] for tile in RED_IDS.values())


@dataclass(slots=True)
class Draft:
    """The rounds of a game so far."""

    line: int
    """line where it starts"""
    start: Event
    num_seats: int = 4
    """number of seats; known from the first round on"""
    content: Any = field(default_factory=hashlib.sha256)
    rounds: list[Round] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    """events of the round that is being read"""
    wall: tuple[str, ...] | None = None
    end: Event | None = None
    error: str | None = None
    """the server's error message that ended the game early"""
    lost: list[LostRound] = field(default_factory=list)
    is_round_lost: bool = False
    """whether events are skipped until the next round"""
    unknown: set[str] = field(default_factory=set)
    completion: Completion = field(default_factory=lambda: Completion(4))
    _header: Event = field(default_factory=dict)

    @classmethod
    def of_start(cls, event: Event, line: str, number: int) -> Self:
        """Creates the draft of a game from its start_game, in a line with this number."""
        require_red_fives(event)
        draft = cls(number, event)
        draft._add_content(line)
        return draft

    def add(self, event: Event, line: str, number: int) -> None:
        """Adds the next event, in a line with this number. Raises ValueError if it has a fault or cannot be here."""
        kind = event["type"]
        if kind in NO_MOVES or self.error is not None:
            return
        if kind == ERROR:
            self.error = f"line {number}: error: {str(event.get('message', ''))[:200]}"
            return
        if self.end is not None:
            raise ValueError("after end_game")
        self._add_content(line)
        if kind == "start_kyoku" and not (self.rounds or self.events):
            self.num_seats = num_seats_of(event)
            self.completion = Completion(self.num_seats)
            if self.lost:
                self.completion.scores = None
        event = without_empty_seat(event, self.num_seats)
        if kind == "end_game":
            if "scores" in event and (self.rounds or self.events):
                normalised(event, (fields_of(self.num_seats).scores,))
            self.finish_round(f"line {number}: {kind}")
            self.end = event
        elif kind == "start_kyoku":
            self.finish_round(f"line {number}: {kind}")
            self.is_round_lost = False
            self._start_round(event)
        elif kind == "end_kyoku":
            if self.events and self.events[-1]["type"] not in ENDS:
                raise ValueError("the round has neither hora nor ryukyoku")
            self.finish_round()
        else:
            self._add_to_round(event)

    def _add_content(self, line: str) -> None:
        self.content.update(line.strip().encode() + b"\n")

    def _start_round(self, event: Event) -> None:
        if HIDDEN in str(event.get("tehais")):
            raise ValueError('hands are hidden ("?"): a record that shows all hands is needed')
        start = start_kyoku(self.completion.completed(event), fields_of(self.num_seats).events["start_kyoku"])
        rest = normalised(_own_part(event), (WALL,))
        self.wall = whole_wall(start, rest["wall"], vocabulary_of_seats(self.num_seats)) if rest else None
        self.events = [start]
        self.completion.follow(start)

    def _add_to_round(self, event: Event) -> None:
        if kind_of_event(event) not in EVENTS:
            self.unknown.add(event["type"])
        elif not self.is_round_lost:
            checked = round_event(self.completion.completed(event), self.events, self.num_seats)
            self.completion.follow(checked)
            # scores after the round are redundant if there are payments
            self.events.append({k: v for k, v in checked.items() if k != "scores" or "deltas" not in checked})

    def finish_round(self, where: str = "") -> None:
        """Moves the round that is being read to the finished ones, or leaves it out if it has no end yet."""
        if not self.events:
            return
        if self.events[-1]["type"] not in ENDS:
            self.lose_round(f"{where}: {Round(tuple(self.events)).name} has not ended")
            return
        self.rounds.append(Round(tuple(self.events), wall=self.wall))
        self.events = []

    def finish_draw(self) -> None:
        """Moves the round that is being read to the finished ones if it ended without a winner: after a win, another
        winner of the same tile might have followed."""
        if self.events and self.events[-1]["type"] == "ryukyoku":
            self.finish_round()

    def lose_round(self, problem: str) -> None:
        """Leaves out the round that is being read."""
        if not self.is_round_lost:
            name = Round(tuple(self.events)).name if self.events else None
            self.lost.append(LostRound(len(self.rounds), problem, name))
        self.events, self.is_round_lost = [], True
        self.completion.scores = None

    def game(self, name: str, *, is_cut_off: bool) -> Game:
        """Returns the game. `name`: the file's without folders and suffixes. Raises ValueError if it has a fault."""
        _require_red_fives(self.rounds)
        try:
            header = self._header = normalised(_own_part(self.start), fields_of(self.num_seats).header)
        except ValueError as error:
            raise ValueError(f"start_game: {error}") from None
        incomplete, final_scores = self._close(is_cut_off), None
        if incomplete is None and self.end is not None:
            scores = self.end.get("scores")
            if scores is not None:
                final_scores = tuple(scores)
            elif self.lost and self.lost[-1].place == len(self.rounds):
                incomplete = "end_game has no scores, and the last round is left out"
            else:
                final_scores = results.final_scores(self.rounds[-1].events)
        rules: tuple[Rules, ...] = (header["rules"],) if "rules" in header else ("tenhou", "mjsoul")
        stated = header.get("style", style_of(self.start))
        starts = [recorded.events[0] for recorded in self.rounds]
        style = results.inferred_style(starts, final_scores) if stated is None else stated
        room = header.get("room")
        grades = tuple(header["grades"]) if "grades" in header else None
        deltas = tuple(header["grading_deltas"]) if "grading_deltas" in header else None
        if deltas is not None and final_scores is not None:
            require_gain_of_first(final_scores, deltas)
        if deltas is None and rules == ("mjsoul",) and final_scores and grades and room is not None:
            deltas = grading.mjsoul_deltas(final_scores, room, grades, style)
        unknown = ", ".join(sorted(self.unknown))[:200]
        return Game(
            vocabulary=vocabulary_of_seats(self.num_seats),
            id=self._id(name),
            rules=rules,
            style=style,
            rounds=tuple(self.rounds),
            room=room,
            grades=grades,
            final_scores=final_scores,
            grading_deltas=deltas,
            incomplete=incomplete,
            origin=self._origin(name),
            lost=tuple(self.lost),
            notes=(f"events of unknown types passed over: {unknown}",) * bool(self.unknown),
        )

    def _close(self, is_cut_off: bool) -> str | None:
        """Ends a game without end_game at its last whole round; returns why the game is incomplete, None if it is
        not."""
        if self.end is not None:
            return None if self.rounds or self.lost else "it holds no round"
        reason = self.error or ("the file is cut off" if is_cut_off else "there is no end_game")
        self.finish_draw()
        if self.events:
            return f"{reason}; the record stops in {Round(tuple(self.events)).name}"
        return f"{reason}; the record stops after {self.rounds[-1].name if self.rounds else 'start_game'}"

    def _id(self, name: str) -> str:
        for stated in (self._header.get("id"), self.start.get("id")):
            if type(stated) is str:
                if not stated or not stated.isprintable():
                    raise ValueError(f"start_game: id {stated!r} must be a printable text that is not empty")
                return stated
        return f"{printable(name, '_')}-{self.content.hexdigest()[:12]}"

    def _origin(self, name: str) -> Origin:
        """Returns the names in start_game and, if its id or the file's name is a platform's, the platform's log
        name."""
        platform, log = log_in(self._id(name)) or (None, None)
        grades = self._header.get("grades") if platform == "mjsoul" else None
        names = self.start.get("names")
        names = names[: self.num_seats] if isinstance(names, list) else None
        return Origin(platform, log, None, players_of(names, self.num_seats, grades))


def _own_part(event: Event) -> Event:
    part = event.get("kanachan", {})
    if type(part) is not dict:
        raise ValueError('"kanachan" must be an object')
    return part


def _require_red_fives(rounds: Sequence[Round]) -> None:
    """Raises ValueError if no round shows a red five, and one round shows four ordinary fives of a suit."""
    seen = list[Counter[str]]()
    for recorded in rounds:
        start, *rest = recorded.events
        hands = (tile for hand in start["tehais"] for tile in hand)
        tiles = Counter([start["dora_marker"], *hands, *(event["pai"] for event in rest if event["type"] == "tsumo")])
        if any(five in tiles for five in _RED_FIVES):
            return
        seen.append(tiles)
    if any(tiles[five.removesuffix("r")] == 4 for tiles in seen for five in _RED_FIVES):
        raise ValueError("a game without red fives: this rule variant is not supported")
