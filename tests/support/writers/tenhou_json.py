"""mjai rounds written as tenhou.net/6 JSON, the way Tenhou does it."""

import json
from collections.abc import Sequence
from typing import Any

from annotate.game.record import Event, Game, all_readable
from annotate.records.tenhou.json_reader import DRAW_REASONS, tenhou_json_games
from annotate.records.tenhou.turn_order import TILES
from tests.support.rounds import DULL, play_round

NUM_SEATS = 4
"""of a table; three players leave one empty"""
NUMBERS = {name: number for number, name in TILES.items()}
TSUMOGIRI, NO_DISCARD = 60, 0


def one_round(script: str = "", hands: Sequence[str] = DULL, draws: str = "", **more: Any) -> dict[str, Any]:
    """A whole file of one round that is played by a script (see `rounds`)."""
    return document_of([play_round(script, hands, draws, **more).events], "鳳南喰赤")


def read(document: dict[str, Any]) -> Game:
    """The game of a file."""
    (game,) = all_readable(tenhou_json_games(json.dumps(document, ensure_ascii=False), "file"))
    return game


def document_of(rounds: Sequence[Sequence[Event]], disp: str = "", **more: Any) -> dict[str, Any]:
    """A whole file; `more` are further members, such as `sc` or `dan`."""
    return {
        "title": ["", ""],
        "name": [f"誰{seat}" for seat in range(NUM_SEATS)],
        "rule": {"disp": disp, "aka": 1},
        "log": [round_of(events) for events in rounds],
        **more,
    }


def round_of(events: Sequence[Event]) -> list[Any]:
    """One round, from start_kyoku to its last hora or ryukyoku."""
    start = events[0]
    dora = [start["dora_marker"], *(event["dora_marker"] for event in events if event["type"] == "dora")]
    ura = max((event.get("ura_markers", []) for event in events if event["type"] == "hora"), key=len, default=[])
    columns: list[list[Any]] = [
        ["ESWN".index(start["bakaze"]) * NUM_SEATS + start["kyoku"] - 1, start["honba"], start["kyotaku"]],
        filled(start["scores"]),
        [NUMBERS[name] for name in dora],
        [NUMBERS[name] for name in ura],
    ]
    for seat in range(NUM_SEATS):
        if seat == len(start["tehais"]):
            columns += [[], [], []]
            continue
        draws, discards = _seat(events, seat)
        columns += [[NUMBERS[name] for name in start["tehais"][seat]], draws, discards]
    return [*columns, _result(events)]


def filled(values: Sequence[int]) -> list[int]:
    """The values of all seats of a table."""
    return [*values, *[0] * (NUM_SEATS - len(values))]


def _seat(events: Sequence[Event], seat: int) -> tuple[list[Any], list[Any]]:
    draws: list[Any] = []
    discards: list[Any] = []
    pons: list[Event] = []
    is_riichi = False
    for event in events:
        kind = event["type"]
        if event.get("actor") != seat:
            continue
        if kind == "tsumo":
            draws.append(NUMBERS[event["pai"]])
        elif kind in ("chi", "pon", "daiminkan"):
            draws.append(_call(event))
            if kind == "pon":
                pons.append(event)
            if kind == "daiminkan":
                discards.append(NO_DISCARD)
        elif kind == "kakan":
            pon = next(pon for pon in pons if sorted([pon["pai"], *pon["consumed"]]) == sorted(event["consumed"]))
            discards.append(_call(pon).replace("p", f"k{NUMBERS[event['pai']]}"))
        elif kind == "ankan":
            *others, last = (NUMBERS[name] for name in event["consumed"])
            discards.append(f"{''.join(map(str, others))}a{last}")
        elif kind == "kita":
            discards.append("f44")
        elif kind == "reach":
            is_riichi = True
        elif kind == "dahai":
            discard = TSUMOGIRI if event["tsumogiri"] else NUMBERS[event["pai"]]
            discards.append(f"r{discard}" if is_riichi else discard)
            is_riichi = False
    return draws, discards


def _call(event: Event) -> str:
    letter = {"chi": "c", "pon": "p", "daiminkan": "m"}[event["type"]]
    source = (event["target"] - event["actor"]) % NUM_SEATS  # 1 right, 2 across, 3 left
    place = {3: 0, 2: 1, 1: len(event["consumed"])}[source]
    tiles = [str(NUMBERS[name]) for name in event["consumed"]]
    return "".join([*tiles[:place], f"{letter}{NUMBERS[event['pai']]}", *tiles[place:]])


def _result(events: Sequence[Event]) -> list[Any]:
    wins = [event for event in events if event["type"] == "hora"]
    if wins:
        described = [[filled(win["deltas"]), [win["actor"], win["target"], win["actor"], "1000点"]] for win in wins]
        return ["和了", *(element for pair in described for element in pair)]
    name = DRAW_REASONS[events[-1].get("reason", "exhaustive_draw")][0]
    return [name, filled(events[-1]["deltas"])] if any(events[-1]["deltas"]) else [name]
