"""Rounds made up for what seldom happens, each as the arguments of `majsoul_made.made_round`."""

from typing import Any

from tests.support.rounds import DULL, start_of_round

TENPAI = "123m456p789s1122z"
THREE_WINNERS = ["3p", "456m678m456s22p45p", "234m678m345s88p45p", "234m567m678s66s45p"]
KAKAN = ["3p7p", "33p77p9m9s", "", "234m678m678s66s68p"]
ORPHANS = ["111z", "", "19m19p19s2345677z"]
FOUR_KANS = ["1111m222p", "3333m4444p7z", "", "567m567p99s567s77z"]
DRAGONS = ["567z", "556677z23m11p9m9s9p"]
MIDDLE = ["3m2468m2468p2468s"] * 4
_TERMINALS = "1m 9m 1p 9p 1s 9s 1z 2z 3z 4z 5z 6z 7z 1m 9m 1p 9p 1s".split()


_TO_FOUR_KANS = "0 ankan 1m; 0 ankan 2p; 0 cut; 1 ankan 3m; 1 ankan 4p; 1 discard 7z"
_TO_TWO_KANS = (
    "0 discard 3p; 1 pon; 1 discard 9m; 0 discard 7p; 1 pon; 1 discard 9s; 1 kakan 3p; 1 kakan 7p"  # and maybe robbed
)
_TO_DRAGONS = "0 discard 5z; 1 pon; 1 discard 9m; 0 discard 6z; 1 pon; 1 discard 9s; 0 discard 7z; 1 pon; 1 discard 9p"

ROUNDS: dict[str, tuple[str, list[str], str, dict[str, Any]]] = {
    "nothing": ("", list(DULL), "", {}),
    "riichi and tsumo with ura": ("0 riichi 8m; 0 tsumo", [TENPAI, *DULL[1:]], "8m...1z", {"ura": "9m"}),
    "a riichi that is ronned": ("0 riichi 8m; 1 ron", [TENPAI, "67m234p567p345s88s"], "8m", {}),
    "a riichi that is called": ("0 riichi 8m; 1 chi 79m", [TENPAI, "79m147p258s2345z"], "8m", {}),
    "a riichi that is called for a kan": ("0 riichi 8m; 1 kan", [TENPAI, "888m147p258s234z"], "8m", {"rinshan": "5z"}),
    "a kan in riichi": (
        "0 riichi 8m; 0 ankan 1m; 0 tsumo",
        ["111m456p789s2233z", "258m369p147s1567z", DULL[2]],
        "8m6z6z7z1m",
        {"rinshan": "2z", "ura": "9m1z"},
    ),
    "closed kans": ("0 ankan 1m; 0 ankan 2p", ["1111m2222p"], "", {"rinshan": "5z6z"}),
    "a closed kan of fives": ("0 ankan 5m; 0 discard 1z", ["0555m1z"], "", {"rinshan": "5z"}),
    "an open kan": ("0 discard 5p; 1 pon; 1 discard 1z; 2 kan", ["5p", "055p1z", "111z"], "", {"rinshan": "5z"}),
    "an open kan, then a closed one": (
        "0 discard 5p; 1 kan; 1 ankan 1s",
        ["5p", "055p1111s1z"],
        "",
        {"rinshan": "5z6z"},
    ),
    "an open kan that wins": ("0 discard 5p; 1 kan; 1 tsumo", ["5p", "055p234m234p34s88s"], "", {"rinshan": "5s"}),
    "a chi and pons of both other sides": (
        "0 discard 5p; 1 chi 46p; 1 discard 9m; 3 pon; 3 discard 7s; 1 pon; 1 discard 1z; 0 pon",
        ["5p11z", "46p9m77s1z", "", "99m7s"],
        "",
        {},
    ),
    "open kans of all sides": (
        "0 discard 5p; 1 kan; 1 discard 1z; 3 kan; 3 discard 9s; 2 kan",
        ["5p", "055p1z", "999s", "111z9s"],
        "",
        {"rinshan": "7z7z7z"},
    ),
    "an added kan": (
        "0 discard 0p; 1 pon; 1 discard 9m; 1 ankan 1s; 1 kakan 5p",
        ["0p", "55p1111s9m"],
        "5z2z3z4z5p",
        {"rinshan": "9m6z"},
    ),
    "an added kan of a red five": ("0 discard 5p; 1 pon; 1 discard 9m; 1 kakan 0p", ["5p", "55p9m"], "5z2z3z4z0p", {}),
    "an added kan that is robbed": (
        "0 discard 3p; 1 pon; 1 discard 9m; 1 kakan 3p; 3 ron",
        ["3p", "33p9m", DULL[2], "234m567m678s66s45p"],
        "5z2z3z4z3p",
        {},
    ),
    "two added kans": (
        _TO_TWO_KANS,
        ["3p7p", "33p77p9m9s"],
        "5z2z1z4z2z1z4z3p",
        {"dora": "3z4z", "rinshan": "7p5z"},
    ),
    "a second added kan that is robbed": (
        f"{_TO_TWO_KANS}; 3 ron",
        KAKAN,
        "5z2z1z4z2z1z4z3p",
        {"dora": "3z4z", "rinshan": "7p5z"},
    ),
    "a closed kan that is robbed": ("0 ankan 1z; 2 ron", ORPHANS, "1z", {}),
    "a closed kan that could be robbed": ("0 ankan 1z; 2 skip", ORPHANS, "1z", {}),
    "two winners": ("0 discard 3p; 1 ron; 3 ron", THREE_WINNERS, "", {}),
    "three winners, sticks and honba": (
        "0 discard 3p; 1 ron; 2 ron; 3 ron",
        THREE_WINNERS,
        "",
        {"start": start_of_round(honba=2, kyotaku=3, scores=(25000, 25000, 25000, 22000))},
    ),
    "nine terminals": ("0 discard 5s; 1 kyushu", ["5s", "19m19p19s123z2468m", "55s"], "", {}),
    "four winds": ("0 discard 1z; 1 discard 1z; 2 discard 1z; 3 discard 1z", ["1z"] * 4, "", {}),
    "four winds and a riichi": (
        "0 discard 1z; 1 discard 1z; 2 discard 1z; 3 riichi 1z",
        ["1z", "1z", "1z", "1z222m789p222s334s"],
        "9p9p9p4s",
        {},
    ),
    "four riichis": (
        "0 riichi 8m; 1 riichi 8m; 2 riichi 2p; 3 riichi 9m",
        ["123m456p789s1133z", "456m789p123s2244z", "789m123p456s5566z", "234m567p678s779m9p"],
        "8m8m2p8p",
        {},
    ),
    "four kans": (f"{_TO_FOUR_KANS}; 3 skip", FOUR_KANS, "2p1z", {"rinshan": "6z6z5m1z"}),
    "the tile after four kans is won": (f"{_TO_FOUR_KANS}; 3 ron", FOUR_KANS, "2p1z", {"rinshan": "6z6z5m1z"}),
    "nagashi mangan": ("", MIDDLE, "".join(f"{tile}..." for tile in _TERMINALS), {}),
    "two nagashi mangan": ("", MIDDLE, "".join(f"{tile}{tile}.." for tile in _TERMINALS), {}),
    "three dragons fed by a seat, drawn": (f"{_TO_DRAGONS}; 1 tsumo", DRAGONS, "..........1m", {}),
    "three dragons fed by a seat, from another": (f"{_TO_DRAGONS}; 1 ron", DRAGONS, ".......1m", {}),
    "a pre-empted chi": ("0 discard 3p; 1 chi 45p; 2 pon", ["3p", "45p", "33p"], "", {}),
    "a pre-empted pon": ("0 discard 3p; 2 pon; 3 ron", ["3p", "", "33p", THREE_WINNERS[3]], "", {}),
}
