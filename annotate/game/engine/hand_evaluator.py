"""Shanten, tenpai and the value of a win, by riichienv. For all other rules see `annotate.game.engine.table`."""

from collections.abc import Sequence

from riichienv import (
    HandEvaluator,
    HandEvaluator3P,
    Meld,
    MeldType,
    calculate_score,
    calculate_shanten,
    calculate_shanten_3p,
)

from annotate.game.tiles import IDS_OF_TILE, TILE_OF_MJAI

_EVALUATORS = {4: HandEvaluator, 3: HandEvaluator3P}
_SHANTEN = {4: calculate_shanten, 3: calculate_shanten_3p}
_MELD_TYPES = {kind.lower(): getattr(MeldType, kind) for kind in ("Chi", "Pon", "Daiminkan", "Ankan", "Kakan")}


def shanten(hand: Sequence[int], num_seats: int) -> int:
    """Returns the shanten of concealed tiles (physical ids, 3n + 1 or 3n + 2): 0 is tenpai, -1 a complete hand."""
    return _SHANTEN[num_seats](list(hand))


def is_tenpai(hand: Sequence[str], melds: Sequence[tuple[str, Sequence[str]]], num_seats: int) -> bool:
    """Returns whether a hand waits for a tile that it does not hold four times. `hand`: concealed tiles (3n + 1, mjai's
    names); `melds`: kind and tiles of each meld."""
    pool = {name: list(IDS_OF_TILE[tile]) for name, tile in TILE_OF_MJAI.items()}
    engine_melds = [Meld(_MELD_TYPES[kind], [pool[name].pop() for name in names], True) for kind, names in melds]
    return _EVALUATORS[num_seats]([pool[name].pop() for name in hand], engine_melds).is_tenpai()


def points_of_win(han: int, fu: int, is_dealer: bool, is_tsumo: bool, num_seats: int) -> int:
    """Returns the points that a winner gets for a hand, without honba and deposits."""
    return int(calculate_score(han, fu, is_dealer, is_tsumo, 0, num_seats).total)
