"""The specification's names of tiles, as a review uses them: 0 is a red five, 1z ... 7z are E S W N P F C."""

from collections.abc import Iterable

from annotate.game.tiles import TILE_OF_MJAI
from annotate.vocabulary import TILE_NAMES, tile34_of

NORTH = "4z"
"""the tile that is set aside in games of three players"""


def name_of(mjai: str) -> str:
    """Returns the specification's name of a tile."""
    return TILE_NAMES[TILE_OF_MJAI[mjai]]


def kind_of_tile(name: str) -> int:
    """Returns the kind of a tile, 0 ... 33; a red five counts as an ordinary five."""
    return tile34_of(TILE_NAMES.index(name))


def sorted_tiles(names: Iterable[str]) -> list[str]:
    """Returns tiles in the order of a hand; a red five comes just before the ordinary fives."""
    return sorted(names, key=lambda name: (name[1], name[0].replace("0", "4~")))
