"""A network with int8 matrices, computed by ONNX Runtime on one thread of a CPU.

The scales of the matrices' inputs are computed once, when the network is made, from decisions of simulated games. The
effect of int8 (`Divergence`) is measured at the same time, on other decisions.

Shapes: as in `kanachan.models.kv_cache`, and G slots, L layers with cached events, W width of a head.
"""

import copy
from collections.abc import Iterable, Iterator
from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from annotate.vocabulary import Vocabulary
from kanachan.data.batch import Batch
from kanachan.extras import require_extra
from kanachan.inference.policy import Policy
from kanachan.inference.simulated_decisions import simulated_decisions
from kanachan.models.kv_cache import IncrementalBatch
from kanachan.models.transformer import Network, Output

if TYPE_CHECKING:
    from kanachan.inference.int8_graph import Ranges

_CALIBRATING_SEED, _CHECKING_SEED = 1, 2
_BATCH = 64
"""decisions at once when ranges are measured; another number would change their last digits, and so all later games"""
_MASKED = -10_000.0
_MOST_SHAPES = 32
"""shapes whose masks are kept: play has few shapes; kanachan-bot, whose batches have no fixed shapes, has a thousand"""
BLOCK = 16
"""cached events of a head that are read together"""
_MOST_NATS = 0.02
_PACKAGES = ("onnx", "onnxruntime")


class Divergence(NamedTuple):
    """The difference between the policies of an int8 network and of the network from which it was made."""

    nats: float
    """mean Kullback-Leibler divergence"""
    same_best: float
    """share of the decisions with the same most probable action"""
    decisions: int


class Int8Network(Network):
    """A network whose encoder and decoder are an ONNX graph, with fp32 matrices if `ranges` is None. It caches events
    like `CachedNetwork`, and also computes batches without cached events."""

    def __init__(self, network: Network, vocabulary: Vocabulary, ranges: "Ranges | None") -> None:
        from onnxruntime import InferenceSession, SessionOptions

        from kanachan.inference.int8_graph import build_graph, num_heads

        nn.Module.__init__(self)
        self._heads = num_heads(network)
        self._head_width = network.head.in_features // self._heads
        self._num_pairs = len(network.encoder.blocks) + len(network.decoder.blocks)
        self._num_seats = vocabulary.num_seats
        self._blocks_of_head = -(-vocabulary.max_progression // BLOCK)
        self._last_position = vocabulary.max_progression - 1
        self._outputs = ["scores", "summary"] if network.summary_head is not None else ["scores"]
        options = SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        graph = build_graph(network, ranges, self._blocks_of_head)
        self._session = InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        self._cache = self._empty_cache(1)

    def with_own_cache(self) -> "Int8Network":
        """Returns a network that shares everything except the cached events."""
        copied = copy.copy(self)
        copied._cache = self._empty_cache(1)
        return copied

    def reserve(self, num_slots: int) -> None:
        """Allocates the cache of `num_slots` slots; cached values are preserved. Slot 0 is for padding."""
        before, self._cache = self._cache, self._empty_cache(num_slots)
        self._cache[: len(before)] = before

    def _empty_cache(self, num_slots: int) -> NDArray[np.float32]:
        """Returns [G, 2 L H, E, W]: for each layer the keys, then the values, of each head."""
        num_heads = 2 * self._num_pairs * self._heads
        return np.zeros((num_slots, num_heads, self._blocks_of_head * BLOCK, self._head_width), np.float32)

    def forward(self, batch: Batch, *, with_auxiliary: bool = False) -> Output:
        assert not with_auxiliary
        is_cached = isinstance(batch, IncrementalBatch)
        incremental = batch if isinstance(batch, IncrementalBatch) else _without_cache(batch)
        names = [*self._outputs, "new_keys_and_values"] if is_cached else self._outputs
        torch.set_flush_denormal(True)  # makes masked weights exactly zero and fast; the session runs in this thread
        try:
            score_BAK, *others = self._session.run(names, self._inputs(incremental))
        finally:
            torch.set_flush_denormal(False)
        if is_cached:
            self._store(incremental, others.pop())
        summary_BK = torch.from_numpy(others[0])[:, 0] if others else torch.empty(len(batch), 0)
        return Output(torch.from_numpy(score_BAK), summary_BK, batch.candidate_BA != 0)

    def _inputs(self, batch: IncrementalBatch) -> dict[str, NDArray[np.generic]]:
        start_B, seen_B, tile_BT = batch.start_B.numpy(), batch.seen_B.numpy(), batch.tile_BT.numpy()
        num_rows, num_new = batch.event_GE.shape
        num_own = 1 + self._num_seats + tile_BT.shape[1]
        num_blocks = -(-batch.num_seen // BLOCK)
        first_own, place_N = num_blocks * BLOCK, np.arange(num_new)
        # keys of cached events come first, then of own tokens, then of new events
        is_seen_BV = np.ones((num_rows, first_own + num_own + num_new), bool)
        is_seen_BV[:, :first_own] = np.arange(first_own) < start_B[:, None]
        is_seen_BV[:, first_own + 1 + self._num_seats : first_own + num_own] = tile_BT != 0
        is_seen_BV[:, first_own + num_own :] = place_N < (seen_B - start_B)[:, None]
        return {
            "table": batch.table_BS.numpy(),
            "standing": batch.standing_BP2.numpy(),
            "tiles": tile_BT,
            "numbers": batch.numeric_BN.numpy(),
            "events": batch.event_GE.numpy(),
            "positions": np.minimum(start_B[:, None] + place_N, self._last_position),
            "candidates": batch.candidate_BA.numpy(),
            "mask": _additive(is_seen_BV)[:, None, None],
            "mask_of_rows": _mask_of_rows(first_own, num_own, num_new),
            "mask_of_candidates": _additive(batch.candidate_BA.numpy() != 0)[:, None, None],
            "first_new": np.array([num_own]),
            "blocks": self._blocks(batch.slot_B.numpy(), start_B, num_blocks),
            "cached_shape": np.array([num_rows, self._heads, first_own, self._head_width]),
            "cache": self._cache.reshape(-1, BLOCK * self._head_width),
        }

    def _blocks(self, slot_B: NDArray[np.int64], start_B: NDArray[np.int64], num_blocks: int) -> NDArray[np.int64]:
        """Returns the blocks of the first layer's keys, [C]; slot 0 stands for blocks without cached events."""
        place_C = np.arange(num_blocks)
        block_HC = np.arange(self._heads)[:, None] * self._blocks_of_head + place_C
        first_B = slot_B * (self._cache.shape[1] * self._blocks_of_head)
        is_read_BC = place_C * BLOCK < start_B[:, None]
        return np.where(is_read_BC[:, None], first_B[:, None, None] + block_HC, 0).reshape(-1)

    def _store(self, batch: IncrementalBatch, new: NDArray[np.float32]) -> None:
        """Caches keys and values of the new events [B, N, 2 L D]."""
        start_B, seen_B, slot_B = batch.start_B.numpy(), batch.seen_B.numpy(), batch.slot_B.numpy()
        is_stored_BN = (np.arange(new.shape[1]) < (seen_B - start_B)[:, None]) & (slot_B != 0)[:, None]
        row_R, place_R = np.nonzero(is_stored_BN)
        new_RXW = new.reshape(*new.shape[:2], -1, self._head_width)[row_R, place_R]
        self._cache[slot_B[row_R], :, start_B[row_R] + place_R] = new_RXW


@lru_cache(_MOST_SHAPES)
def _mask_of_rows(first_own: int, num_own: int, num_new: int) -> NDArray[np.float32]:
    """Returns the part of the mask that depends only on the shape, [Q, V]: an event sees itself and earlier events."""
    is_seen_QV = np.ones((num_own + num_new, first_own + num_own + num_new), bool)
    is_seen_QV[num_own:, first_own : first_own + num_own] = False
    is_seen_QV[num_own:, first_own + num_own :] = np.tri(num_new, dtype=bool)
    return _additive(is_seen_QV)


def _additive(is_seen: NDArray[np.bool_]) -> NDArray[np.float32]:
    return np.where(is_seen, np.float32(0), np.float32(_MASKED))


def _without_cache(batch: Batch) -> IncrementalBatch:
    """Returns a batch whose events are all new."""
    assert batch.varlen is None
    event_BE = batch.event_GE.index_select(0, batch.group_B)
    no_B = torch.zeros_like(batch.seen_B)
    changed = {
        "event_GE": event_BE.where(torch.arange(event_BE.shape[1]) < batch.seen_B[:, None], 0),
        "group_B": torch.arange(len(batch)),
    }
    values = {field.name: getattr(batch, field.name) for field in fields(batch)}
    return IncrementalBatch(**values | changed, slot_B=no_B, start_B=no_B, num_seen=1)


@torch.inference_mode()
def _measured_ranges(policy: Policy) -> "Ranges":
    """Computes the ranges of the inputs of all linear layers on the decisions of a simulated game."""
    ranges: dict[nn.Module, tuple[float, float]] = {}

    def note(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        low, high = ranges.get(module, (0.0, 0.0))
        ranges[module] = min(low, float(inputs[0].min())), max(high, float(inputs[0].max()))

    hooks = [
        module.register_forward_pre_hook(note)
        for part in (policy.network.encoder, policy.network.decoder)
        for module in part.modules()
        if isinstance(module, nn.Linear)
    ]
    for batch in _simulated(policy, _CALIBRATING_SEED):
        policy.network(batch)
    for hook in hooks:
        hook.remove()
    return ranges


def with_int8(policy: Policy, name: str) -> Policy:
    """Returns a policy with int8 matrices, made from a policy on the CPU. Raises ValueError, which starts with the name
    of the weights, if a package is missing or the weights are not of imitation."""
    require_extra("onnx", _PACKAGES, f"{name}: int8")
    if "probabilities" not in policy.objective.prediction_fields:
        raise ValueError(
            f"{name}: int8 is for weights of imitation, which have probabilities, not of {policy.stage}: values of "
            "actions are too close to each other"
        )
    return policy.with_network(Int8Network(policy.network, policy.vocabulary, _measured_ranges(policy)))


@torch.inference_mode()
def divergence(policy: Policy, exact: Policy, batches: Iterable[Batch]) -> Divergence:
    """Computes the divergence of a policy from an exact one."""
    nats, same = [], []
    for batch in batches:
        log_BA, exact_log_BA = (
            player.objective.score(player.output(batch))
            .float()
            .masked_fill(batch.candidate_BA == 0, _MASKED)
            .log_softmax(1)
            for player in (policy, exact)
        )
        nats.append((exact_log_BA.exp() * (exact_log_BA - log_BA)).sum(dim=1))
        same.append(log_BA.argmax(dim=1) == exact_log_BA.argmax(dim=1))
    nats_B, same_B = torch.cat(nats), torch.cat(same)
    return Divergence(float(nats_B.mean()), float(same_B.float().mean()), len(nats_B))


def checked_divergence(policy: Policy, exact: Policy, name: str) -> Divergence:
    """Computes the divergence of an int8 policy from the exact one on the decisions of a simulated game. Raises
    ValueError if it is too large."""
    from_exact = divergence(policy, exact, _simulated(exact, _CHECKING_SEED))
    if not from_exact.nats <= _MOST_NATS:
        raise ValueError(
            f"{name}: int8 matrices change the policy by {from_exact.nats:.2g} nats, more than {_MOST_NATS:g}: it "
            "plays only without :int8"
        )
    return from_exact


def _simulated(policy: Policy, seed: int) -> Iterator[Batch]:
    columns = simulated_decisions(policy.vocabulary, seed)
    for first in range(0, len(columns), _BATCH):
        yield policy.batch(columns.rows(first, first + _BATCH))
