"""Networks with cached events: the memory of the cache, and devices other than the CPU. The tests of play compare their
outputs with the network itself."""

from pathlib import Path
from typing import Any
from weakref import ref

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.inference.policy import Policy
from kanachan.models import kv_cache
from kanachan.models.kv_cache import CachedNetwork
from kanachan.play.batch_shapes import CachedRow, Shape, batches_of_shape
from tests.support.random_annotations import random_annotations
from tests.support.tiny_weights import written

ROWS, SLOTS = 4, 9
SHAPE = Shape(112, 112, 19, 64, ROWS)
SIZES = FOUR_PLAYERS.max_progression, ROWS * (1 + FOUR_PLAYERS.num_seats + SHAPE.tiles + SHAPE.new)


@torch.inference_mode()
def test_everything_is_computed_on_the_device_of_the_network(tmp_path: Path) -> None:
    """On `meta`, whose tensors have no contents, torch refuses tensors of another device."""
    policy = Policy.load(written(tmp_path))
    observations = [annotation.observation for annotation in random_annotations(ROWS, seed=4)]
    rows = [CachedRow(observation, slot, 0) for slot, observation in enumerate(observations, start=1)]
    (batch,) = batches_of_shape(rows, SHAPE, policy)
    cached = CachedNetwork(policy.network.to("meta"), *SIZES)
    for num_slots in (SLOTS, 2 * SLOTS):
        cached.reserve(num_slots)
        output = cached.eval()(batch.to("meta"))
        assert output.candidate_BAK.device.type == "meta" and output.candidate_BAK.shape == (ROWS, SHAPE.candidates, 1)


class CountsLiving(TorchDispatchMode):
    """Counts how many of some tensors still exist whenever a tensor is padded."""

    def __init__(self, tensors: list[torch.Tensor]) -> None:
        super().__init__()
        self._references = [ref(tensor) for tensor in tensors]
        self.counts: list[int] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten.constant_pad_nd.default:
            self.counts.append(sum(reference() is not None for reference in self._references))
        return func(*args, **(kwargs or {}))


def test_a_cache_that_a_gpu_cannot_hold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cached = CachedNetwork(Policy.load(written(tmp_path)).network, *SIZES)
    held = (1 + len(cached._layers)) * (SIZES[1] + (1 + 100) * SIZES[0]) * cached._layers[0][0].nbytes
    monkeypatch.setattr(kv_cache, "free_bytes", lambda device: held)
    cached.reserve(1 + 100)
    with pytest.raises(
        ValueError, match=r"memory for the cached events of 10\d seats, but games of 200 seats .* --together"
    ):
        CachedNetwork(Policy.load(written(tmp_path)).network, *SIZES).reserve(1 + 200)


def test_a_growing_cache_is_never_in_memory_twice(tmp_path: Path) -> None:
    cached = CachedNetwork(Policy.load(written(tmp_path)).network, *SIZES)
    cached.reserve(SLOTS)
    with CountsLiving(cached._layers) as living:
        cached.reserve(2 * SLOTS)
    num_layers = len(cached._layers)
    assert num_layers > 1 and living.counts == list(range(num_layers, 0, -1))
