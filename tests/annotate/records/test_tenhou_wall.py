"""Tenhou's walls: those of two seeds, as a plain Mersenne Twister gave them. Replaying compares all with real games."""

import base64
import hashlib
import random
from collections.abc import Sequence
from itertools import islice

import pytest

from annotate.records.tenhou.wall import SEED_PREFIX, walls_of_seed
from annotate.vocabulary import FOUR_PLAYERS


def seed_of(words: Sequence[int]) -> str:
    return SEED_PREFIX + base64.b64encode(b"".join(word.to_bytes(4, "little") for word in words)).decode()


RANDOM = random.Random(0)
WALLS = [
    ([RANDOM.getrandbits(32) for _ in range(624)], "b0f99c30d85e015d347d51336a0ee5f73f2d879480674ce501e1583874f736a7"),
    ([0] + [1] * 623, "ac67930244588fcd6e3c5076a7f2f5a3b7eda58a592271b362879442c570d26a"),
]
"""words of a seed, and the hash of its first twelve walls"""


@pytest.mark.parametrize(("key", "expected"), WALLS, ids=["random", "constant"])
def test_a_seed_gives_its_walls(key: list[int], expected: str) -> None:
    walls = islice(walls_of_seed(seed_of(key), FOUR_PLAYERS), 12)
    assert hashlib.sha256(b"".join(map(bytes, walls))).hexdigest() == expected


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
