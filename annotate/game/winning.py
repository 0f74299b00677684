"""The value of a winning hand, as the engine computed it in a replayed round."""

from dataclasses import dataclass

from annotate.game.engine.hand_evaluator import points_of_win
from annotate.game.engine.table import Table

YAKUMAN_HAN = 13
_DORA, _RED, _URA, _NORTH = 31, 32, 33, 34
_FIRST_YAKUMAN = 35
_DOUBLE_YAKUMAN = range(47, 51)
# (closed han, open han) by the engine's number of the yaku
_HAN = {number: (1, 1) for number in (*range(1, 15), 30)}
_HAN |= {number: (2, 1) for number in (15, 16, 17)} | {number: (2, 2) for number in range(18, 26)}
_HAN |= {26: (3, 2), 27: (3, 2), 28: (3, 3), 29: (6, 5)}


@dataclass(frozen=True, slots=True)
class Yaku:
    """A yaku or a kind of dora of a hand."""

    number: int
    """the engine's number of the yaku"""
    name: str
    name_ja: str


@dataclass(frozen=True, slots=True)
class Win:
    seat: int
    yaku: tuple[Yaku, ...]
    han: int
    """total han; 13 for each yakuman"""
    fu: int
    is_yakuman: bool
    """whether the hand has a yakuman, instead of 13 or more han of other yaku"""

    @property
    def num_yakuman(self) -> int:
        return self.han // YAKUMAN_HAN if self.is_yakuman else 0

    def points(self, *, is_dealer: bool, is_tsumo: bool, num_seats: int) -> int:
        """Returns the points that the winner gets for the hand, without honba and deposits."""
        han = self.han if self.is_yakuman else min(self.han, YAKUMAN_HAN)
        return points_of_win(han, self.fu, is_dealer, is_tsumo, num_seats)

    def han_of_yaku(self, *, is_open: bool, dora: int, red: int, norths: int) -> list[int]:
        """Returns the han of each yaku. `is_open`: the hand has a meld that is not a closed kan; `dora`: number of its
        tiles that are dora by the indicators on the table; `red`: red fives; `norths`: Norths set aside."""
        known = {_DORA: dora, _RED: red, _NORTH: norths}
        han = []
        for yaku in self.yaku:
            if yaku.number >= _FIRST_YAKUMAN:
                is_double = yaku.number in _DOUBLE_YAKUMAN and self.han > YAKUMAN_HAN * len(self.yaku)
                han.append(YAKUMAN_HAN * (1 + is_double))
            else:
                han.append(_HAN[yaku.number][is_open] if yaku.number in _HAN else known.get(yaku.number, 0))
        if any(yaku.number == _URA for yaku in self.yaku):
            han[[yaku.number for yaku in self.yaku].index(_URA)] = self.han - sum(han)
        return han


def wins_of(table: Table) -> list[Win]:
    """Returns the wins of a table's finished round, in the order of seats."""
    return [
        Win(
            seat,
            tuple(Yaku(yaku.id, yaku.name_en, yaku.name) for yaku in result.yaku_list()),
            result.han,
            result.fu,
            result.yakuman,
        )
        for seat, result in sorted(table.win_results.items())
    ]
