"""The mjai names of tiles, and the physical tiles: 136 in a wall of four players."""

from annotate.vocabulary import FIRST_HONOUR, NUM_TILES, RANKS_PER_SUIT, Vocabulary, tile34_of, tile_of

NUM_TILE_IDS = 136
RED_IDS = {16: 0, 52: 10, 88: 20}
"""the red fives among the physical tiles"""
TILE_OF_ID = tuple(RED_IDS.get(i, tile_of(i // 4)) for i in range(NUM_TILE_IDS))
"""the specification's tile 0 ... 36 of each physical tile 0 ... 135, as the engine numbers them"""
IDS_OF_TILE = tuple(tuple(i for i in range(NUM_TILE_IDS) if TILE_OF_ID[i] == tile) for tile in range(NUM_TILES))

MJAI_NAMES = (*(f"{number or 5}{suit}{'' if number else 'r'}" for suit in "mps" for number in range(10)), *"ESWNPFC")
NAME_OF_ID = tuple(MJAI_NAMES[tile] for tile in TILE_OF_ID)
"""mjai's name of each physical tile"""
TILE_OF_MJAI = {name: tile for tile, name in enumerate(MJAI_NAMES)}
_FIRST_DRAGON = FIRST_HONOUR + 4
WINDS = {"E": 0, "S": 1, "W": 2, "N": 3}
WIND_NAMES = ("East", "South", "West", "North")

# Walls are in the order of the deal. From their end backwards, they have the rinshan tiles, then alternating dora and
# ura indicators.
NUM_DEAD = 14
"""tiles that are left after the last draw"""
NUM_INDICATORS = 5


def unseen_tiles(vocabulary: Vocabulary) -> list[list[int]]:
    """Returns the physical tiles of a wall by tile 0 ... 36, as new lists for each caller."""
    return [list(ids) if tile34_of(tile) in vocabulary.kinds else [] for tile, ids in enumerate(IDS_OF_TILE)]


def dora_of(indicator: int, vocabulary: Vocabulary) -> int:
    """Returns the kind of dora, 0 ... 33, of an indicator: the next kind of its suit, the winds or the dragons."""
    alike = [kind for kind in vocabulary.kinds if _group(kind) == _group(indicator)]
    return alike[(alike.index(indicator) + 1) % len(alike)]


def _group(kind: int) -> int:
    """Returns the suit of a kind; winds and dragons count as two more suits."""
    return kind // RANKS_PER_SUIT if kind < FIRST_HONOUR else FIRST_HONOUR + (kind >= _FIRST_DRAGON)
