"""Sets of games in a card: small, exact for the games in them, and of a stated rate of false positives."""

import json

import numpy as np
import pytest
from numpy.typing import NDArray

from kanachan.data.game_keys import BITS, contains, decode, encode, truncated, union


def games(number: int, seed: int = 0) -> NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(0, 2**64, number, np.uint64)


@pytest.mark.parametrize("number", [0, 1, 2, 1000])
def test_a_set_is_read_as_it_was_written(number: int) -> None:
    key_X = truncated(games(number))
    assert decode(json.loads(json.dumps(encode(key_X))), "card").tolist() == sorted({*key_X.tolist()})


def test_the_least_and_the_greatest_keys_are_read_as_they_were_written() -> None:
    key_X = np.array([0, 1, 127, 128, 2**BITS - 1], np.uint64)
    assert decode(encode(key_X), "card").tolist() == key_X.tolist()


def test_every_game_of_a_set_is_found_and_others_as_seldom_as_is_stated() -> None:
    key_G = union([truncated(games(100_000, seed)) for seed in range(3)])
    assert contains(key_G, games(100_000, 2)).all()
    found = int(contains(key_G, games(3_000_000, 9)).sum())
    expected = 3_000_000 * len(key_G) / 2**BITS
    assert 200 < expected < 220 and abs(found - expected) < 5 * expected**0.5


@pytest.mark.parametrize("change", [{"games": 3}, {"bits": 16}, {"keys": "abc"}, {"keys": None}])
def test_a_damaged_set_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="card: the keys of the games are damaged"):
        decode(encode(truncated(games(2))) | change, "card")
