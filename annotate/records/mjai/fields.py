"""The fields of mjai events. Other programs' names of fields (`delta`, `kyoutaku`, `uradora_markers`) are replaced by
the usual ones."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from annotate.game.record import Event
from annotate.records.four_players import NUM_SEATS

LARGEST_SCORE = 10_000_000
"""far beyond any game, and within 32 bits when summed"""

_TILES = {f"{rank}{suit}" for suit in "mps" for rank in range(1, 10)} | {"5mr", "5pr", "5sr", *"ESWNPFC"}
WINDS = "ESWN"

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


_SEAT = f"a seat 0 ... {NUM_SEATS - 1}"
_is_seat = _integer(0, NUM_SEATS - 1)
_is_points = _list(NUM_SEATS, _integer(-LARGEST_SCORE, LARGEST_SCORE))
_ACTOR = Field("actor", _SEAT, _is_seat)
_TARGET = Field("target", _SEAT, _is_seat)
_PAI = Field("pai", "a tile", _is_tile)
_DORA = Field("dora_marker", "a tile", _is_tile)
_DELTAS = Field("deltas", f"{NUM_SEATS} integers", _is_points, aliases=("delta",))
SCORES = Field("scores", f"{NUM_SEATS} integers", _is_points)


def _consumed(count: int) -> Field:
    return Field("consumed", f"{count} tiles", _list(count, _is_tile))


FIELDS: dict[str, tuple[Field, ...]] = {
    "start_kyoku": (
        Field("bakaze", "E, S, W or N", lambda value: type(value) is str and len(value) == 1 and value in WINDS),
        _DORA,
        Field("kyoku", f"1 ... {NUM_SEATS}", _integer(1, NUM_SEATS)),
        Field("honba", "a count", _integer(0, 1000)),
        Field("kyotaku", "a count", _integer(0, 1000), aliases=("kyoutaku",)),
        Field("oya", _SEAT, _is_seat),
        SCORES,
        Field("tehais", f"{NUM_SEATS} hands of 13 tiles", _list(NUM_SEATS, _list(13, _is_tile))),
    ),
    "tsumo": (_ACTOR, _PAI),
    "dahai": (_ACTOR, _PAI, Field("tsumogiri", "true or false", lambda value: type(value) is bool)),
    "chi": (_ACTOR, _TARGET, _PAI, _consumed(2)),
    "pon": (_ACTOR, _TARGET, _PAI, _consumed(2)),
    "daiminkan": (_ACTOR, _TARGET, _PAI, _consumed(3)),
    "ankan": (_ACTOR, _consumed(4)),
    "kakan": (_ACTOR, _PAI, _consumed(3)),
    "dora": (_DORA,),
    "reach": (_ACTOR,),
    "reach_accepted": (_ACTOR,),
    "hora": (
        _ACTOR,
        _TARGET,
        Field("pai", "a tile", _is_tile, optional=True),
        _DELTAS,
        Field(
            "ura_markers",
            "a list of tiles",
            _list(None, _is_tile),
            aliases=("uradora_markers",),
            optional=True,
            default=(),
        ),
    ),
    "ryukyoku": (Field("reason", "a text", lambda value: type(value) is str, optional=True), _DELTAS),
}
"""every event inside a round"""

HIDDEN = "?"


def _is_tile_or_hidden(value: Any) -> bool:
    return value == HIDDEN or _is_tile(value)


SEEN: dict[str, tuple[Field, ...]] = FIELDS | {
    "start_kyoku": tuple(
        replace(
            f, expected=f"{NUM_SEATS} hands of 13 tiles or ?", check=_list(NUM_SEATS, _list(13, _is_tile_or_hidden))
        )
        if f.name == "tehais"
        else f
        for f in FIELDS["start_kyoku"]
    ),
    "tsumo": (_ACTOR, replace(_PAI, expected="a tile or ?", check=_is_tile_or_hidden)),
    "hora": (_ACTOR, _TARGET),
    "ryukyoku": (),
}
"""every event inside a round as a seat at the table sees it, where payments may be missing"""

HEADER = (
    Field("id", "a text", lambda value: type(value) is str, optional=True),
    Field("rules", "tenhou or mjsoul", lambda value: value in ("tenhou", "mjsoul"), optional=True),
    Field("style", "0 or 1", _integer(0, 1), optional=True),
    Field("room", "0 ... 4", _integer(0, 4), optional=True),
    Field("grades", f"{NUM_SEATS} grades 0 ... 15", _list(NUM_SEATS, _integer(0, 15)), optional=True),
    Field("grading_deltas", f"{NUM_SEATS} integers", _is_points, optional=True),
)
"""fields of start_game's "kanachan" """

WALL = Field("wall", "a list of tiles", _list(None, _is_tile), optional=True)
"""in start_kyoku's "kanachan": the tiles that were not dealt, in the order of the wall"""


def normalised(event: Event, fields: Sequence[Field]) -> Event:
    """Checks the fields of an event and returns them under their usual names, without others.

    Raises:
        ValueError: names a field that is missing or has an unexpected value.
    """
    found: Event = {}
    for field in fields:
        name = field.name
        if name not in event:
            name = next((alias for alias in field.aliases if alias in event), name)
        if name not in event:
            if not field.optional:
                raise ValueError(f"{name} is missing")
            if field.default is not None:
                found[field.name] = list(field.default)
            continue
        value = event[name]
        if not field.check(value):
            raise ValueError(f"{name} must be {field.expected}, not {json.dumps(value)[:80]}")
        found[field.name] = value
    return found
