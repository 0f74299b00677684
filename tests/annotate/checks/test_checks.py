"""The rules that --verify works out for itself: shapes of hands, payments, and what may happen in a round."""

import random
import re
from functools import cache

import pytest

from annotate.checks.payments import possible_ends
from annotate.checks.progress import EVENTS, Event, Progress
from annotate.checks.shapes import TERMINALS_AND_HONOURS, Shape
from annotate.vocabulary import FOUR_PLAYERS, NUM_TILES34, TILE_NAMES, tile34_of

# Shapes


@cache
def makes_sets_and_pair(kinds: tuple[int, ...], has_pair: bool = False) -> bool:
    """The slow way: takes the first tile away as part of a pair, a triplet or a run, and goes on."""
    if not kinds:
        return has_pair
    first = kinds[0]
    parts = [(first, first, first)]
    parts += [(first, first)] if not has_pair else []
    parts += [(first, first + 1, first + 2)] if first < 27 and first % 9 < 7 else []
    for part in parts:
        rest = list(kinds)
        if all(kind in rest and not rest.remove(kind) for kind in part):  # type: ignore[func-returns-value]
            if makes_sets_and_pair(tuple(rest), has_pair or len(part) == 2):
                return True
    return False


def is_complete(counts: list[int]) -> bool:
    kinds = tuple(kind for kind, count in enumerate(counts) for _ in range(count))
    orphans = len(kinds) == 14 and {*kinds} == {*TERMINALS_AND_HONOURS}
    return orphans or (len(kinds) == 14 and counts.count(2) == 7) or makes_sets_and_pair(kinds)


def waits(counts: list[int]) -> set[int]:
    found = set()
    for kind in range(NUM_TILES34):
        if counts[kind] < 4:
            counts[kind] += 1
            found |= {kind} if is_complete(counts) else set()
            counts[kind] -= 1
    return found


def random_hand(rng: random.Random, size: int) -> list[int]:
    """Mostly of sets, so that it is often near to complete."""
    counts = [0] * NUM_TILES34
    pool = rng.sample(range(NUM_TILES34), 12) if rng.random() < 0.5 else list(range(9))
    while sum(counts) < size:
        kind = rng.choice(pool)
        part = rng.choice([(kind,), (kind, kind), (kind, kind + 1, kind + 2), (kind, kind, kind)])
        if max(part) < 27 and part[-1] // 9 == kind // 9 or len({*part}) == 1:
            if all(counts[k] + part.count(k) <= 4 for k in part) and sum(counts) + len(part) <= size:
                for k in part:
                    counts[k] += 1
    return counts


def bits(found: int) -> set[int]:
    return {kind for kind in range(NUM_TILES34) if found >> kind & 1}


@pytest.mark.parametrize("num_melds", [0, 1, 3])
def test_complete_and_waiting_hands_are_those_of_a_plain_search(num_melds: int) -> None:
    rng = random.Random(num_melds)
    num_complete = num_waiting = 0
    for _ in range(150):
        counts = random_hand(rng, 14 - 3 * num_melds)
        assert Shape(counts, num_melds).is_complete() == is_complete(counts)
        num_complete += is_complete(counts)
        expected = set()
        for kind in (kind for kind in range(NUM_TILES34) if counts[kind]):
            counts[kind] -= 1
            found = waits(counts)
            assert bits(Shape(counts, num_melds).waits()) == found
            expected |= {kind} if found else set()
            counts[kind] += 1
        assert bits(Shape(counts, num_melds).discards()) == expected
        num_waiting += bool(expected)
    assert num_complete > 10 and num_waiting > 30


def test_thirteen_orphans_wait_for_the_missing_kind_or_for_all() -> None:
    counts = [int(kind in TERMINALS_AND_HONOURS) for kind in range(NUM_TILES34)]

    assert bits(Shape(counts, 0).waits()) == {*TERMINALS_AND_HONOURS}
    counts[0], counts[33] = 0, 2
    assert bits(Shape(counts, 0).waits()) == {0}


def test_a_wait_for_a_fifth_copy_counts_only_where_it_is_asked_for() -> None:
    counts = [4, *[0] * 8, 3, 3, 3, *[0] * 22]  # 1111m 111222333p

    assert not Shape(counts, 0).waits()
    assert bits(Shape(counts, 0, takes_fifth=True).waits()) == {0}


# Payments


ALL_ABORTED, ALL_TENPAI = (18, 18, 18, 18), (17, 17, 17, 17)


# worked out by hand: the deltas by seat, the dealer, honba, deposits when the round began, seats in riichi
@pytest.mark.parametrize(
    ("deltas", "dealer", "honba", "deposits", "riichi", "ends"),
    [
        pytest.param((-4100, 8300, -2100, -2100), 0, 1, 0, (), {(1, 0, 3, 2)}, id="a child's mangan by tsumo"),
        pytest.param((-1000, -1000, 5000, -1000), 2, 0, 2, (), {(2, 1, 0, 3)}, id="a dealer's tsumo and two deposits"),
        pytest.param((0, 0, 3500, -1500), 2, 0, 2, (), {(13, 10, 4, 9)}, id="a dealer's ron and two deposits"),
        pytest.param((-9600, 9600, 0, 0), 0, 2, 0, (3,), {(7, 6, 15, 4)}, id="two winners, the first gets the sticks"),
        pytest.param((-1000, -1000, 2000, -1000), 0, 3, 1, (2,), {(16, 16, 17, 16)}, id="one of four is tenpai"),
        pytest.param((1500, -1500, 500, -1500), 0, 0, 0, (2,), {(17, 16, 17, 16)}, id="two of four are tenpai"),
        pytest.param((-4000, 8000, -2000, -2000), 0, 3, 1, (), {(1, 0, 3, 2)}, id="a mangan of discards"),
        pytest.param((-8000, 6000, 6000, -4000), 0, 0, 0, (), {(1, 0, 3, 2)}, id="two mangans of discards"),
        pytest.param((-1000, 0, -1000, 0), 0, 0, 0, (0, 2), {ALL_ABORTED, ALL_TENPAI}, id="only sticks are paid"),
        pytest.param((0, 32000, -32000, 0), 0, 0, 0, (), {(10, 4, 9, 13), (1, 0, 3, 2)}, id="ron, or liable"),
        pytest.param((-4100, 8200, -2100, -2000), 0, 1, 0, (), set(), id="counters unequally paid"),
        pytest.param((0, 8100, -8100, 0), 0, 0, 0, (), set(), id="no hand is worth that"),
        pytest.param((0, 9000, -8000, 0), 0, 0, 2, (), set(), id="one deposit too few"),
    ],
)
def test_deltas_tell_how_a_round_ended(
    deltas: tuple[int, ...], dealer: int, honba: int, deposits: int, riichi: tuple[int, ...], ends: set[tuple[int, ...]]
) -> None:
    paid = tuple(seat in riichi for seat in range(4))

    assert {*possible_ends(deltas, dealer, honba, deposits, paid)} == ends


def test_a_liable_seat_pays_half_of_a_yakuman() -> None:
    ends = possible_ends((-16000, 0, 32000, -16000), 0, 0, 0, (False,) * 4)

    assert {(8, 11, 5, 14), (13, 10, 4, 9)} <= {*ends}  # either discarded, the other is liable


# Events

PROGRESSION = FOUR_PLAYERS.progression
NAMES = {"d": "discard", "t": "discard", "r": "discard", "p": "pon", "k": "daiminkan", "a": "ankan", "+": "kakan"}


def event(text: str) -> Event:
    """Such as "0d5m" (discard), "0t5m" (as drawn), "0r5m" (riichi), "1p5m<0" (pon from relative seat 0), "0a5m"."""
    seat, what, tile, relative = re.fullmatch(r"(\d)(.)(\d\w)(?:<(\d))?", text).groups()  # type: ignore[union-attr]
    number = TILE_NAMES.index(tile)
    indices = {
        "discard": (number, int(what == "t"), int(what == "r")),
        "pon": (int(relative or 0), number),
        "daiminkan": (int(relative or 0), number),
        "ankan": (tile34_of(number),),
        "kakan": (number,),
    }[NAMES[what]]
    return EVENTS[PROGRESSION[NAMES[what]].token(int(seat), *indices)]


def problem_of(script: str, dealer: int = 0) -> str | None:
    """What is wrong with the last event; nothing may be with the others."""
    progress = Progress(dealer)
    *before, last = map(event, script.split())
    for one in before:
        assert progress.apply(one) is None, str(one)
    return progress.apply(last)


def all_draws(number: int) -> str:
    """So many discards, one after another, none of 7z."""
    order = [tile for _ in range(3) for tile in TILE_NAMES[:-1] if tile[0] != "0"]
    return " ".join(f"{i % 4}{'t' if i else 'd'}{order[i]}" for i in range(number))


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("0d1m 2d1m", "out of turn"),
        ("0d1m 1p2m<2", "another tile"),
        ("0d1m 1p1m<1", "wrong seat"),
        ("0r1m 1d2z 0p2z<0", "in riichi"),
        ("0d1m 1p1m<2 1t2m", "follows a call"),
        ("0d1m 1p1m<2 1d1m", "swap-calling"),
        ("0d1m 1p1m<2 1a2m", "comes after a call"),
        ("0d1m 1t2m 2t3m 3t4m 0+1m", "adds to no pon"),
        ("0t1m", "all of the dealer's 14 tiles"),
        ("0r1m 1d2m 2d2m 3d2m 0r3m", "second time"),
        ("0r1m 1d2m 2d2m 3d2m 0d3m", "must be of the drawn tile"),
        ("0d0p 1d0p", "more of 0p than there are"),
        ("0d1m 1p1m<2 1d2z 2t3z 3t4z 0d1m 1t1m", "more of 1m than there are"),
        ("0r1m 1r2m 2r3m 3r4m 0t5m", "round was aborted"),
        ("0d4z 1d4z 2d4z 3d4z 0d5m", "round was aborted"),
        ("0a1m 0a2m 0a3m 0d9m 1a4m 1d9m 2d9m", "round was aborted"),
        ("0a1m 0a2m 0a3m 0a4m 0d9m 1a5p", "fifth kan"),
        (f"{all_draws(70)} 2t4z", "after the last tile"),
        (f"{all_draws(66)} 2r4z", "with 3 tiles left"),
        (f"{all_draws(69)} 1a7z", "with the last tile"),
        (f"{all_draws(70)} 2p{all_draws(70)[-2:]}<2", "calls the last tile"),
    ],
)
def test_an_impossible_event_is_told(script: str, problem: str) -> None:
    assert problem in (problem_of(script) or "nothing")


@pytest.mark.parametrize(
    "script",
    [
        "0d4z 1d4z 2d4z 3d3z 0d5m",
        "0d4z 1p4z<2 1d1m 2d4z",
        "0a1m 0a2m 0a3m 0a4m 0d9m 1d8m 2d8m",
        "0r1m 1r2m 2r3m 3d4m 0t5m",
        "0d1m 1p1m<2 1d2z 2t3z 3t4z 0d5z 1+1m 1t6z",
        "0a1m 0r2m 1d3m 2d3m 3d3m 0a4m 0t5m",
        f"{all_draws(65)} 1r4z",
        f"{all_draws(68)} 0a7z",
    ],
)
def test_what_is_rare_but_possible_is_not_told(script: str) -> None:
    assert problem_of(script) is None
