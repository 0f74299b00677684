"""Records to review, and what a plain walk through their events says that a seat had before it."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from annotate.records.record import Event
from annotate.simulate import simulate_game
from annotate.tiles import TILE_OF_MJAI
from annotate.vocabulary import TILE_NAMES

PUBLIC = ("dahai", "chi", "pon", "daiminkan", "ankan", "kakan")


class Seen(NamedTuple):
    """What a seat saw after one event; tiles by the specification's names."""

    hand: list[str]
    """with the drawn tile, sorted"""
    rivers: list[list[tuple[str, bool, bool]]]
    """by seat: tile, whether riichi was declared with it, whether it was called"""
    melds: list[list[list[str]]]
    """by seat: the tiles of each meld, sorted"""


def events_of(seed: int, game_id: str | None = None) -> list[Event]:
    """A simulated East-only game as mjai events, under another id if one is given."""
    events = [dict(event) for event in simulate_game(seed, style=0, annotated=False).events]
    if game_id is not None:
        events[0] = {**events[0], "kanachan": {**events[0]["kanachan"], "id": game_id}}
    return events


def write_record(path: Path, *games: Sequence[Event]) -> Path:
    path.write_text("".join(f"{json.dumps(event)}\n" for events in games for event in events))
    return path


def rounds_of(events: Sequence[Event]) -> Iterator[list[Event]]:
    found: list[Event] = []
    for event in events:
        if event["type"] == "start_kyoku":
            found = []
        found.append(event)
        if event["type"] == "end_kyoku":
            yield found


def seen_in(events: Sequence[Event], seat: int) -> dict[int, list[Seen]]:
    """What `seat` saw in a round, by the number of discards and calls so far."""
    start = events[0]
    hand = list(start["tehais"][seat])
    rivers: list[list[tuple[str, bool, bool]]] = [[] for _ in start["tehais"]]
    melds: list[list[list[str]]] = [[] for _ in start["tehais"]]
    is_riichi = False
    seen: dict[int, list[Seen]] = {}
    count = 0
    for event in events:
        kind, actor = event["type"], event.get("actor")
        count += kind in PUBLIC
        used = [event["pai"]] if kind in ("dahai", "kakan") else event["consumed"] if kind in PUBLIC else []
        if actor == seat:
            for name in used:
                hand.remove(name)
            hand += [event["pai"]] if kind == "tsumo" else []
        if kind == "reach":
            is_riichi = True
        elif kind == "dahai":
            rivers[actor].append((_name(event["pai"]), is_riichi, False))
            is_riichi = False
        elif kind in ("chi", "pon", "daiminkan"):
            rivers[event["target"]][-1] = (*rivers[event["target"]][-1][:2], True)
            melds[actor].append(sorted(map(_name, [*used, event["pai"]])))
        elif kind == "ankan":
            melds[actor].append(sorted(map(_name, used)))
        elif kind == "kakan":
            pon = sorted(map(_name, event["consumed"]))
            melds[actor][melds[actor].index(pon)] = sorted([*pon, _name(event["pai"])])
        seen.setdefault(count, []).append(
            Seen(sorted(map(_name, hand)), [list(r) for r in rivers], [list(m) for m in melds])
        )
    return seen


def shown_of(table: dict[str, Any]) -> Seen:
    """The same of a table in a review."""
    drawn = [table["drawn"]] if table["drawn"] else []
    return Seen(
        sorted([*table["hand"], *drawn]),
        [[(tile["tile"], tile["riichi"], tile["called"]) for tile in river] for river in table["rivers"]],
        [
            [sorted([*meld["own"], *(meld[key] for key in ("called", "added") if meld[key])]) for meld in melds]
            for melds in table["melds"]
        ],
    )


def num_public(table: dict[str, Any]) -> int:
    """How many discards and calls a table has seen."""
    kans = sum(meld["kind"] == "kakan" for melds in table["melds"] for meld in melds)
    return sum(map(len, table["rivers"])) + sum(map(len, table["melds"])) + kans


def _name(mjai: str) -> str:
    return TILE_NAMES[TILE_OF_MJAI[mjai]]
