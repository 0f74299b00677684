"""Tenhou's walls, compared with a plain Mersenne Twister. Replaying compares them with all that real games show."""

import base64
import hashlib
import random
from collections.abc import Iterator, Sequence
from itertools import islice

import pytest

from annotate.records.tenhou.wall import SEED_PREFIX, walls_of_seed
from annotate.vocabulary import FOUR_PLAYERS


def seed_of(words: Sequence[int]) -> str:
    return SEED_PREFIX + base64.b64encode(b"".join(word.to_bytes(4, "little") for word in words)).decode()


def mersenne_twister(key: Sequence[int]) -> Iterator[int]:
    """MT19937 seeded by init_by_array, as its authors wrote it down."""
    state = [19650218]
    for i in range(1, 624):
        state.append((1812433253 * (state[-1] ^ state[-1] >> 30) + i) & 0xFFFFFFFF)
    i, j = 1, 0
    for _ in range(624):
        state[i] = ((state[i] ^ (state[i - 1] ^ state[i - 1] >> 30) * 1664525) + key[j] + j) & 0xFFFFFFFF
        i, j = i + 1, (j + 1) % len(key)
        if i == 624:
            state[0], i = state[623], 1
    for _ in range(623):
        state[i] = ((state[i] ^ (state[i - 1] ^ state[i - 1] >> 30) * 1566083941) - i) & 0xFFFFFFFF
        i += 1
        if i == 624:
            state[0], i = state[623], 1
    state[0] = 0x80000000
    while True:
        for k in range(624):
            y = (state[k] & 0x80000000) | (state[(k + 1) % 624] & 0x7FFFFFFF)
            state[k] = state[(k + 397) % 624] ^ y >> 1 ^ (0x9908B0DF if y & 1 else 0)
        for y in list(state):
            y ^= y >> 11
            y ^= y << 7 & 0x9D2C5680
            y ^= y << 15 & 0xEFC60000
            yield y ^ y >> 18


def plain_walls(key: Sequence[int]) -> Iterator[list[int]]:
    words = mersenne_twister(key)
    while True:
        block = b"".join(word.to_bytes(4, "little") for word in islice(words, 288))
        digest = b"".join(hashlib.sha512(block[128 * i : 128 * i + 128]).digest() for i in range(9))
        tiles = list(range(136))
        for i in range(135):
            j = i + int.from_bytes(digest[4 * i : 4 * i + 4], "little") % (136 - i)
            tiles[i], tiles[j] = tiles[j], tiles[i]
        yield tiles


def test_walls_agree_with_a_plain_mersenne_twister() -> None:
    rng = random.Random(0)
    for key in ([rng.getrandbits(32) for _ in range(624)], [0] + [1] * 623):
        for wall, plain in islice(zip(walls_of_seed(seed_of(key), FOUR_PLAYERS), plain_walls(key), strict=False), 12):
            assert wall[:122] == plain[:13:-1]
            assert wall[:121:-1] == [plain[place] for place in (1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12)]


@pytest.mark.parametrize(
    ("seed", "message"),
    [
        (SEED_PREFIX + "abc", "a damaged seed"),
        (SEED_PREFIX + "?" * 3328, "a damaged seed"),
        (seed_of([1] * 623), "a damaged seed: 2492 bytes, not 2496"),
    ],
)
def test_a_damaged_seed_is_refused(seed: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        next(walls_of_seed(seed, FOUR_PLAYERS))
    assert message in str(caught.value)
