import pytest

from annotate.annotation import parse_line
from annotate.vocabulary import CHI_OF_TILES, FOUR_PLAYERS, TILE_NAMES
from annotate.words import describe, describe_action

V = FOUR_PLAYERS
ACTION = V.action


def tile(name: str) -> int:
    return TILE_NAMES.index(name)


def chi(called: str, *hand: str) -> int:
    return CHI_OF_TILES[frozenset(map(tile, hand)), tile(called)]


@pytest.mark.parametrize(
    ("token", "words"),
    [
        (ACTION["discard"].token(tile("5p"), 0, 0), "discard 5p"),
        (ACTION["discard"].token(tile("0p"), 1, 0), "discard 0p (just drawn)"),
        (ACTION["discard"].token(tile("3z"), 1, 1), "riichi, discard 3z (just drawn)"),
        (ACTION["ankan"].token(27), "ankan 1z"),
        (ACTION["kakan"].token(tile("0s")), "kakan 0s"),
        (ACTION["tsumo"].token(), "tsumo"),
        (ACTION["kyushu"].token(), "kyushu"),
        (ACTION["skip"].token(), "skip"),
        (ACTION["chi"].token(chi("5m", "4m", "6m")), "chi 5m with 46m"),
        (ACTION["chi"].token(chi("6s", "0s", "4s")), "chi 6s with 40s"),
        (ACTION["pon"].token(0, tile("7z")), "pon 7z from the right"),
        (ACTION["daiminkan"].token(1, tile("1m")), "daiminkan 1m from across"),
        (ACTION["ron"].token(2), "ron from the left"),
    ],
)
def test_an_action_is_described_in_the_words_of_mjai(token: int, words: str) -> None:
    assert describe_action(token, V) == words


def test_no_two_actions_have_the_same_description() -> None:
    assert len({describe_action(token, V) for token in range(V.action.size)}) == V.action.size


LINE = (
    "made-up\t2,6,8,12,16,47,65,232,282,291,307,309,328,330,333,352,353,358,362,366,373,402,406,409,461,462,504\t"
    "2,1,20000,35000,30000,14000\t0,433,532,1125,189,806,1878\t24,62\t1\t12,0,0,8600,-7600,2,1,0,3,1,33400,-12"
)


def test_a_decision_is_described_in_full() -> None:
    assert describe(parse_line(LINE, V), V).split("\n") == [
        "game made-up, Gold Room, East and South",
        "South 3, honba 2, riichi deposits 1, tiles left 40",
        "dora indicators: 9s 0p",
        "  seat 0  West    20,000  3rd  Master 1",
        "> seat 1  North   35,000  1st  Saint 3",
        "  seat 2  East    30,000  2nd  Celestial",
        "  seat 3  South   14,000  4th  Novice 1",
        "hand: 23406m 456p 11z + 5p  [pon 0s from seat 3]",
        "so far (* just drawn, calls in brackets):",
        "  seat 0: [ankan 7z]",
        "  seat 1: [pon 0s from seat 3] 9m",
        "  seat 2: 4z [chi 9m with 78m]",
        "  seat 3: riichi:0s*",
        "seat 1 may:",
        "   discard 6m",
        "-> discard 5p (just drawn)",
        "round: ron of the seat across on the right seat; seat 0 +0, seat 1 +0, seat 2 +8,600, seat 3 -7,600",
        "game: 2nd with 33,400 points, grading points -12; seat 0 3rd, seat 1 2nd, seat 2 1st, seat 3 4th",
    ]
