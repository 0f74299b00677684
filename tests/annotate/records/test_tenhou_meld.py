"""Tenhou's packed melds: every existing code, compared with the plain reading of the fuzz tests."""

import pytest

from annotate.game.tiles import NAME_OF_ID, TILE_OF_MJAI
from annotate.records.tenhou.meld import decode_meld
from annotate.vocabulary import TILE_NAMES
from tests.fuzz.plain_reading import tenhou_meld


def names(tiles: list[str]) -> list[str]:
    """By the names of the specification, sorted."""
    return sorted(TILE_NAMES[TILE_OF_MJAI[name]] for name in tiles)


def test_the_red_fives_are_tiles_16_52_and_88() -> None:
    assert {tile: NAME_OF_ID[tile] for tile in range(136) if NAME_OF_ID[tile].endswith("r")} == {
        16: "5mr",
        52: "5pr",
        88: "5sr",
    }


@pytest.mark.parametrize("seat", [0, 3])
def test_every_meld_is_decoded(seat: int) -> None:
    kinds = dict.fromkeys(("chi", "pon", "daiminkan", "ankan", "kakan"), 0)
    for code in range(1 << 16):
        try:
            meld = decode_meld(code, seat, 4)
        except ValueError:
            continue
        plain, event = tenhou_meld(code, seat), meld.event
        kind = event["type"]
        kinds[kind] += 1
        assert (kind, event["actor"]) == (plain.kind, seat)
        if kind == "kakan":
            assert names([event["pai"]]) == [plain.tile] and len(event["consumed"]) == 3
        elif kind == "ankan":
            assert names(event["consumed"]) == sorted(plain.used)
        else:
            assert event["target"] == plain.target
            assert (names([event["pai"]]), names(event["consumed"])) == ([plain.tile], sorted(plain.used))
            assert NAME_OF_ID[meld.called] == event["pai"]
    # by who discarded, which tile was called and which copies: 21 chis, 34 kinds
    assert kinds == {
        "chi": 21 * 3 * 64,
        "pon": 34 * 36,
        "daiminkan": 136 * 3,
        "ankan": 136,
        "kakan": 34 * 4 * 3 * 3,
    }
