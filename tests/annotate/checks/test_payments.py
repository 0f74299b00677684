"""The ends of a round that its payments allow."""

import pytest

from annotate.checks.payments import possible_ends
from annotate.checks.rules import OF_FOUR, OF_THREE

ALL_ABORTED, ALL_TENPAI = (18, 18, 18, 18), (17, 17, 17, 17)


# computed by hand: the deltas by seat, the dealer, honba, deposits when the round began, seats in riichi
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
        pytest.param((0, 8100, -8100, 0), 0, 0, 0, (), set(), id="no hand has this value"),
        pytest.param((0, 9000, -8000, 0), 0, 0, 2, (), set(), id="one deposit too few"),
    ],
)
def test_deltas_determine_how_a_round_ended(
    deltas: tuple[int, ...], dealer: int, honba: int, deposits: int, riichi: tuple[int, ...], ends: set[tuple[int, ...]]
) -> None:
    paid = tuple(seat in riichi for seat in range(4))

    assert {*possible_ends(deltas, dealer, honba, deposits, paid, OF_FOUR)} == ends


def test_a_liable_seat_pays_half_of_a_yakuman() -> None:
    ends = possible_ends((-16000, 0, 32000, -16000), 0, 0, 0, (False,) * 4, OF_FOUR)

    assert {(8, 11, 5, 14), (13, 10, 4, 9)} <= {*ends}  # either discarded, the other is liable


# computed by hand, of three players: as above
@pytest.mark.parametrize(
    ("deltas", "dealer", "honba", "riichi", "ends"),
    [
        pytest.param((-4100, 6200, -2100), 0, 1, (), {(1, 0, 2)}, id="a child's mangan by tsumo"),
        pytest.param((8200, -4100, -4100), 0, 1, (), {(0, 2, 1)}, id="a dealer's mangan by tsumo"),
        pytest.param((0, 8200, -8200), 0, 1, (), {(7, 3, 6)}, id="a ron with a counter"),
        pytest.param((2000, -1000, -1000), 1, 0, (), {(10, 9, 9)}, id="one of three is tenpai"),
        pytest.param((1000, -2000, 1000), 1, 0, (), {(10, 9, 10), (3, 5, 4)}, id="two are tenpai, or two ron"),
        pytest.param((-4000, 6000, -2000), 0, 2, (), {(1, 0, 2)}, id="a mangan of discards"),
        pytest.param((-4100, 8300, -2100), 0, 1, (), set(), id="paid as if there were a fourth seat"),
    ],
)
def test_deltas_of_three_players_determine_how_a_round_ended(
    deltas: tuple[int, ...], dealer: int, honba: int, riichi: tuple[int, ...], ends: set[tuple[int, ...]]
) -> None:
    paid = tuple(seat in riichi for seat in range(3))

    assert {*possible_ends(deltas, dealer, honba, 0, paid, OF_THREE)} == ends
