"""Tenhou's packed melds, each kind written by the rule of its bits and decoded again."""

import pytest

from annotate.records.tenhou.meld import decode_meld, tile_name


def test_the_red_fives_are_tiles_16_52_and_88() -> None:
    reds = [tile for tile in range(136) if tile_name(tile).endswith("r")]
    assert reds == [16, 52, 88]
    assert [tile_name(tile) for tile in reds] == ["5mr", "5pr", "5sr"]


def test_tiles_are_named_in_order_of_suits_winds_and_dragons() -> None:
    names = [tile_name(4 * kind + 3) for kind in range(34)]
    suits = [f"{rank}{suit}" for suit in "mps" for rank in range(1, 10)]
    assert names == [*suits, "E", "S", "W", "N", "P", "F", "C"]


def chi_code(first_kind: int, place: int, copies: tuple[int, ...]) -> int:
    lowest = first_kind // 9 * 7 + first_kind % 9
    return (3 * lowest + place) << 10 | copies[2] << 7 | copies[1] << 5 | copies[0] << 3 | 0x4 | 3


def pon_code(kind: int, unused: int, place: int, from_whom: int) -> int:
    return (3 * kind + place) << 9 | unused << 5 | 0x8 | from_whom


def kakan_code(kind: int, added: int, place: int, from_whom: int) -> int:
    return (3 * kind + place) << 9 | added << 5 | 0x10 | from_whom


@pytest.mark.parametrize("first_kind", [9 * suit + rank for suit in range(3) for rank in range(7)])
@pytest.mark.parametrize("place", range(3))
def test_every_chi_is_decoded(first_kind: int, place: int) -> None:
    names = [f"{first_kind % 9 + 1 + i}{'mps'[first_kind // 9]}" for i in range(3)]
    called = names.pop(place)
    event = decode_meld(chi_code(first_kind, place, (1, 2, 3)), 2, 4).event
    assert event == {"type": "chi", "actor": 2, "target": 1, "pai": called, "consumed": names}


@pytest.mark.parametrize("suit", range(3))
@pytest.mark.parametrize("first_rank", range(2, 5))
def test_a_chi_tells_whether_its_five_is_red_and_whether_it_was_called(suit: int, first_rank: int) -> None:
    letter, place_of_five = "mps"[suit], 4 - first_rank
    copies = tuple(0 if place == place_of_five else 1 for place in range(3))
    for place in range(3):
        names = [f"{first_rank + i + 1}{letter}" for i in range(3)]
        names[place_of_five] += "r"
        called = names.pop(place)
        event = decode_meld(chi_code(9 * suit + first_rank, place, copies), 0, 4).event
        assert (event["pai"], event["consumed"], event["target"]) == (called, names, 3)


@pytest.mark.parametrize(("from_whom", "target"), [(1, 2), (2, 3), (3, 0)])
def test_a_pon_is_decoded_from_each_side(from_whom: int, target: int) -> None:
    event = decode_meld(pon_code(27, 0, 1, from_whom), 1, 4).event
    assert event == {"type": "pon", "actor": 1, "target": target, "pai": "E", "consumed": ["E", "E"]}


def test_a_pon_tells_where_the_red_five_is() -> None:
    called_red = decode_meld(pon_code(13, 3, 0, 1), 0, 4).event
    held_red = decode_meld(pon_code(13, 3, 2, 1), 0, 4).event
    without_red = decode_meld(pon_code(13, 0, 0, 1), 0, 4).event
    assert (called_red["pai"], called_red["consumed"]) == ("5pr", ["5p", "5p"])
    assert (held_red["pai"], held_red["consumed"]) == ("5p", ["5pr", "5p"])
    assert (without_red["pai"], without_red["consumed"]) == ("5p", ["5p", "5p"])


def test_the_called_tile_of_a_pon_is_known_physically() -> None:
    assert [decode_meld(pon_code(27, 1, place, 1), 0, 4).called for place in range(3)] == [108, 110, 111]


@pytest.mark.parametrize(("from_whom", "target"), [(1, 0), (2, 1), (3, 2)])
def test_an_open_kan_is_decoded_from_each_side(from_whom: int, target: int) -> None:
    event = decode_meld(88 << 8 | from_whom, 3, 4).event
    consumed = ["5s", "5s", "5s"]
    assert event == {"type": "daiminkan", "actor": 3, "target": target, "pai": "5sr", "consumed": consumed}


def test_an_open_kan_can_hold_the_red_five() -> None:
    event = decode_meld(89 << 8 | 1, 3, 4).event
    assert (event["pai"], event["consumed"]) == ("5s", ["5sr", "5s", "5s"])


def test_an_added_kan_is_decoded() -> None:
    event = decode_meld(kakan_code(27, 3, 1, 2), 0, 4).event
    assert event == {"type": "kakan", "actor": 0, "pai": "E", "consumed": ["E", "E", "E"]}


def test_an_added_kan_tells_whether_the_red_five_was_added() -> None:
    added_red, pon_had_red = (decode_meld(kakan_code(4, added, 0, 1), 0, 4).event for added in (0, 2))
    assert (added_red["pai"], added_red["consumed"]) == ("5mr", ["5m", "5m", "5m"])
    assert (pon_had_red["pai"], pon_had_red["consumed"]) == ("5m", ["5mr", "5m", "5m"])


def test_a_closed_kan_is_decoded() -> None:
    assert decode_meld(17 << 8, 1, 4).event == {"type": "ankan", "actor": 1, "consumed": ["5mr", "5m", "5m", "5m"]}


@pytest.mark.parametrize("code", [0xFC07, chi_code(0, 0, (0, 0, 0)) - 1, pon_code(34, 0, 0, 1), 0x20, 0xFF00])
def test_a_code_that_is_no_meld_of_four_players_is_refused(code: int) -> None:
    with pytest.raises(ValueError, match="meld"):
        decode_meld(code, 0, 4)


@pytest.mark.parametrize(
    ("code", "bit"),
    [
        (chi_code(0, 0, (0, 0, 0)), 9),
        (pon_code(27, 0, 1, 1), 4),
        (pon_code(27, 0, 1, 1), 7),
        (kakan_code(27, 3, 1, 2), 8),
    ]
    + [(17 << 8, 2 + unused) for unused in (4, 5)]
    + [(88 << 8 | 1, 6)],
)
def test_a_bit_that_no_meld_of_its_kind_has_is_refused(code: int, bit: int) -> None:
    decode_meld(code, 0, 4)
    with pytest.raises(ValueError, match="bits set that mean nothing"):
        decode_meld(code | 1 << bit, 0, 4)
