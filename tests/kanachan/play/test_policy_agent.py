"""The memory of policies that cache events. What they play is tested with the games."""

from pathlib import Path

import torch

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.inference.policy import Policy
from kanachan.models.kv_cache import CachedNetwork
from kanachan.play.agent_factory import agents_of
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


def test_players_compute_on_one_thread_and_leave_the_process_with_its_own(tmp_path: Path) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with agents_of({"a": str(written(tmp_path))}, 0, FOUR_PLAYERS, "cpu", use_bf16=False):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
