"""The fields of mjai events. Other programs' names of fields (`delta`, `kyoutaku`, `uradora_markers`) are replaced by
the usual ones."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from annotate.game.record import LARGEST_SCORE, Event
from annotate.game.tiles import MJAI_NAMES, WINDS

_TILES = frozenset(MJAI_NAMES)

Check = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an event: its name and aliases, and the expected value, in words and as a check."""

    name: str
    expected: str
    check: Check
    aliases: tuple[str, ...] = ()
    optional: bool = False
    default: Any = None
    """value of an optional field that is missing; None: the field is omitted"""


def _integer(low: int, high: int) -> Check:
    return lambda value: type(value) is int and low <= value <= high


def _list(length: int | None, check: Check) -> Check:
    return lambda value: type(value) is list and (length is None or len(value) == length) and all(map(check, value))


def _is_tile(value: Any) -> bool:
    return type(value) is str and value in _TILES


_PAI = Field("pai", "a tile", _is_tile)
_DORA = Field("dora_marker", "a tile", _is_tile)
HIDDEN = "?"


def _is_tile_or_hidden(value: Any) -> bool:
    return value == HIDDEN or _is_tile(value)


def _consumed(count: int) -> Field:
    return Field("consumed", f"{count} tiles", _list(count, _is_tile))


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of the events of games with one number of seats."""

    events: dict[str, tuple[Field, ...]]
    """fields of every event inside a round, by type of event"""
    seen: dict[str, tuple[Field, ...]]
    """the same for events as a seat at the table sees them; payments may be missing"""
    header: tuple[Field, ...]
    """fields of start_game's "kanachan" """
    scores: Field


def _points(name: str, num_seats: int, *aliases: str, optional: bool = False) -> Field:
    check = _list(num_seats, _integer(-LARGEST_SCORE, LARGEST_SCORE))
    return Field(name, f"{num_seats} integers", check, aliases, optional)


@cache
def fields_of(num_seats: int) -> Fields:
    """Returns the fields of the events of games with `num_seats` seats."""
    a_seat, is_seat = f"a seat 0 ... {num_seats - 1}", _integer(0, num_seats - 1)
    actor, target, dealer = (Field(name, a_seat, is_seat) for name in ("actor", "target", "oya"))
    scores = _points("scores", num_seats)
    paid = _points("deltas", num_seats, "delta", optional=True), replace(scores, optional=True)
    ura = Field("ura_markers", "a list of tiles", _list(None, _is_tile), ("uradora_markers",), True, default=())
    hands = Field("tehais", f"{num_seats} hands of 13 tiles", _list(num_seats, _list(13, _is_tile)))
    start = (
        Field("bakaze", "E, S, W or N", lambda value: type(value) is str and value in WINDS),
        _DORA,
        Field("kyoku", f"1 ... {num_seats}", _integer(1, num_seats)),
        Field("honba", "a count", _integer(0, 1000)),
        Field("kyotaku", "a count", _integer(0, 1000), aliases=("kyoutaku",)),
        dealer,
        scores,
    )
    events: dict[str, tuple[Field, ...]] = {
        "start_kyoku": (*start, hands),
        "tsumo": (actor, _PAI),
        "dahai": (actor, _PAI, Field("tsumogiri", "true or false", lambda value: type(value) is bool)),
        "pon": (actor, target, _PAI, _consumed(2)),
        "daiminkan": (actor, target, _PAI, _consumed(3)),
        "ankan": (actor, _consumed(4)),
        "kakan": (actor, _PAI, _consumed(3)),
        "dora": (_DORA,),
        "reach": (actor,),
        "reach_accepted": (actor,),
        "hora": (actor, target, replace(_PAI, optional=True), *paid, ura),
        "ryukyoku": (Field("reason", "a text", lambda value: type(value) is str, optional=True), *paid),
    }
    if num_seats == 3:
        events["kita"] = (actor, Field("pai", "N", lambda value: value == "N", optional=True, default="N"))
    else:
        events["chi"] = (actor, target, _PAI, _consumed(2))
    seen_hands = f"{num_seats} hands of 13 tiles or ?", _list(num_seats, _list(13, _is_tile_or_hidden))
    seen = events | {
        "start_kyoku": (*start, Field("tehais", *seen_hands)),
        "tsumo": (actor, replace(_PAI, expected="a tile or ?", check=_is_tile_or_hidden)),
        "hora": (actor, target, *paid),
        "ryukyoku": paid,
    }
    header = (
        Field("id", "a text", lambda value: type(value) is str, optional=True),
        Field("rules", "tenhou or mjsoul", lambda value: value in ("tenhou", "mjsoul"), optional=True),
        Field("style", "0 or 1", _integer(0, 1), optional=True),
        Field("room", "0 ... 4", _integer(0, 4), optional=True),
        Field("grades", f"{num_seats} grades 0 ... 15", _list(num_seats, _integer(0, 15)), optional=True),
        _points("grading_deltas", num_seats, optional=True),
    )
    return Fields(events, seen, header, scores)


PAYMENTS = ("deltas", "scores")
"""fields of hora and ryukyoku, which have one of them or both"""
WALL = Field("wall", "a list of tiles", _list(None, _is_tile), optional=True)
"""in start_kyoku's "kanachan": the undealt tiles, in the order of the wall"""


def normalised(event: Event, fields: Sequence[Field]) -> Event:
    """Checks the fields of an event and returns them under their usual names, without other fields. A field that is
    null is missing. Raises ValueError, which names the field, if one is missing or has an unexpected value."""
    found: Event = {}
    for field in fields:
        name = next((name for name in (field.name, *field.aliases) if event.get(name) is not None), None)
        if name is None:
            if not field.optional:
                raise ValueError(f"{field.name} is missing")
            if field.default is not None:
                found[field.name] = list(field.default) if isinstance(field.default, tuple) else field.default
            continue
        value = event[name]
        if not field.check(value):
            raise ValueError(f"{name} must be {field.expected}, not {json.dumps(value)[:80]}")
        found[field.name] = value
    return found
