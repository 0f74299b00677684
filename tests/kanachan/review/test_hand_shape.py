"""Shanten, waits, furiten and accepted tiles of a hand."""

from collections.abc import Collection, Sequence
from typing import Any

import pytest

from annotate.game.hands import Meld
from annotate.vocabulary import Vocabulary
from kanachan.review.board import TableView
from kanachan.review.course import Discard
from kanachan.review.hand_shape import Accepted, HandShape
from tests.support.rounds import V3, V


def shape_of(hand: str, furiten: Collection[int] = (), vocabulary: Vocabulary = V, **more: Any) -> HandShape:
    return HandShape(table(hand, vocabulary.num_seats, **more), furiten, vocabulary)


def table(
    hand: str,
    num_seats: int,
    drawn: str | None = None,
    melds: Sequence[Meld] = (),
    river: str = "",
    norths: Sequence[int] = (),
) -> TableView:
    others: list[list[Any]] = [[] for _ in range(1, num_seats)]
    return TableView(
        seat=0,
        wind=0,
        dealer=0,
        honba=0,
        deposits=0,
        left=60,
        dora_indicators=["9s"],
        scores=[25000] * num_seats,
        ranks=list(range(num_seats)),
        grades=["Saint 3"] * num_seats,
        hand=names(hand),
        drawn=drawn,
        rivers=[[Discard(tile, False, False) for tile in names(river)], *others],
        melds=[list(melds), *others],
        norths=list(norths) or [0] * num_seats,
    )


def names(text: str) -> list[str]:
    found, digits = [], ""
    for character in text:
        if character.isdigit():
            digits += character
        else:
            found += [digit + character for digit in digits]
            digits = ""
    return found


def left(shape: HandShape) -> dict[str, int]:
    assert shape.waiting is not None
    return {entry["tile"]: entry["left"] for entry in shape.waiting.tiles}


def after_discard(shape: HandShape, tile: str) -> Accepted:
    after = shape.after_action("discard", [tile])
    assert after is not None
    return after[0]


def test_waits_count_the_copies_that_the_player_does_not_see() -> None:
    shape = shape_of("123m456p789s1178s", river="99s")
    assert shape.shanten == 0
    assert left(shape) == {"6s": 4, "9s": 0}
    assert not shape.is_furiten


def test_a_wait_that_was_discarded_or_let_pass_is_furiten() -> None:
    assert shape_of("123m456p789s1178s", {23}).is_furiten  # 6s
    assert not shape_of("123m456p789s1178s", {0}).is_furiten


def test_waits_are_computed_without_the_drawn_tile() -> None:
    shape = shape_of("123m456p789s1178s", drawn="6s")
    assert shape.shanten == -1
    assert left(shape) == {"6s": 3, "9s": 2}


def test_each_discard_has_the_shanten_and_the_tiles_accepted_after_it() -> None:
    shape = shape_of("123m456p789s1178s", drawn="1z")
    kept, broken = after_discard(shape, "1z"), after_discard(shape, "7s")
    assert (kept.shanten, kept.left) == (0, {23: 4, 26: 2})
    assert broken.shanten == 1 and broken.left[27] == 3
    assert not shape.is_furiten_after("1z", kept)
    drawn = shape_of("123m456p789s1178s", drawn="9s")
    assert drawn.is_furiten_after("9s", after_discard(drawn, "9s"))


@pytest.mark.parametrize(
    ("hand", "kind", "tiles", "expected"),
    [
        ("234m678s45p11z99m5s", "pon", ["1z"], (0, "5s", {"3p": 4, "6p": 4})),
        ("234m678s45p11z99m5s", "chi", ["4p", "5p", "3p"], (0, "5s", {"9m": 2, "1z": 2})),
        ("234m678s45p11z99m3p", "chi", ["4p", "5p", "6p"], (1, "9m", None)),  # 3p may not be discarded
        ("234m678s45p111z99m", "daiminkan", ["1z"], (0, None, {"3p": 4, "6p": 4})),
        ("234m678s45p11z99m5s", "skip", [], (1, None, None)),
        ("234m678s45p11z99m5s", "ron", [], None),
    ],
)
def test_a_call_has_the_shape_after_its_best_discard(hand: str, kind: str, tiles: list[str], expected: Any) -> None:
    after = shape_of(hand).after_action(kind, tiles)
    if expected is None:
        assert after is None
        return
    assert after is not None
    accepted, discard = after
    assert (accepted.shanten, discard) == expected[:2]
    if expected[2] is not None:
        assert {each["tile"]: each["left"] for each in accepted.tiles} == expected[2]


def test_red_fives_count_as_fives_and_melds_as_seen() -> None:
    pon = Meld("pon", ["5p", "0p"], "5p", 2)
    shape = shape_of("123m789s114p6p", melds=[pon])
    assert left(shape) == {"5p": 1}


def test_a_hand_that_waits_only_for_a_fifth_copy_has_no_waits() -> None:
    kan = Meld("ankan", ["1z"] * 4)
    assert left(shape_of("123m456p789s9m", melds=[kan])) == {"9m": 3}
    pon = Meld("pon", ["5p", "0p"], "5p", 2, None)
    added = Meld("kakan", ["5p", "0p"], "5p", 2, "5p")
    assert left(shape_of("123m789s114p6p", melds=[pon])) and not left(shape_of("123m789s114p6p", melds=[added]))


def test_a_hand_far_from_tenpai_has_no_waits() -> None:
    shape = shape_of("147m258p369s1234z")
    assert shape.shanten > 3 and shape.waiting is None and not shape.is_furiten


def accepted(tile: str, left: int) -> dict[str, Any]:
    return {"tile": tile, "left": left}


def test_three_players_never_wait_for_tiles_that_they_do_not_use() -> None:
    of_three, of_four = (
        after_discard(shape_of("19m456p78999s666z", vocabulary=vocabulary, drawn="1s"), "1s") for vocabulary in (V3, V)
    )
    assert of_three.tiles == [accepted(tile, left) for tile, left in (("1m", 3), ("9m", 3), ("6s", 4), ("9s", 0))]
    assert {entry["tile"] for entry in of_four.tiles} == {"1m", "2m", "3m", "7m", "8m", "9m", "6s", "9s"}


def test_norths_set_aside_count_as_seen_and_as_held() -> None:
    waiting = "456p789999s666z4z"
    assert left(shape_of(waiting, vocabulary=V3)) == {"4z": 3}
    assert left(shape_of(waiting, vocabulary=V3, norths=[1, 0, 1])) == {"4z": 1}
    assert left(shape_of(waiting, vocabulary=V3, norths=[0, 2, 1])) == {"4z": 0}
    assert left(shape_of(waiting, vocabulary=V3, norths=[3, 0, 0])) == {}
