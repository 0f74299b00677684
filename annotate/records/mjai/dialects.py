"""Omissions and additions in the dialects of mjai, for the reader of records and for the bot.

Different names of fields, and optional fields, are in the table of fields (`annotate.records.mjai.fields`). Everything
else that an event or a game has is skipped.
"""

import re
from collections.abc import Iterator
from typing import Any

from annotate.game.record import ENDS, START_SCORE, STICK, Event
from annotate.records.strict_json import end_of_value, objects_of, parse_json

HELLO, ERROR = "hello", "error"
"""the greeting of the reference server, and the message by which servers end a game"""
NO_MOVES = ("none", HELLO, "join")
"""types of messages that are not part of a game: a pass, and the messages by which programs connect"""
_STYLES: dict[str, dict[Any, int]] = {"kyoku_first": {4: 0, 0: 1}, "gametype": {"tonpu": 0, "tonnan": 1}}
"""fields of start_game, with the style (0 East only, 1 East and South) by value: the field of akochan and
mjai-reviewer, and the field of the reference server"""
_ARRAY = re.compile(r'\s*(?:\{\s*"record"\s*:\s*)?\[')
_BETWEEN_EVENTS = re.compile(r'[\s,\[\]}]*(?:\{\s*"record"\s*:[\s\[]*)?')


def events_of_line(line: str) -> list[Event]:
    """Parses a line: an object with a type or, from some drivers, an array of such objects; akochan has the array in
    `record`. A field that is null counts as missing. Raises ValueError for anything else."""
    try:
        found = parse_json(line)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None
    if type(found) is dict and "type" not in found:
        found = found.get("record")
    events = found if type(found) is list and found else [found]
    if not all(type(event) is dict and type(event.get("type")) is str for event in events):
        raise ValueError('an mjai event, an object with a "type", expected')
    return [{name: value for name, value in event.items() if value is not None} for event in events]


def is_mjai(text: str) -> bool:
    """Returns whether a text starts with an mjai event."""
    start = _start_of_event(text, 0) if _is_array_over_lines(text) else 0
    first = text[start : end_of_value(text, start)] if start else text.lstrip().split("\n", 1)[0]
    try:
        return bool(events_of_line(first))
    except ValueError:
        return False


def parts_of(text: str) -> Iterator[tuple[str, int, bool]]:
    """Splits a file's content into lines, or into events if they are printed in an array over several lines.

    Yields:
        the text of each part, its line number, and whether it ends with the file, so that it may be cut off.
    """
    if not _is_array_over_lines(text):
        lines = text.split("\n")  # not splitlines: names may hold other line separators
        for number, line in enumerate(lines, start=1):
            yield from ((part, number, number == len(lines)) for part in objects_of(line))
        return
    place, number = 0, 1
    while place < len(text):
        start = _start_of_event(text, place)
        end = end_of_value(text, start) or len(text)
        number += text.count("\n", place, start)
        yield text[start:end], number, end == len(text)
        number += text.count("\n", start, end)
        place = end


def _is_array_over_lines(text: str) -> bool:
    first, _, rest = text.lstrip().partition("\n")
    return bool(rest.strip()) and _ARRAY.match(text) is not None and end_of_value(first, 0) != len(first.rstrip())


def _start_of_event(text: str, place: int) -> int:
    between = _BETWEEN_EVENTS.match(text, place)
    return place if between is None else between.end()


def style_of(start_game: Event) -> int | None:
    """Returns the style that a start_game states, None if it states none."""
    for name, styles in _STYLES.items():
        value = start_game.get(name)
        if type(value) in (int, str) and value in styles:
            return styles[value]
    return None


def require_red_fives(start_game: Event) -> None:
    """Raises ValueError if a start_game states that there are no red fives."""
    if start_game.get("aka_flag") is False:
        raise ValueError("a game without red fives (aka_flag): this rule variant is not supported")


class Completion:
    """Adds missing fields to the events of one game, as far as they follow from earlier events.

    The reference server's start_kyoku has no scores; others of its time have no deposits or dealer. Its first rounds
    start with the usual scores. A discard without `tsumogiri` gets true if it equals the drawn tile, or after a riichi.
    """

    def __init__(self, num_seats: int) -> None:
        self.scores: list[int] | None = [START_SCORE[num_seats]] * num_seats
        """scores now, and so at the start of the next round; None: not known"""
        self.deposits = 0
        self._drawn: Any = None
        """the tile drawn, until it or another is discarded"""
        self._riichi: list[Any] = []
        """the seats that can only discard what they draw"""

    def completed(self, event: Event) -> Event:
        """Returns an event with its missing fields added."""
        kind = event["type"]
        if kind == "start_kyoku":
            return self._start(event)
        if kind == "dahai" and "tsumogiri" not in event:
            is_drawn = event.get("pai") == self._drawn or event.get("actor") in self._riichi
            return {**event, "tsumogiri": self._drawn is not None and is_drawn}
        return event

    def follow(self, event: Event) -> None:
        """Applies an event that has been checked."""
        kind = event["type"]
        if kind not in ("reach", "dora"):  # these come between a draw and its discard
            self._drawn = event["pai"] if kind == "tsumo" else None
        if kind == "start_kyoku":
            self._riichi.clear()
            self.scores, self.deposits = list(event["scores"]), event["kyotaku"]
        elif kind == "reach_accepted":
            self._riichi.append(event["actor"])
            self.deposits += 1
            if self.scores is not None:
                self.scores[event["actor"]] -= STICK
        elif kind in ENDS:
            self.deposits = 0 if kind == "hora" else self.deposits
            if "scores" in event:
                self.scores = list(event["scores"])
            elif self.scores is not None and "deltas" in event:
                self.scores = [score + paid for score, paid in zip(self.scores, event["deltas"], strict=True)]
            else:
                self.scores = None

    def _start(self, event: Event) -> Event:
        found: Event = {"kyotaku": self.deposits} if "kyoutaku" not in event and self.scores is not None else {}
        if self.scores is not None:
            found["scores"] = list(self.scores)
        if type(event.get("kyoku")) is int:
            found["oya"] = event["kyoku"] - 1
        elif type(event.get("oya")) is int:
            found["kyoku"] = event["oya"] + 1
        return {**found, **event}
