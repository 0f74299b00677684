"""Rounds in which something rare happens, by name: what is done, and the hands and the wall that make it possible."""

from collections.abc import Sequence
from typing import Any

from annotate.game.decisions import Decision
from annotate.game.record import Event, Rules
from tests.support.rounds import DULL, play_round

TENPAI = "123m456p789s1122z"
KAKAN = ("3p7p", "33p77p9m9s", "", "234m678m678s66s68p")
KOKUSHI = ("111z", "", "19m19p19s2345677z", "")
PON = "0 discard 3p; 1 pon; 1 discard 9m"
TWO_PONS = f"{PON}; 0 discard 7p; 1 pon; 1 discard 9s; 1 kakan 3p; 1 kakan 7p"
TWO_KANS: dict[str, Any] = {"draws": "5z2z1z4z2z1z4z3p", "dora": "3z4z", "rinshan": "7p5z"}
ROUNDS: dict[str, tuple[str, Sequence[str], dict[str, Any]]] = {
    "nothing can be called": ("", DULL, {}),
    "riichi, to the end": ("0 riichi 8m", [TENPAI, *DULL[1:]], {"draws": "8m"}),
    "riichi by the drawn tile": ("0 discard 9m; 0 riichi-cut 1z", [TENPAI, "", "", ""], {"draws": "9m...1z"}),
    "riichi with a closed kan": (
        "0 ankan 1m; 0 riichi 5m",
        ["1111m456p789s22z5m", "", "", ""],
        {"draws": "5z", "rinshan": "2z", "dora": "3z4z"},
    ),
    "a kan of honours in riichi": (
        "0 riichi 8m; 0 ankan 5z",
        ["234m456p789s1z555z", "258m369p147s2346z", "369m147p258s2344z", "147m258p369s2367z"],
        {"draws": "8m...5z", "rinshan": "2z"},
    ),
    "a kan of a suit in riichi": (
        "0 riichi 8m; 0 ankan 1p",
        ["234m111p789s567s1z", "258m369p147s2346z", "369m258p258s2344z", "147m258p369s2367z"],
        {"draws": "8m...1p", "rinshan": "2z"},
    ),
    "a red five in a pon": ("0 discard 5p; 1 pon", ["5p", "055p", "", ""], {}),
    "a red five in a chi": ("0 discard 4m; 1 chi 06m", ["4m", "056m", "", ""], {}),
    "a chi that forbids discards": ("0 discard 3m; 1 chi 45m", ["3m", "4536m", "", ""], {}),
    "calls one after another": (
        f"{PON}; 2 chi 78m; 2 discard 1z; 3 kan",
        ["3p", "33p9m", "78m1z", "111z"],
        {"rinshan": "5z", "dora": "9s9p"},
    ),
    "a call that would leave no discard": (
        "0 discard 1z; 1 pon; 1 discard 1s; 0 discard 2z; 1 pon; 1 discard 9p; 0 discard 3z; 1 pon; 1 discard 9p; "
        "0 discard 4m",
        ["123z4m", "11z22z33z4567m99p1s", "3p6s", "3s6s"],
        {"draws": "5p"},
    ),
    "a robbed kan": (
        f"{PON}; 1 kakan 3p; 3 ron",
        ["3p", "33p9m", DULL[2], "234m567m678s66s45p"],
        {"draws": "5z2z3z4z3p"},
    ),
    "the second of two kans robbed": (f"{TWO_PONS}; 3 ron", KAKAN, TWO_KANS),
    "the second of two kans not robbed": (f"{TWO_PONS}; 3 skip", KAKAN, TWO_KANS),
    "four kans of two seats": (
        "0 ankan 1m; 0 ankan 2p; 0 cut; 1 ankan 3m; 1 ankan 4p; 1 discard 7z; 3 skip",
        ["1111m222p", "3333m4444p7z", "", "567m567p99s567s77z"],
        {"draws": "2p1z", "rinshan": "6z6z5m1z"},
    ),
    "a closed kan of a wind and thirteen orphans": ("0 ankan 1z; 2 skip", KOKUSHI, {"draws": "1z"}),
    "three who may win": (
        "0 discard 3p; 3 ron",
        ["3p", "456m678m456s22p45p", "234m678m345s88p45p", "234m567m678s66s45p"],
        {},
    ),
    "four riichis": (
        "0 riichi 8m; 1 riichi 8m; 2 riichi 2p; 3 riichi 9m",
        ["123m456p789s1133z", "456m789p123s2244z", "789m123p456s5566z", "234m567p678s779m9p"],
        {"draws": "8m8m2p8p"},
    ),
    "four equal winds": ("0 discard 1z; 1 discard 1z; 2 discard 1z; 3 discard 1z", ["1z", "1z", "1z", "1z"], {}),
    "nine terminals": ("0 kyushu", ["19m19p19s1234z258p"], {"draws": "5m"}),
    "a win passed, and another": (
        "0 discard 1z; 1 skip; 1 cut; 2 discard 1z",
        ["1z", TENPAI, "1z", ""],
        {"draws": ".9m"},
    ),
}
_NORTH_AND_WAIT = ("4z19m147p258s1235z", "123p456p789s22z44z", "19m369p369s13467z")
ROUNDS_OF_THREE: dict[str, tuple[str, Sequence[str], dict[str, Any]]] = {
    "a North won": ("1 riichi 1m; 2 cut; 0 kita; 1 ron", _NORTH_AND_WAIT, {"draws": "6z1m7z7z"}),
    "a North let pass": ("1 riichi 1m; 2 cut; 0 kita; 1 skip; 0 cut", _NORTH_AND_WAIT, {"draws": "6z1m7z7z"}),
    "a North set aside, and one called": (
        "0 kita; 0 cut; 1 discard 4z; 2 pon",
        ["4z19m147p258s1235z", "4z19m258p147s1567z", "44z19m369p369s137z"],
        {"draws": "6z"},
    ),
}
"""likewise, of three players"""


def events_of(name: str, rules: Rules) -> tuple[list[Event], list[Decision]]:
    script, hands, wall = ROUNDS[name]
    if rules == "tenhou" and name.endswith("orphans"):
        script = script.split(";")[0]
    played = play_round(script, hands, **wall, rules=rules)
    return played.events, played.decisions
