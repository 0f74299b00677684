"""Reads mjai JSON lines: one event per line, any number of games per file, each from start_game to end_game.

Other programs' dialects are normalised: fields that are not needed are dropped, the others get their usual names.
The moves are not checked here, but by replaying.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotate.game import grading, results
from annotate.game.origin import Origin, log_in, players_of, printable
from annotate.game.record import (
    ENDS,
    Event,
    Game,
    LostRound,
    Round,
    Rules,
    Unreadable,
    require_gain_of_first,
    whole_wall,
)
from annotate.game.tiles import MJAI_NAMES, RED_IDS
from annotate.records.mjai.dialects import (
    ERROR,
    NO_MOVES,
    Completion,
    events_of_line,
    parts_of,
    require_red_fives,
    style_of,
)
from annotate.records.mjai.events import kind_of_event, num_seats_of, round_event, start_kyoku, without_empty_seat
from annotate.records.mjai.fields import HIDDEN, WALL, fields_of, normalised
from annotate.vocabulary import vocabulary_of_seats

_EVENTS = {"start_game", "end_kyoku", "end_game", *fields_of(3).events, *fields_of(4).events}
"""types of the events of games; events of all other types are messages"""
_RED_FIVES = tuple(MJAI_NAMES[tile] for tile in RED_IDS.values())


@dataclass(slots=True)
class _Draft:
    """A game while its lines are being read."""

    line: int
    """line where it starts"""
    start: Event
    header: Event
    num_seats: int
    """number of seats; until the first round, as start_game suggests"""
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

    def lose_round(self, problem: str) -> None:
        """Leaves out the round that is being read."""
        if not self.is_round_lost:
            name = Round(tuple(self.events)).name if self.events else None
            self.lost.append(LostRound(len(self.rounds), problem, name))
        self.events, self.is_round_lost = [], True
        self.completion.scores = None


def mjai_games(text: str, name: str) -> Iterator[Game | Unreadable]:
    """Reads the games of a file, in their order; `name` is the file's without folders and suffixes. Raises ValueError
    if there is no game.

    A fault within a round costs only that round; after a wholly unreadable game, lines up to the next start_game are
    skipped. An error message of the server ends a game; other messages are skipped, and reported if unknown.

    The id of a game is start_game's `kanachan.id`, else its `id` if this is a text, else `name` and a checksum of the
    game's lines, so that no two games share an id. If start_game does not state the style, it follows from the end:
    East only if nobody is below 0 points, the last round is E4 ... S3 (with three players E3 ... S2), where a longer
    game cannot end, and all rounds are possible in an East game; else East and South.
    """
    reader = _Reader(name)
    for part, number, is_unended in parts_of(text):
        if part.strip():
            yield from reader.read_line(part, number, is_unended=is_unended)
    yield from reader.end_game()
    if not reader.has_read:
        raise ValueError("no start_game")


class _Reader:
    """Reads the lines of a file and yields its games."""

    def __init__(self, name: str) -> None:
        self.has_read = False
        """whether there was a game, or a problem"""
        self._name = name
        self._draft: _Draft | None = None
        self._is_lost = False
        """whether the next lines belong to a game with a problem"""
        self._is_cut_off = False

    def read_line(self, line: str, number: int, *, is_unended: bool) -> Iterator[Game | Unreadable]:
        """Reads a line; `is_unended`: the line ends with the file, without a line feed."""
        try:
            events = events_of_line(line)
        except ValueError as error:
            # a file that is still being written, or was cut off, ends in the middle of a line
            self._is_cut_off = is_unended and self._draft is not None
            if not self._is_cut_off:
                if self._draft is not None and self._draft.events and self._draft.events[-1]["type"] == "ryukyoku":
                    _finish_round(self._draft, "")
                yield from self._lose(f"line {number}: {error}")
            return
        for event in events:
            yield from self._read_event(event, line, number)

    def _read_event(self, event: Event, line: str, number: int) -> Iterator[Game | Unreadable]:
        if event["type"] == "start_game":
            yield from self.end_game()
            self._is_lost = False
        is_outside = self._draft is None or self._draft.end is not None
        if self._is_lost or (is_outside and kind_of_event(event) not in _EVENTS):
            return
        try:
            self._draft = _add(event, line, number, self._draft)
        except ValueError as error:
            yield from self._lose(f"line {number}: {event['type']}: {error}")

    def end_game(self) -> Iterator[Game | Unreadable]:
        """Yields the game that is being read, if there is one."""
        draft, self._draft = self._draft, None
        if draft is None:
            return
        self.has_read = True
        if draft.lost and not draft.rounds:
            yield Unreadable(draft.lost[0].problem)
            return
        try:
            yield _game(draft, self._name, self._is_cut_off)
        except ValueError as error:
            yield Unreadable(f"the game from line {draft.line}: {error}")

    def _lose(self, problem: str) -> Iterator[Game | Unreadable]:
        """Leaves out the round that is being read; outside of any game, or after its end, yields a problem."""
        if self._is_lost:
            return
        if self._draft is not None and self._draft.end is None:
            self._draft.lose_round(problem)
            return
        yield from self.end_game()
        self.has_read = self._is_lost = True
        yield Unreadable(problem)


def _add(event: Event, line: str, number: int, draft: _Draft | None) -> _Draft:
    kind = event["type"]
    if kind == "start_game":
        draft = _start_game(event, number)
    elif draft is None:
        raise ValueError("before any start_game")
    elif kind in NO_MOVES or draft.error is not None:
        return draft
    elif kind == ERROR:
        draft.error = draft.error or f"line {number}: error: {str(event.get('message', ''))[:200]}"
        return draft
    elif draft.end is not None:
        raise ValueError("after end_game")
    draft.content.update(line.strip().encode() + b"\n")
    if kind == "start_kyoku" and not (draft.rounds or draft.events or draft.lost):
        draft.num_seats = num_seats_of(event)
        draft.completion = Completion(draft.num_seats)
    event = without_empty_seat(event, draft.num_seats)
    if kind == "end_game":
        if "scores" in event:
            normalised(event, (fields_of(draft.num_seats).scores,))
        _finish_round(draft, f"line {number}: {kind}")
        draft.end = event
    elif kind == "start_kyoku":
        _finish_round(draft, f"line {number}: {kind}")
        draft.is_round_lost = False
        _start_round(draft, event)
    elif kind == "end_kyoku":
        if draft.events and draft.events[-1]["type"] not in ENDS:
            raise ValueError("the round has neither hora nor ryukyoku")
        _finish_round(draft, "")
    elif kind != "start_game":
        _add_to_round(draft, event)
    return draft


def _start_round(draft: _Draft, event: Event) -> None:
    if HIDDEN in str(event.get("tehais")):
        raise ValueError('hands are hidden ("?"): a record that shows all hands is needed')
    start = start_kyoku(draft.completion.completed(event), fields_of(draft.num_seats).events["start_kyoku"])
    rest = normalised(_own_part(event), (WALL,))
    draft.wall = whole_wall(start, rest["wall"], vocabulary_of_seats(draft.num_seats)) if rest else None
    draft.events = [start]
    draft.completion.follow(start)


def _add_to_round(draft: _Draft, event: Event) -> None:
    if kind_of_event(event) not in _EVENTS:
        draft.unknown.add(event["type"])
    elif not draft.is_round_lost:
        found = round_event(draft.completion.completed(event), draft.events, draft.num_seats)
        draft.completion.follow(found)
        # scores after the round are redundant if there are payments
        draft.events.append({k: v for k, v in found.items() if k != "scores" or "deltas" not in found})


def _start_game(event: Event, number: int) -> _Draft:
    require_red_fives(event)
    own, names = _own_part(event), event.get("names")
    lengths = {len(values) for values in (own.get("grades"), own.get("grading_deltas"), names) if type(values) is list}
    num_seats = 3 if 3 in lengths else 4
    return _Draft(number, event, normalised(own, fields_of(num_seats).header), num_seats)


def _own_part(event: Event) -> Event:
    part = event.get("kanachan", {})
    if type(part) is not dict:
        raise ValueError('"kanachan" must be an object')
    return part


def _finish_round(draft: _Draft, where: str) -> None:
    """Moves the round that is being read to the finished ones, or leaves it out if it has no end yet."""
    if not draft.events:
        return
    if draft.events[-1]["type"] not in ENDS:
        draft.lose_round(f"{where}: {Round(tuple(draft.events)).name} has not ended")
        return
    draft.rounds.append(Round(tuple(draft.events), wall=draft.wall))
    draft.events = []


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


def _game(draft: _Draft, name: str, is_cut_off: bool) -> Game:
    _require_red_fives(draft.rounds)
    incomplete = _close(draft, is_cut_off)
    final_scores = None
    if incomplete is None and draft.end is not None:
        scores = draft.end.get("scores")
        if scores is not None:
            final_scores = tuple(scores)
        elif draft.lost and draft.lost[-1].place == len(draft.rounds):
            incomplete = "end_game has no scores, and the last round is left out"
        else:
            final_scores = results.final_scores(draft.rounds[-1].events)
    rules: tuple[Rules, ...] = (draft.header["rules"],) if "rules" in draft.header else ("tenhou", "mjsoul")
    stated = draft.header.get("style", style_of(draft.start))
    starts = [each.events[0] for each in draft.rounds]
    style = results.inferred_style(starts, final_scores) if stated is None else stated
    room = draft.header.get("room")
    grades = tuple(draft.header["grades"]) if "grades" in draft.header else None
    deltas = tuple(draft.header["grading_deltas"]) if "grading_deltas" in draft.header else None
    if deltas is not None and final_scores is not None:
        require_gain_of_first(final_scores, deltas)
    if deltas is None and rules == ("mjsoul",) and final_scores and grades and room is not None:
        deltas = grading.mjsoul_deltas(final_scores, room, grades, style)
    return Game(
        vocabulary=vocabulary_of_seats(draft.num_seats),
        id=_game_id(draft, name),
        rules=rules,
        style=style,
        rounds=tuple(draft.rounds),
        room=room,
        grades=grades,
        final_scores=final_scores,
        grading_deltas=deltas,
        incomplete=incomplete,
        origin=_origin(draft, name),
        lost=tuple(draft.lost),
        notes=(f"events of unknown types passed over: {', '.join(sorted(draft.unknown))[:200]}",) * bool(draft.unknown),
    )


def _origin(draft: _Draft, name: str) -> Origin:
    """Returns the names in start_game and, if its id or the file's name is a platform's, the platform's log name."""
    platform, log = log_in(_game_id(draft, name)) or (None, None)
    grades = draft.header.get("grades") if platform == "mjsoul" else None
    names = draft.start.get("names")
    names = names[: draft.num_seats] if isinstance(names, list) else None
    return Origin(platform, log, None, players_of(names, draft.num_seats, grades))


def _close(draft: _Draft, is_cut_off: bool) -> str | None:
    """Ends a game without end_game at its last whole round; returns why the game is incomplete, None if it is not."""
    if draft.end is None:
        reason = draft.error or ("the file is cut off" if is_cut_off else "there is no end_game")
        if draft.events and draft.events[-1]["type"] == "ryukyoku":
            _finish_round(draft, "")
        if draft.events:
            # after a win another winner of the same tile might have followed
            return f"{reason}; the record stops in {Round(tuple(draft.events)).name}"
        return f"{reason}; the record stops after {draft.rounds[-1].name if draft.rounds else 'start_game'}"
    return None if draft.rounds or draft.lost else "it holds no round"


def _game_id(draft: _Draft, name: str) -> str:
    for given in (draft.header.get("id"), draft.start.get("id")):
        if type(given) is str:
            if not given or not given.isprintable():
                raise ValueError(f"start_game: id {given!r} must be a printable text that is not empty")
            return given
    return f"{printable(name, '_')}-{draft.content.hexdigest()[:12]}"
