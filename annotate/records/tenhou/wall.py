"""Computes the walls of a Tenhou game from the seed in its record (mt19937ar-sha512-n288).

The seed is the key of a Mersenne Twister, which yields 288 words for each round in turn. SHA-512 hashes them to 144
numbers, and these shuffle the 136 tiles. The resulting list is dealt from its end; its first 14 tiles are the dead
wall.
"""

import base64
import binascii
import hashlib
import random
import struct
from collections.abc import Iterator

from annotate.records.four_players import NUM_TILES

SEED_PREFIX = "mt19937ar-sha512-n288-base64,"

_SEED_BYTES = 4 * 624
_WORDS_PER_ROUND = 288
_BLOCK_BYTES = 128
_NUM_BLOCKS = 4 * _WORDS_PER_ROUND // _BLOCK_BYTES
_DIGESTS = struct.Struct(f"<{_NUM_BLOCKS * 64 // 4}I")

# Places in the shuffled list, in the order of `Round.wall`: the deal from the end, then the dead wall,
# last tile first: the tiles drawn after kans, then the indicators of dora and of hidden dora in turn.
_PLACES = (*range(NUM_TILES - 1, 13, -1), 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1)


def walls_of_seed(seed: str) -> Iterator[list[int]]:
    """Yields the wall of each round of a game, without end.

    Args:
        seed: the attribute of a record's <SHUFFLE>.

    Yields:
        136 physical tiles, 0 ... 135, in the order of the deal: 4 for each seat from the dealer on, three times, then
        one for each, then 70 to be drawn, then the dead wall: counted from its end, the four tiles drawn after kans,
        then the indicators of dora and hidden dora in turn.

    Raises:
        ValueError: the seed is of another kind (Tenhou has used others), or damaged.
    """
    if not seed.startswith(SEED_PREFIX):
        raise ValueError(f"a seed of another kind than {SEED_PREFIX.removesuffix(',')}: {seed[:40]!r}")
    try:
        key = base64.b64decode(seed.removeprefix(SEED_PREFIX), validate=True)
    except binascii.Error as error:
        raise ValueError(f"a damaged seed: {error}") from None
    if len(key) != _SEED_BYTES:
        raise ValueError(f"a damaged seed: {len(key)} bytes, not {_SEED_BYTES}")
    # Python seeds its own Mersenne Twister with the words of an integer, the lowest first. A key whose last word is 0
    # would be a word shorter; its probability is 2**-32.
    words = random.Random(int.from_bytes(key, "little"))
    while True:
        yield _shuffled(words.getrandbits(32 * _WORDS_PER_ROUND).to_bytes(4 * _WORDS_PER_ROUND, "little"))


def _shuffled(words: bytes) -> list[int]:
    digests = [
        hashlib.sha512(words[start : start + _BLOCK_BYTES]).digest() for start in range(0, len(words), _BLOCK_BYTES)
    ]
    numbers = _DIGESTS.unpack(b"".join(digests))
    tiles = list(range(NUM_TILES))
    for place, number in enumerate(numbers[: NUM_TILES - 1]):
        other = place + number % (NUM_TILES - place)
        tiles[place], tiles[other] = tiles[other], tiles[place]
    return [tiles[place] for place in _PLACES]
