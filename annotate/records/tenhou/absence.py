"""Finds the choices of a round that the server made for seats that were not connected."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from annotate.game.progression import CALLS
from annotate.game.record import Event

_ASKED = ("tsumo", "dahai", "chi", "pon", "ankan", "kakan", "kita")
"""events after which seats choose"""
_ANSWERS = (*_ASKED, "daiminkan", "reach", "hora", "ryukyoku")
"""events that show what was chosen"""
_STEPS = ("tsumo", "dahai", *CALLS)
"""steps of tenhou.net/6: draws, discards, calls and kans"""


class Change(NamedTuple):
    """A seat leaves or comes back."""

    round: int
    """index of the round; -1 before the first"""
    step: int
    """number of steps of the round before it"""
    seat: int
    has_left: bool


class Absence:
    """Tracks the seats that are not connected through the events of a game."""

    def __init__(self) -> None:
        self.seats: set[int] = set()
        self.start_round()

    def start_round(self) -> None:
        self.automatic: set[tuple[int, int]] = set()
        """as `Round.automatic`"""
        self.asked: int | None = None
        """index of the event after which seats choose now"""

    def follow(self, kind: str, index: int) -> None:
        """Applies an event of the round."""
        if self.asked is not None and kind in _ANSWERS:
            self.automatic.update((self.asked, seat) for seat in self.seats)
        if kind in _ASKED:
            self.asked = index
        elif kind in ("daiminkan", "hora"):  # a draw after the kan, or a second winner, answers nothing
            self.asked = None


def connections_of(document: dict[str, Any]) -> list[Change]:
    """Returns the changes in `connection` of a tenhou.net/6 document, in order."""
    found = []
    given = document.get("connection", [])
    for each in given if isinstance(given, list) else [given]:
        keys = ("log", "step", "who", "what")
        values: list[Any] = [each.get(key) if isinstance(each, dict) else None for key in keys]
        if not all(type(value) is int for value in values):
            raise ValueError(f'"connection": log, step, who and what expected, not {json.dumps(each)[:80]}')
        number, step, seat, what = values
        found.append(Change(number, step, seat, what == 0))
    return sorted(found, key=lambda change: change[:2])


def automatic_of(events: Sequence[Event], changes: Sequence[Change], absence: Absence) -> frozenset[tuple[int, int]]:
    """Tracks the absent seats through a round, whose steps are draws, discards, calls and kans, and returns the choices
    made by the server. A seat that leaves after the last step has left after the round."""
    absence.start_round()
    rest, step = list(changes), 0

    def change() -> None:
        _, _, seat, has_left = rest.pop(0)
        (absence.seats.add if has_left else absence.seats.discard)(seat)

    for index, event in enumerate(events):
        if event["type"] in _STEPS:
            while rest and (rest[0][0] < 0 or rest[0][1] <= step):
                change()
            step += 1
        absence.follow(event["type"], index)
    found = frozenset(absence.automatic)
    while rest:
        change()
    return found
