"""The possible events of a round, one by one."""

import re

import pytest

from annotate.checks.progress import Event, Progress, events_of
from annotate.checks.rules import OF_FOUR
from annotate.vocabulary import FOUR_PLAYERS, TILE_NAMES, tile34_of

PROGRESSION = FOUR_PLAYERS.progression
NAMES = {"d": "discard", "t": "discard", "r": "discard", "p": "pon", "k": "daiminkan", "a": "ankan", "+": "kakan"}


def event(text: str) -> Event:
    """Parses "0d5m" (discard), "0t5m" (as drawn), "0r5m" (riichi), "1p5m<0" (pon from relative seat 0), "0a5m"."""
    seat, what, tile, relative = re.fullmatch(r"(\d)(.)(\d\w)(?:<(\d))?", text).groups()  # type: ignore[union-attr]
    number = TILE_NAMES.index(tile)
    indices = {
        "discard": (number, int(what == "t"), int(what == "r")),
        "pon": (int(relative or 0), number),
        "daiminkan": (int(relative or 0), number),
        "ankan": (tile34_of(number),),
        "kakan": (number,),
    }[NAMES[what]]
    return events_of(OF_FOUR)[PROGRESSION[NAMES[what]].token(int(seat), *indices)]


def problem_of(script: str, dealer: int = 0) -> str | None:
    """Returns the problem of the last event; the others must have none."""
    progress = Progress(dealer, OF_FOUR)
    *before, last = map(event, script.split())
    for one in before:
        assert progress.apply(one) is None, str(one)
    return progress.apply(last)


def all_draws(number: int) -> str:
    """Returns a script of so many discards, none of 7z."""
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
def test_an_impossible_event_is_reported(script: str, problem: str) -> None:
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
def test_a_rare_but_possible_event_is_not_reported(script: str) -> None:
    assert problem_of(script) is None
