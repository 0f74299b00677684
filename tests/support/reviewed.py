"""Records to review, and the tiles that a seat saw, by a plain walk through the events."""

import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from annotate.game.record import Event
from annotate.game.results import round_delta
from annotate.game.tiles import TILE_OF_MJAI
from annotate.simulation.simulate import simulate_game
from annotate.vocabulary import TILE_NAMES, Vocabulary
from tests.support.rounds import DULL, NUM_SEATS, V, play_round, start_of_round

PUBLIC = ("dahai", "chi", "pon", "daiminkan", "ankan", "kakan", "kita")


class Seen(NamedTuple):
    """The tiles that a seat saw after one event, by the specification's names."""

    hand: list[str]
    """with the drawn tile, sorted"""
    rivers: list[list[tuple[str, bool, bool]]]
    """by seat: tile, whether riichi was declared with it, whether it was called"""
    melds: list[list[list[str]]]
    """by seat: the tiles of each meld, sorted"""
    norths: list[int]
    """by seat: how many are set aside"""


def events_of(seed: int, game_id: str | None = None, vocabulary: Vocabulary = V) -> list[Event]:
    """Returns a simulated East-only game as mjai events, under another id if one is given."""
    events = deepcopy(_simulated(seed, vocabulary))
    if game_id is not None:
        events[0] = {**events[0], "kanachan": {**events[0]["kanachan"], "id": game_id}}
    return events


@cache
def _simulated(seed: int, vocabulary: Vocabulary) -> list[Event]:
    return [dict(event) for event in simulate_game(vocabulary, seed, style=0, annotated=False).events]


def with_empty_rounds() -> list[Event]:
    """Returns a game of five rounds in which seat 2 decides something only in the second and the fourth."""
    waiting, other = "234m567m678s66s45p", DULL[1]
    rounds = [
        (0, 0, "0 kyushu", ["19m19p19s1234z258p"], "5m"),
        (0, 1, "", DULL, "7z"),
        (1, 2, "1 discard 3p; 3 ron", [DULL[0], "3p", other, waiting], "7z"),
        (2, 0, "", DULL, "7z"),
        (3, 1, "3 discard 3p; 0 ron", [waiting, DULL[0], other, "3p"], "7z"),
    ]
    events: list[Event] = [{"type": "start_game", "kanachan": {"rules": "mjsoul"}}]
    scores = [25000] * NUM_SEATS
    for oya, honba, script, hands, draws in rounds:
        played = play_round(script, hands, draws, start=start_of_round(oya, honba=honba, scores=scores)).events
        scores = [score + delta for score, delta in zip(scores, round_delta(played, NUM_SEATS), strict=True)]
        if played[-1].get("reason") == "exhaustive_draw":
            played[-1] = {**played[-1], "reason": "fanpai"}  # as the reference server of mjai names it
        events += [*played, {"type": "end_kyoku"}]
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
    """Returns the tiles that `seat` saw in a round, by the number of discards, calls and Norths set aside so far."""
    start = events[0]
    hand = list(start["tehais"][seat])
    rivers: list[list[tuple[str, bool, bool]]] = [[] for _ in start["tehais"]]
    melds: list[list[list[str]]] = [[] for _ in start["tehais"]]
    norths = [0] * len(melds)
    is_riichi = False
    seen: dict[int, list[Seen]] = {}
    count = 0
    for event in events:
        kind, actor = event["type"], event.get("actor")
        count += kind in PUBLIC
        used = [event["pai"]] if kind in ("dahai", "kakan", "kita") else event["consumed"] if kind in PUBLIC else []
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
        elif kind == "kita":
            norths[actor] += 1
        elif kind == "ankan":
            melds[actor].append(sorted(map(_name, used)))
        elif kind == "kakan":
            pon = sorted(map(_name, event["consumed"]))
            melds[actor][melds[actor].index(pon)] = sorted([*pon, _name(event["pai"])])
        seen.setdefault(count, []).append(
            Seen(sorted(map(_name, hand)), [list(r) for r in rivers], [list(m) for m in melds], list(norths))
        )
    return seen


def shown_of(table: dict[str, Any]) -> Seen:
    """Returns the same from a table in a review."""
    drawn = [table["drawn"]] if table["drawn"] else []
    return Seen(
        sorted([*table["hand"], *drawn]),
        [[(tile["tile"], tile["riichi"], tile["called"]) for tile in river] for river in table["rivers"]],
        [
            [sorted([*meld["own"], *(meld[key] for key in ("called", "added") if meld[key])]) for meld in melds]
            for melds in table["melds"]
        ],
        table["norths"],
    )


def num_public(table: dict[str, Any]) -> int:
    """Returns the number of discards, calls and Norths set aside before a table."""
    kans = sum(meld["kind"] == "kakan" for melds in table["melds"] for meld in melds)
    return sum(map(len, table["rivers"])) + sum(map(len, table["melds"])) + kans + sum(table["norths"])


def _name(mjai: str) -> str:
    return TILE_NAMES[TILE_OF_MJAI[mjai]]
