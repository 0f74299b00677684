"""The memory of policies that cache events. What they play is tested with the games."""

from pathlib import Path

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.inference.policy import Policy
from kanachan.models.kv_cache import CachedNetwork
from kanachan.play.policy_agent import CachedPolicy
from tests.support.random_annotations import random_annotations
from tests.support.tiny_weights import written

SEATS = 128
"""a power of two, as of 32 games: so many seats double the cache as often as it must be doubled"""


def test_a_cache_has_one_slot_for_each_seat_and_one_for_padding(tmp_path: Path) -> None:
    cached = CachedPolicy(Policy.load(written(tmp_path)))
    network = cached._network
    assert isinstance(network, CachedNetwork)
    without_seats = len(network._layers[0])
    annotations = random_annotations(SEATS, seed=1)
    cached.evaluate([annotation.observation for annotation in annotations], range(SEATS))
    num_slots = (len(network._layers[0]) - without_seats) / FOUR_PLAYERS.max_progression
    assert num_slots == 1 + SEATS
