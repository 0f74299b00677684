"""Shanten, waits, furiten and accepted tiles of a hand."""

from annotate.game.hands import Meld
from kanachan.review.board import Discard, TableView
from kanachan.review.hand_shape import HandShape


def table(hand: str, drawn: str | None = None, melds: list[Meld] | None = None, river: str = "") -> TableView:
    return TableView(
        seat=0,
        wind=0,
        dealer=0,
        honba=0,
        deposits=0,
        left=60,
        dora_indicators=["9s"],
        scores=[25000] * 4,
        ranks=[0, 1, 2, 3],
        grades=["Saint 3"] * 4,
        hand=names(hand),
        drawn=drawn,
        rivers=[[Discard(tile, False, False) for tile in names(river)], [], [], []],
        melds=[melds or [], [], [], []],
        last_seat=None,
        last_kind=None,
        last_meld=None,
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


def test_waits_count_the_copies_that_the_player_does_not_see() -> None:
    shape = HandShape(table("123m456p789s1178s", river="99s"), [])
    assert shape.shanten == 0
    assert left(shape) == {"6s": 4, "9s": 0}
    assert not shape.is_furiten


def test_a_wait_that_was_discarded_or_let_pass_is_furiten() -> None:
    assert HandShape(table("123m456p789s1178s"), {23}).is_furiten  # 6s
    assert not HandShape(table("123m456p789s1178s"), {0}).is_furiten


def test_waits_are_those_without_the_drawn_tile() -> None:
    shape = HandShape(table("123m456p789s1178s", drawn="6s"), [])
    assert shape.shanten == -1
    assert left(shape) == {"6s": 3, "9s": 2}


def test_each_discard_has_the_shanten_and_the_tiles_accepted_after_it() -> None:
    shape = HandShape(table("123m456p789s1178s", drawn="1z"), [])
    kept, broken = shape.after_discard("1z"), shape.after_discard("7s")
    assert (kept.shanten, kept.left) == (0, {23: 4, 26: 2})
    assert (broken.shanten, broken.is_tenpai) == (1, False) and broken.left[27] == 3
    assert not shape.is_furiten_after("1z")
    assert HandShape(table("123m456p789s1178s", drawn="9s"), []).is_furiten_after("9s")


def test_red_fives_are_fives_and_melds_are_seen() -> None:
    pon = Meld("pon", ["5p", "0p"], "5p", 2)
    shape = HandShape(table("123m789s114p6p", melds=[pon]), [])
    assert left(shape) == {"5p": 1}


def test_a_hand_that_waits_for_a_fifth_copy_alone_has_no_waits() -> None:
    kan = Meld("ankan", ["1z"] * 4)
    assert left(HandShape(table("123m456p789s9m", melds=[kan]), [])) == {"9m": 3}
    pon = Meld("pon", ["5p", "0p"], "5p", 2, None)
    added = Meld("kakan", ["5p", "0p"], "5p", 2, "5p")
    assert left(HandShape(table("123m789s114p6p", melds=[pon]), [])) and not left(
        HandShape(table("123m789s114p6p", melds=[added]), [])
    )


def test_a_hand_far_from_tenpai_has_no_waits() -> None:
    shape = HandShape(table("147m258p369s1234z"), [])
    assert shape.shanten > 3 and shape.waiting is None and not shape.is_furiten
