"""The number of games that advance together follows from the free memory."""

from pathlib import Path

import pytest

from annotate.runtime.resources import free_memory
from annotate.vocabulary import FOUR_PLAYERS, THREE_PLAYERS
from kanachan.inference.policy import Policy
from kanachan.models.kv_cache import CachedNetwork
from kanachan.play.remote_network import ServerAddress
from kanachan.play.together import bytes_of_seat, room_for_caches, usual_together
from tests.support.tiny_weights import written


@pytest.mark.parametrize("use_bf16", [False, True])
def test_games_fill_the_memory_that_is_left_for_caches(use_bf16: bool, tmp_path: Path) -> None:
    weights = str(written(tmp_path))
    network = CachedNetwork(Policy.load(weights).network, FOUR_PLAYERS.max_progression, 1, use_bf16=use_bf16)
    empty = sum(layer.nbytes for layer in {id(layer): layer for layer in network._layers}.values())
    network.reserve(64)
    of_cache = sum(layer.nbytes for layer in network._layers) - len(network._layers) * empty
    assert of_cache == 64 * bytes_of_seat(weights, FOUR_PLAYERS, use_bf16=use_bf16)
    found = []
    for multiple in (8, 4, 3.9, 1):
        players, room = (weights, f"{weights}@0.7", "rule"), multiple * of_cache
        found.append(usual_together(players, FOUR_PLAYERS, use_bf16=use_bf16, room=room))
    assert found == [128, 64, 32, 16]
    int8 = usual_together([f"{weights}:int8"], FOUR_PLAYERS, use_bf16=use_bf16, room=8 * of_cache)
    assert int8 == (64 if use_bf16 else 128)  # its cache is always fp32
    with pytest.raises(ValueError, match="give fewer --processes"):
        usual_together([weights], FOUR_PLAYERS, use_bf16=use_bf16, room=0.9 * of_cache)


def test_without_networks_there_is_always_room() -> None:
    assert usual_together(["rule", "random"], THREE_PLAYERS, room=0) == 128
    assert usual_together(["rule", "mjai:program"], THREE_PLAYERS) == 2


def test_processes_share_the_memory_of_the_device(tmp_path: Path) -> None:
    servers = [ServerAddress("", b"", "cuda", free) for free in (8e9, 10e9)]
    assert room_for_caches("cuda", "auto", servers, 8) == pytest.approx(0.7 * 2e9)
    assert 0 < 4 * room_for_caches("cpu", "auto", [], 4) < free_memory() * 1.5
    values = {"memory.max": "3000", "memory.current": "2500", "memory.stat": "anon 1\ninactive_file 700\n"}
    for name, text in values.items():
        (tmp_path / name).write_text(text)
    assert free_memory(tmp_path) == 1200
