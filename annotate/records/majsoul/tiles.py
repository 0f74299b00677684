"""Checks Mahjong Soul's names of tiles and numbers of seats and converts them to mjai's."""

from collections.abc import Iterable
from typing import Any

from annotate.game.tiles import MJAI_NAMES
from annotate.vocabulary import TILE_NAMES

_MJAI = dict(zip(TILE_NAMES, MJAI_NAMES, strict=True))


def tile_of(name: str) -> str:
    """Returns mjai's name of a tile; raises ValueError if there is no such tile."""
    if name not in _MJAI:
        raise ValueError(f"{ascii(name)[:40]} is not a tile")
    return _MJAI[name]


def tiles_of(names: Iterable[str]) -> list[str]:
    return [tile_of(name) for name in names]


def kind_of(name: str) -> str:
    """Returns mjai's name of a tile, that of the ordinary one for a red five."""
    return name.removesuffix("r")


def in_range(number: Any, name: str, high: int) -> int:
    if not 0 <= number <= high:
        raise ValueError(f"{name} must be in 0 ... {high}, not {number}")
    return number
