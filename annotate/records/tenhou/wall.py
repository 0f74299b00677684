"""Computes the walls of a Tenhou game from the seed in its record (mt19937ar-sha512-n288).

The seed is the key of a Mersenne Twister, which yields 288 words for each round in turn. SHA-512 hashes them to 144
numbers, which shuffle the 136 tiles (108 with three players). The resulting list is dealt from its end; its first tiles
are the dead wall.
"""

import base64
import binascii
import hashlib
import random
import struct
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from annotate.game.record import Event, seat_dealt_otherwise
from annotate.game.tiles import NAME_OF_ID, NUM_DEAD, unseen_tiles
from annotate.vocabulary import Vocabulary

SEED_PREFIX = "mt19937ar-sha512-n288-base64,"

_MOST_MISSING = 30
"""rounds that may be missing before another"""
_SEED_BYTES = 4 * 624
_WORDS_PER_ROUND = 288
_BLOCK_BYTES = 128
_NUM_BLOCKS = 4 * _WORDS_PER_ROUND // _BLOCK_BYTES
_DIGESTS = struct.Struct(f"<{_NUM_BLOCKS * 64 // 4}I")

# Places of the dead wall in the shuffled list, in the order of `Round.wall`. From the last tile backwards: the tiles
# drawn after kans, then alternating indicators of dora and hidden dora.
_DEAD_PLACES = (12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1)


def walls_of_seed(seed: str, vocabulary: Vocabulary) -> Iterator[list[int]]:
    """Yields the wall of each round of a game, without end, from the seed of a record's <SHUFFLE>, which starts with
    SEED_PREFIX: physical tiles in the order of `Round.wall`. Raises ValueError if the seed is damaged."""
    try:
        key = base64.b64decode(seed.removeprefix(SEED_PREFIX), validate=True)
    except binascii.Error as error:
        raise ValueError(f"a damaged seed: {error}") from None
    if len(key) != _SEED_BYTES:
        raise ValueError(f"a damaged seed: {len(key)} bytes, not {_SEED_BYTES}")
    # Python seeds its own Mersenne Twister with the words of an integer, the lowest first. A key whose last word is 0
    # would be a word shorter; its probability is 2**-32.
    words = random.Random(int.from_bytes(key, "little"))
    tiles = sorted(tile for ids in unseen_tiles(vocabulary) for tile in ids)
    places = (*range(vocabulary.num_tile_ids - 1, NUM_DEAD - 1, -1), *_DEAD_PLACES)
    while True:
        shuffled = list(tiles)
        _shuffle(shuffled, words.getrandbits(32 * _WORDS_PER_ROUND).to_bytes(4 * _WORDS_PER_ROUND, "little"))
        yield [shuffled[place] for place in places]


class SeedWalls:
    """The walls of a seed, as names of tiles, for rounds of which some may be missing or repeated."""

    def __init__(self, seed: str, vocabulary: Vocabulary) -> None:
        self._ahead: Iterator[tuple[str, ...]] = (
            tuple(NAME_OF_ID[tile] for tile in wall) for wall in walls_of_seed(seed, vocabulary)
        )

    def of_round(self, start: Event, *, has_gaps: bool) -> tuple[str, ...] | None:
        """Returns the next wall that deals the hands of start_kyoku. If none of the next ones does, returns the very
        next one, which the replay refuses, or None if parts of the record were lost (`has_gaps`). Raises ValueError the
        first time if the seed is damaged; then there are no walls."""
        others = list[tuple[str, ...]]()
        for wall in islice(self._ahead, _MOST_MISSING + 1):
            if seat_dealt_otherwise(wall, start) is None:
                return wall
            others.append(wall)
        self._ahead = chain(others, self._ahead)
        return None if has_gaps or not others else others[0]


def with_indicators(wall: Sequence[str], number: int, vocabulary: Vocabulary) -> tuple[str, ...]:
    """Returns a wall of `walls_of_seed` with the first `number` dora indicators in their places.

    With three players, the fourth and fifth indicators lie where the last tiles are drawn in a round with fewer kans.
    There, an indicator and its hidden one are in the order of the pairs of the dead wall, not in the order of draws.
    """
    ordered = list(wall)
    for place in range(vocabulary.num_rinshan, vocabulary.num_rinshan + 2 * number, 2):
        if place >= NUM_DEAD:
            ordered[-1 - place], ordered[-2 - place] = ordered[-2 - place], ordered[-1 - place]
    return tuple(ordered)


def _shuffle(tiles: list[int], words: bytes) -> None:
    digests = [
        hashlib.sha512(words[start : start + _BLOCK_BYTES]).digest() for start in range(0, len(words), _BLOCK_BYTES)
    ]
    numbers = _DIGESTS.unpack(b"".join(digests))
    for place, number in enumerate(numbers[: len(tiles) - 1]):
        other = place + number % (len(tiles) - place)
        tiles[place], tiles[other] = tiles[other], tiles[place]
