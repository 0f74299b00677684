"""Reads mjai JSON lines: one event a line, any number of games a file, each from start_game to end_game.

Other programs' dialects are normalised: fields that are not needed are dropped, the others get their usual names.
Whether the moves are possible is not checked here but by replaying.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from annotate.game import grading, results
from annotate.game.mjai_actions import KITA
from annotate.game.origin import Origin, log_in, players_of
from annotate.game.record import (
    ENOUGH,
    START_SCORE,
    Event,
    Game,
    Round,
    Rules,
    Unreadable,
    require_gain_of_first,
    whole_wall,
)
from annotate.records.mjai.fields import HIDDEN, WALL, WINDS, Field, fields_of, normalised
from annotate.records.strict_json import objects_of, parse_json
from annotate.vocabulary import NUMS_OF_SEATS, vocabulary_of_seats

_PER_SEAT = ("scores", "tehais", "deltas", "delta")
"""fields with an element for each seat, or for each of four where a game of three has an empty one"""


@dataclass(slots=True)
class _Draft:
    """A game while its lines are being read."""

    line: int
    """where it starts"""
    start: Event
    header: Event
    num_seats: int
    """until the first round what start_game tells"""
    content: Any = field(default_factory=hashlib.sha256)
    rounds: list[Round] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    """events of the round that is being read"""
    wall: tuple[str, ...] | None = None
    """wall of that round"""
    end: Event | None = None


def mjai_games(text: str, name: str) -> Iterator[Game | Unreadable]:
    """Reads the games of a file, in their order. After one that cannot be read, lines up to the next start_game are
    skipped.

    The id of a game is start_game's `kanachan.id`, else its `id` if that is a text, else `name` and a checksum of
    the game's lines, so that no two games share one. Its style, where `kanachan.style` does not give it, follows from
    its end: East only if nobody is below 0 points, the last round is E4 ... S3 (of three players E3 ... S2), where a
    longer game cannot end, and all rounds are possible in an East game; else East and South.

    Args:
        text: the file's content.
        name: the file's name without folders and suffixes.

    Raises:
        ValueError: there is no game.
    """
    reader = _Reader(name)
    lines = text.split("\n")  # not splitlines: names may hold other line separators
    for number, line in enumerate(lines, start=1):
        for part in objects_of(line):
            if part.strip():
                yield from reader.read_line(part, number, is_unended=number == len(lines))
    yield from reader.end_game()
    if not reader.has_read:
        raise ValueError("no start_game")


def seen_event(event: Event, num_seats: int) -> Event:
    """Checks an event of a round as a seat at the table sees it; tiles that it cannot see may be "?", and a table of
    three may have an empty fourth seat.

    Raises:
        ValueError: names the field; or it is not an event of a round of so many players.
    """
    kind = _kind(event)
    seen = fields_of(num_seats).seen
    if kind not in seen:
        raise ValueError(_unknown(kind, num_seats))
    if kind == "start_kyoku":
        _require_scores(event.get("scores"), num_seats)
        return _start_kyoku(_without_empty_seat(event, num_seats), seen[kind])
    return {"type": kind, **normalised(event, seen[kind])}


def require_seats(start_game: Event, num_seats: int) -> None:
    """Raises ValueError if the names in a start_game are too few; three players may have four."""
    names = start_game.get("names")
    if type(names) is list and len(names) in NUMS_OF_SEATS and len(names) < num_seats:
        _refuse(len(names), num_seats)


def _require_scores(scores: Any, num_seats: int) -> None:
    """Raises ValueError if the scores are of another number of players; a fourth of 0 points is none of three."""
    if type(scores) is list and len(scores) in NUMS_OF_SEATS:
        found = len(scores) - (len(scores) > num_seats and scores[-1] == 0)
        if found != num_seats:
            _refuse(found, num_seats)


def _refuse(found: int, num_seats: int) -> NoReturn:
    raise ValueError(f"a game of {found} players: these weights play games of {num_seats}")


def parse_event(line: str) -> Event:
    """Parses one line, an object with a type. Raises ValueError if it is something else."""
    try:
        event = parse_json(line)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None
    if type(event) is not dict or type(event.get("type")) is not str:
        raise ValueError('an mjai event, an object with a "type", expected')
    return event


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
        """Reads a line; `is_unended`: it has no line feed."""
        try:
            event = parse_event(line)
        except ValueError as error:
            # a file that is still being written, or was cut off, ends in the middle of a line
            self._is_cut_off = is_unended and self._draft is not None
            if not self._is_cut_off:
                yield from self._lose(f"line {number}: {error}")
            return
        if event["type"] == "start_game":
            yield from self.end_game()
            self._is_lost = False
        if self._is_lost:
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
        try:
            yield _game(draft, self._name, self._is_cut_off)
        except ValueError as error:
            yield Unreadable(f"the game from line {draft.line}: {error}")

    def _lose(self, problem: str) -> Iterator[Game | Unreadable]:
        """Yields a problem and discards the game that is being read; one that has ended is yielded before it."""
        if self._is_lost:
            return
        if self._draft is not None and self._draft.end is None:
            self._draft = None
        yield from self.end_game()
        self.has_read = self._is_lost = True
        yield Unreadable(problem)


def _add(event: Event, line: str, number: int, draft: _Draft | None) -> _Draft:
    """Adds the event of a line to a game, or starts a new one."""
    kind = event["type"]
    if kind == "start_game":
        draft = _start_game(event, number)
    elif draft is None:
        raise ValueError("before any start_game")
    elif draft.end is not None:
        raise ValueError("after end_game")
    draft.content.update(line.strip().encode() + b"\n")
    if kind == "start_kyoku" and not (draft.rounds or draft.events):
        draft.num_seats = _num_seats(event)
    event = _without_empty_seat(event, draft.num_seats)
    if kind == "end_game":
        if "scores" in event:
            normalised(event, (fields_of(draft.num_seats).scores,))
        if not _finish_round(draft):
            raise ValueError(f"{Round(tuple(draft.events)).name} has not ended")
        draft.end = event
    elif kind == "start_kyoku":
        if not _finish_round(draft):
            raise ValueError(f"{Round(tuple(draft.events)).name} has not ended")
        if HIDDEN in str(event.get("tehais")):
            raise ValueError('hands are hidden ("?"): a record that shows all hands is needed')
        draft.events = [_start_kyoku(event, fields_of(draft.num_seats).events[kind])]
        rest = normalised(_own_part(event), (WALL,))
        draft.wall = whole_wall(draft.events[0], rest["wall"], vocabulary_of_seats(draft.num_seats)) if rest else None
    elif kind == "end_kyoku":
        if not _finish_round(draft):
            raise ValueError("the round has neither hora nor ryukyoku")
    elif kind not in ("start_game", "none"):  # "none" is a player's pass, not an event
        draft.events.append(_round_event(event, draft.events, draft.num_seats))
    return draft


def _start_game(event: Event, number: int) -> _Draft:
    own, names = _own_part(event), event.get("names")
    lengths = {len(values) for values in (own.get("grades"), own.get("grading_deltas"), names) if type(values) is list}
    num_seats = 3 if 3 in lengths else 4
    return _Draft(number, event, normalised(own, fields_of(num_seats).header), num_seats)


def _num_seats(start: Event) -> int:
    """Returns the number of seats of a game by the start of a round: three have three scores, or a fourth hand that is
    empty, or hidden with a score of 0."""
    scores, hands = start.get("scores"), start.get("tehais")
    if type(scores) is list and len(scores) == 3:
        return 3
    if type(hands) is not list or len(hands) != 4:
        return 3 if type(hands) is list and len(hands) == 3 else 4
    is_empty = [type(hand) is list and all(tile == HIDDEN for tile in hand) for hand in hands]
    has_no_score = type(scores) is list and scores[3:] == [0]
    has_three = is_empty == [False, False, False, True] and (hands[3] == [] or has_no_score)
    return 3 if has_three else 4


def _without_empty_seat(event: Event, num_seats: int) -> Event:
    if num_seats == 4:
        return event
    lists = {name: event[name][:3] for name in _PER_SEAT if type(event.get(name)) is list and len(event[name]) == 4}
    return {**event, **lists}


def _own_part(event: Event) -> Event:
    """Returns the part of an event that is specific to this program."""
    part = event.get("kanachan", {})
    if type(part) is not dict:
        raise ValueError('"kanachan" must be an object')
    return part


def _start_kyoku(event: Event, fields: Sequence[Field]) -> Event:
    start = normalised(event, fields)
    if start["oya"] != start["kyoku"] - 1:
        raise ValueError(
            f"oya is {start['oya']}, but the dealer of kyoku {start['kyoku']} is seat {start['kyoku'] - 1}"
        )
    return {"type": "start_kyoku", **start}


def _round_event(event: Event, events: Sequence[Event], num_seats: int) -> Event:
    kind = _kind(event)
    fields = fields_of(num_seats).events
    if kind not in fields:
        raise ValueError(_unknown(kind, num_seats))
    if not events:
        raise ValueError("outside of a round")
    if events[-1]["type"] == "ryukyoku" or (events[-1]["type"] == "hora" and kind != "hora"):
        raise ValueError("after the end of the round")
    return {"type": kind, **normalised(event, fields[kind])}


def _kind(event: Event) -> str:
    kind: str = event["type"]
    return "kita" if kind in KITA else kind


def _unknown(kind: str, num_seats: int) -> str:
    is_known = kind in ("chi", "kita")
    return f"not possible with {num_seats} players" if is_known else "an unknown type of event"


def _finish_round(draft: _Draft) -> bool:
    """Moves the round that is being read to the finished ones; returns False if it has no end yet."""
    if draft.events:
        if draft.events[-1]["type"] not in ("hora", "ryukyoku"):
            return False
        draft.rounds.append(Round(tuple(draft.events), wall=draft.wall))
        draft.events = []
    return True


def _game(draft: _Draft, name: str, is_cut_off: bool) -> Game:
    incomplete = _close(draft, is_cut_off)
    final_scores = None
    if incomplete is None and draft.end is not None:
        scores = draft.end.get("scores")
        final_scores = results.final_scores(draft.rounds[-1].events) if scores is None else tuple(scores)
    rules: tuple[Rules, ...] = (draft.header["rules"],) if "rules" in draft.header else ("tenhou", "mjsoul")
    style = draft.header.get("style", _style(draft.rounds, final_scores, draft.num_seats))
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
    )


def _origin(draft: _Draft, name: str) -> Origin:
    """Returns the names of start_game and, where its id or the name of the file is a platform's, the platform's log."""
    platform, log = log_in(_game_id(draft, name)) or (None, None)
    grades = draft.header.get("grades") if platform == "mjsoul" else None
    names = draft.start.get("names")
    names = names[: draft.num_seats] if isinstance(names, list) else None
    return Origin(platform, log, None, players_of(names, draft.num_seats, grades))


def _close(draft: _Draft, is_cut_off: bool) -> str | None:
    """Ends a game that has no end_game at its last whole round; returns why the game is incomplete, if it is."""
    if draft.end is None:
        reason = "the file is cut off" if is_cut_off else "there is no end_game"
        if draft.events and draft.events[-1]["type"] == "ryukyoku":
            _finish_round(draft)
        if draft.events:
            # after a win another winner of the same tile might have followed
            return f"{reason}; the record stops in {Round(tuple(draft.events)).name}"
        return f"{reason}; the record stops after {draft.rounds[-1].name if draft.rounds else 'start_game'}"
    return None if draft.rounds else "it holds no round"


def _game_id(draft: _Draft, name: str) -> str:
    for given in (draft.header.get("id"), draft.start.get("id")):
        if type(given) is str:
            if not given or not given.isprintable():
                raise ValueError(f"start_game: id {given!r} must be a printable text that is not empty")
            return given
    readable = "".join(character if character.isprintable() else "_" for character in name)
    return f"{readable}-{draft.content.hexdigest()[:12]}"


def _style(rounds: Sequence[Round], final_scores: tuple[int, ...] | None, num_seats: int) -> int:
    if final_scores is None or min(final_scores) < 0:
        return 1
    starts = [round_.events[0] for round_ in rounds]
    number = WINDS.index(starts[-1]["bakaze"]) * num_seats + starts[-1]["kyoku"]
    is_short = num_seats <= number < 2 * num_seats
    return 0 if is_short and not any(map(_is_beyond_east_game, starts)) else 1


def _is_beyond_east_game(start: Event) -> bool:
    """Returns whether an East game would have ended before this round; a dealer who stays may play on."""
    scores = start["scores"]
    num_seats = len(scores)
    is_usual = sum(scores) + 1000 * start["kyotaku"] == START_SCORE[num_seats] * num_seats
    return start["bakaze"] != "E" and is_usual and start["honba"] == 0 and max(scores) >= ENOUGH[num_seats]
