"""Sets of games in a card: small, exact for the games in them, and with a stated rate of false positives."""

import json

import numpy as np
import pytest
from numpy.typing import NDArray

from kanachan.models.learned_games import BITS, GAMES_KEY, LearnedGames, keys_of_games


def games(number: int, seed: int = 0) -> NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(0, 2**64, number, np.uint64)


LEAST_AND_GREATEST = np.array([0, 1, 127, 128, 2**BITS - 1], np.uint64)


@pytest.mark.parametrize("key_G", [LEAST_AND_GREATEST, *(keys_of_games([games(number)]) for number in (0, 1, 2, 1000))])
def test_a_set_is_read_as_it_was_written(key_G: NDArray[np.uint64]) -> None:
    entry = json.loads(json.dumps(LearnedGames(key_G, is_complete=True).encode()))
    assert LearnedGames.of_card({GAMES_KEY: entry}, "card").key_G.tolist() == key_G.tolist()


def test_every_game_of_a_set_is_found_and_false_positives_have_the_stated_rate() -> None:
    learned = LearnedGames(keys_of_games([games(100_000, seed) for seed in range(3)]), is_complete=True)
    assert learned.has(games(100_000, 2)).all()
    found = int(learned.has(games(3_000_000, 9)).sum())
    expected = 3_000_000 * len(learned.key_G) / 2**BITS
    assert 200 < expected < 220 and abs(found - expected) < 5 * expected**0.5


@pytest.mark.parametrize("change", [{"games": 3}, {"bits": 16}, {"keys": "abc"}, {"keys": None}])
def test_a_damaged_set_is_refused(change: dict[str, object]) -> None:
    entry = LearnedGames(keys_of_games([games(2)]), is_complete=True).encode() | change
    with pytest.raises(ValueError, match="card: the keys of the games are damaged"):
        LearnedGames.of_card({GAMES_KEY: entry}, "card")
