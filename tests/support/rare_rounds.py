"""Rounds in which something rare happens, by name: the script, and the hands and the wall that make it possible."""

from collections.abc import Sequence
from typing import Any

from annotate.game.decisions import Decision
from annotate.game.record import Event, Rules
from tests.support.rounds import DULL, play_round, start_of_round

TENPAI = "123m456p789s1122z"
KAKAN = ("3p7p", "33p77p9m9s", "", "234m678m678s66s68p")
KOKUSHI = ("111z", "", "19m19p19s2345677z", "")
THREE_WINNERS = ("3p", "456m678m456s22p45p", "234m678m345s88p45p", "234m567m678s66s45p")
FOUR_KANS = ("1111m222p", "3333m4444p7z", "", "567m567p99s567s77z")
DRAGONS = ("567z", "556677z23m11p9m9s9p")
MIDDLE = ("3m2468m2468p2468s",) * 4
_TERMINALS = "1m 9m 1p 9p 1s 9s 1z 2z 3z 4z 5z 6z 7z 1m 9m 1p 9p 1s".split()
TO_FOUR_KANS = "0 ankan 1m; 0 ankan 2p; 0 cut; 1 ankan 3m; 1 ankan 4p; 1 discard 7z"
_TO_DRAGONS = "0 discard 5z; 1 pon; 1 discard 9m; 0 discard 6z; 1 pon; 1 discard 9s; 0 discard 7z; 1 pon; 1 discard 9p"
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
    "four kans of two seats": (f"{TO_FOUR_KANS}; 3 skip", FOUR_KANS, {"draws": "2p1z", "rinshan": "6z6z5m1z"}),
    "a closed kan of a wind and thirteen orphans": ("0 ankan 1z; 2 skip", KOKUSHI, {"draws": "1z"}),
    "three who may win": ("0 discard 3p; 3 ron", THREE_WINNERS, {}),
    "four riichis": (
        "0 riichi 8m; 1 riichi 8m; 2 riichi 2p; 3 riichi 9m",
        ["123m456p789s1133z", "456m789p123s2244z", "789m123p456s5566z", "234m567p678s779m9p"],
        {"draws": "8m8m2p8p"},
    ),
    "four equal winds": ("0 discard 1z; 1 discard 1z; 2 discard 1z; 3 discard 1z", ["1z", "1z", "1z", "1z"], {}),
    "nine terminals": ("0 kyushu", ["19m19p19s1234z258p"], {"draws": "5m"}),
    "riichi and tsumo with ura": ("0 riichi 8m; 0 tsumo", [TENPAI, *DULL[1:]], {"draws": "8m...1z", "ura": "9m"}),
    "a riichi that is ronned": ("0 riichi 8m; 1 ron", [TENPAI, "67m234p567p345s88s"], {"draws": "8m"}),
    "a riichi that is called": ("0 riichi 8m; 1 chi 79m", [TENPAI, "79m147p258s2345z"], {"draws": "8m"}),
    "a riichi that is called for a kan": (
        "0 riichi 8m; 1 kan",
        [TENPAI, "888m147p258s234z"],
        {"draws": "8m", "rinshan": "5z"},
    ),
    "a kan in riichi": (
        "0 riichi 8m; 0 ankan 1m; 0 tsumo",
        ["111m456p789s2233z", "258m369p147s1567z", DULL[2]],
        {"draws": "8m6z6z7z1m", "rinshan": "2z", "ura": "9m1z"},
    ),
    "closed kans": ("0 ankan 1m; 0 ankan 2p", ["1111m2222p"], {"rinshan": "5z6z"}),
    "a closed kan of fives": ("0 ankan 5m; 0 discard 1z", ["0555m1z"], {"rinshan": "5z"}),
    "an open kan": ("0 discard 5p; 1 pon; 1 discard 1z; 2 kan", ["5p", "055p1z", "111z"], {"rinshan": "5z"}),
    "an open kan, then a closed one": ("0 discard 5p; 1 kan; 1 ankan 1s", ["5p", "055p1111s1z"], {"rinshan": "5z6z"}),
    "an open kan that wins": ("0 discard 5p; 1 kan; 1 tsumo", ["5p", "055p234m234p34s88s"], {"rinshan": "5s"}),
    "open kans of all sides": (
        "0 discard 5p; 1 kan; 1 discard 1z; 3 kan; 3 discard 9s; 2 kan",
        ["5p", "055p1z", "999s", "111z9s"],
        {"rinshan": "7z7z7z"},
    ),
    "a chi and pons of both other sides": (
        "0 discard 5p; 1 chi 46p; 1 discard 9m; 3 pon; 3 discard 7s; 1 pon; 1 discard 1z; 0 pon",
        ["5p11z", "46p9m77s1z", "", "99m7s"],
        {},
    ),
    "an added kan": (
        "0 discard 0p; 1 pon; 1 discard 9m; 1 ankan 1s; 1 kakan 5p",
        ["0p", "55p1111s9m"],
        {"draws": "5z2z3z4z5p", "rinshan": "9m6z"},
    ),
    "an added kan of a red five": (
        "0 discard 5p; 1 pon; 1 discard 9m; 1 kakan 0p",
        ["5p", "55p9m"],
        {"draws": "5z2z3z4z0p"},
    ),
    "a closed kan that is robbed": ("0 ankan 1z; 2 ron", KOKUSHI, {"draws": "1z"}),
    "two winners": ("0 discard 3p; 1 ron; 3 ron", THREE_WINNERS, {}),
    "three winners, sticks and honba": (
        "0 discard 3p; 1 ron; 2 ron; 3 ron",
        THREE_WINNERS,
        {"start": start_of_round(honba=2, kyotaku=3, scores=(25000, 25000, 25000, 22000))},
    ),
    "nine terminals after a pass": ("0 discard 5s; 1 kyushu", ["5s", "19m19p19s123z2468m", "55s"], {}),
    "four winds and a riichi": (
        "0 discard 1z; 1 discard 1z; 2 discard 1z; 3 riichi 1z",
        ["1z", "1z", "1z", "1z222m789p222s334s"],
        {"draws": "9p9p9p4s"},
    ),
    "the tile after four kans is won": (f"{TO_FOUR_KANS}; 3 ron", FOUR_KANS, {"draws": "2p1z", "rinshan": "6z6z5m1z"}),
    "nagashi mangan": ("", MIDDLE, {"draws": "".join(f"{tile}..." for tile in _TERMINALS)}),
    "two nagashi mangan": ("", MIDDLE, {"draws": "".join(f"{tile}{tile}.." for tile in _TERMINALS)}),
    "three dragons fed by a seat, drawn": (f"{_TO_DRAGONS}; 1 tsumo", DRAGONS, {"draws": "..........1m"}),
    "three dragons fed by a seat, from another": (f"{_TO_DRAGONS}; 1 ron", DRAGONS, {"draws": ".......1m"}),
    "a pre-empted chi": ("0 discard 3p; 1 chi 45p; 2 pon", ["3p", "45p", "33p"], {}),
    "a pre-empted pon": ("0 discard 3p; 2 pon; 3 ron", ["3p", "", "33p", THREE_WINNERS[3]], {}),
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
    "Norths of all seats": ("0 kita; 0 cut; 1 kita; 2 kita", [_NORTH_AND_WAIT[0]] * 3, {"draws": "6z6z6z"}),
    "all Norths of a seat": (
        "1 kita; 1 kita; 1 kita; 1 kita",
        ["19m147p258s12356z", "444z19m147p258s12z", "19m369p369s13567z"],
        {"draws": "6z4z"},
    ),
    "a North drawn in riichi": (
        "1 riichi 1m; 1 kita",
        ["", "123p456p789s22z33z", _NORTH_AND_WAIT[2]],
        {"draws": "6z1m7z7z4z"},
    ),
    "kans and a North after them": (
        "0 ankan 1p; 0 kita; 0 cut",
        ["1111p4z19m258s135z", "", ""],
        {"draws": "6z", "rinshan": "5z7z"},
    ),
    "a kan of a suit in riichi, of three": (
        "0 riichi 9s; 0 ankan 1p",
        ["111p456p789p567s1z", "19m147s258s23467z", "19m258s369s23567z"],
        {"draws": "9s..1p", "rinshan": "2z"},
    ),
    "a call from across the empty seat": ("0 discard 1p; 2 pon", ["1p", "", "11p"], {"draws": "6z"}),
    "a kan of another's tile, and one of a pon": (
        "0 discard 1p; 2 pon; 2 discard 9m; 0 discard 9s; 1 kan; 1 cut; 2 kakan 1p",
        ["1p9s", "999s", "11p9m"],
        {"draws": "6z6z1p"},
    ),
    "a tsumo of three": ("1 tsumo", ["", "123p456p789s2255z", ""], {"draws": "6z5z"}),
}
"""the same for three players"""


def events_of(name: str, rules: Rules) -> tuple[list[Event], list[Decision]]:
    script, hands, wall = ROUNDS[name]
    if rules == "tenhou" and script.startswith("0 ankan 1z;"):  # thirteen orphans win it only on Mahjong Soul
        script = script.split(";")[0]
    played = play_round(script, hands, **wall, rules=rules)
    return played.events, played.decisions
