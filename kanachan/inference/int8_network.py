"""A network with int8 matrices, computed by ONNX Runtime on one thread of a CPU.

Scales of what the matrices multiply are computed once, when the network is made, from decisions of simulated games.
Heads compute in fp32. What int8 changes is measured at the same time, on other decisions (`Divergence`).

Shapes: as in `kanachan.models.kv_cache`, and G seats or games with cached events, W width of a head.
"""

import copy
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from annotate.simulation.simulate import simulate_game
from annotate.vocabulary import Vocabulary
from kanachan.data.batch import Batch
from kanachan.data.columns import columns_of_annotations
from kanachan.inference.policy import NetworkPolicy
from kanachan.models.kv_cache import IncrementalBatch
from kanachan.models.transformer import Network, Output

if TYPE_CHECKING:
    from kanachan.inference.int8_graph import Ranges

_CALIBRATING_SEED, _CHECKING_SEED = 1, 2
_MOST_DECISIONS = 512  # of a game
_BATCH = 64
_MASKED = -10_000.0
BLOCK = 16
"""cached events of a head that are read together"""
_MOST_NATS = 0.02
_PACKAGES = ("onnx", "onnxruntime")


class Divergence(NamedTuple):
    """The difference between the policy of an int8 network and that of the network that it was made of."""

    nats: float
    """mean Kullback-Leibler divergence"""
    same_best: float
    """share of the decisions with the same most probable action"""
    decisions: int


class Int8Network(Network):
    """A network whose encoder and decoder are an ONNX graph; it caches events as `CachedNetwork` does, and computes
    batches without cached events as well.

    Args:
        network: shares its heads.
        ranges: of the inputs of its linear layers; None keeps fp32 matrices.
    """

    def __init__(self, network: Network, vocabulary: Vocabulary, ranges: "Ranges | None") -> None:
        from onnxruntime import InferenceSession, SessionOptions

        from kanachan.inference.int8_graph import build_graph, num_heads

        nn.Module.__init__(self)
        self.head, self.summary_head = network.head, network.summary_head
        options = SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        graph = build_graph(network, ranges)
        self._session = InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        self._num_seats = vocabulary.num_seats
        self._num_events = -(-vocabulary.max_progression // BLOCK) * BLOCK
        self._last_position = vocabulary.max_progression - 1
        self._heads = num_heads(network)
        self._head_width = network.head.in_features // self._heads
        num_layers = len(network.encoder.blocks) + len(network.decoder.blocks)
        self._cached_names = [f"cached_{kind}_{n}" for n in range(num_layers) for kind in ("keys", "values")]
        self._caches: list[NDArray[np.float32]] = []
        """by layer, keys, then values [G, H, E, W]"""
        self.reserve(1)

    def with_own_cache(self) -> "Int8Network":
        """Returns a network that shares all but the cached events."""
        copied = copy.copy(self)
        copied._caches = []
        copied.reserve(1)
        return copied

    def reserve(self, num_slots: int) -> None:
        """Allocates the cache of `num_slots` slots; cached values are preserved. Slot 0 is for padding."""
        shape = num_slots, self._heads, self._num_events, self._head_width
        before, self._caches = self._caches, [np.zeros(shape, np.float32) for _ in self._cached_names]
        for old, new in zip(before, self._caches, strict=False):
            new[: len(old)] = old

    def forward(self, batch: Batch) -> Output:
        incremental = batch if isinstance(batch, IncrementalBatch) else _without_cache(batch)
        with _flushing_denormals():
            candidate_BAD, summary_B1D, *computed = self._session.run(None, self._inputs(incremental))
        if incremental is batch:
            self._store(incremental, computed)
        summary_BD = torch.from_numpy(summary_B1D)[:, 0]
        summary_BK = summary_BD[:, :0] if self.summary_head is None else self.summary_head(summary_BD)
        return Output(self.head(torch.from_numpy(candidate_BAD)), summary_BK, batch.candidate_BA != 0)

    def _inputs(self, batch: IncrementalBatch) -> dict[str, NDArray[np.generic]]:
        num_new = batch.event_GE.shape[1]
        start_B, seen_B = batch.start_B.numpy(), batch.seen_B.numpy()
        num_blocks = -(-batch.num_seen // BLOCK)
        place_N, place_E = np.arange(num_new), np.arange(num_blocks * BLOCK)
        tile_BT = batch.tile_BT.numpy()
        has_own_BO = np.pad(tile_BT != 0, ((0, 0), (1 + self._num_seats, 0)), constant_values=True)
        cached_BE = place_E < start_B[:, None]
        is_new_BN = place_N < (seen_B - start_B)[:, None]
        num_rows, num_own = has_own_BO.shape
        # keys are those of cached events, then own tokens, then new events
        own_BV = np.concatenate((cached_BE, has_own_BO, is_new_BN), axis=1)
        seen_BQV = np.repeat(own_BV[:, None], num_own + num_new, axis=1)
        first_new = len(place_E) + num_own
        seen_BQV[:, num_own:, len(place_E) : first_new] = False
        seen_BQV[:, num_own:, first_new:] = np.tri(num_new, dtype=bool)
        of_candidates_BA = batch.candidate_BA.numpy() != 0
        block_C = np.arange(self._heads) * (self._num_events // BLOCK)
        block_C = block_C[:, None] + np.arange(num_blocks)
        block_C = batch.slot_B.numpy()[:, None, None] * (self._heads * self._num_events // BLOCK) + block_C
        return {
            "table": batch.table_BS.numpy(),
            "standing": batch.standing_BP2.numpy(),
            "tiles": tile_BT,
            "numbers": batch.numeric_BN.numpy(),
            "events": batch.event_GE.numpy(),
            "positions": np.minimum(start_B[:, None] + place_N, self._last_position),
            "candidates": batch.candidate_BA.numpy(),
            "mask": _additive(seen_BQV)[:, None],
            "mask_of_candidates": _additive(of_candidates_BA)[:, None, None],
            "mask_across": _additive(own_BV)[:, None, None],
            "blocks": block_C.reshape(-1),
            "cached_shape": np.array([num_rows, self._heads, len(place_E), self._head_width]),
            **{
                name: cache.reshape(-1, BLOCK * self._head_width)
                for name, cache in zip(self._cached_names, self._caches, strict=True)
            },
        }

    def _store(self, batch: IncrementalBatch, computed: Sequence[NDArray[np.float32]]) -> None:
        """Caches keys and values of the new events."""
        start_B, seen_B, slot_B = batch.start_B.numpy(), batch.seen_B.numpy(), batch.slot_B.numpy()
        num_new = batch.event_GE.shape[1]
        is_stored_BN = (np.arange(num_new) < (seen_B - start_B)[:, None]) & (slot_B != 0)[:, None]
        row_R, place_R = np.nonzero(is_stored_BN)
        slot_R, position_R = slot_B[row_R], start_B[row_R] + place_R
        for cache, found_BQD in zip(self._caches, computed, strict=True):
            new_RD = found_BQD[row_R, found_BQD.shape[1] - num_new + place_R]
            cache[slot_R, :, position_R] = new_RD.reshape(-1, self._heads, self._head_width)


def _additive(is_seen: NDArray[np.bool_]) -> NDArray[np.float32]:
    return np.where(is_seen, np.float32(0), np.float32(_MASKED))


def _without_cache(batch: Batch) -> IncrementalBatch:
    """Returns a batch all of whose events are new."""
    assert batch.varlen is None
    event_BE = batch.event_GE.index_select(0, batch.group_B)
    no_B = torch.zeros_like(batch.seen_B)
    return IncrementalBatch(
        table_BS=batch.table_BS,
        standing_BP2=batch.standing_BP2,
        tile_BT=batch.tile_BT,
        numeric_BN=batch.numeric_BN,
        event_GE=event_BE.where(torch.arange(event_BE.shape[1]) < batch.seen_B[:, None], 0),
        group_B=torch.arange(len(batch)),
        seen_B=batch.seen_B,
        candidate_BA=batch.candidate_BA,
        seat_B=batch.seat_B,
        slot_B=no_B,
        start_B=no_B,
        num_seen=1,
    )


@contextmanager
def _flushing_denormals() -> Iterator[None]:
    """Makes masked attention weights exactly zero, and fast: the session runs in this thread."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def _simulated(policy: NetworkPolicy, seed: int) -> Iterator[Batch]:
    """Yields the decisions of a game between rule-based players."""
    annotations = simulate_game(policy.vocabulary, seed=seed).annotations[:_MOST_DECISIONS]
    for first in range(0, len(annotations), _BATCH):
        yield policy.batch(columns_of_annotations(annotations[first : first + _BATCH], policy.vocabulary))


@torch.inference_mode()
def _measured_ranges(policy: NetworkPolicy) -> "Ranges":
    """Computes the ranges of the inputs of all linear layers on the decisions of a simulated game."""
    found: dict[nn.Module, tuple[float, float]] = {}

    def note(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        low, high = found.get(module, (0.0, 0.0))
        found[module] = min(low, float(inputs[0].min())), max(high, float(inputs[0].max()))

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
    return found


def with_int8(policy: NetworkPolicy, name: str) -> NetworkPolicy:
    """Returns the policy on the CPU with int8 matrices.

    Args:
        policy: on the CPU.
        name: of the weights, for errors.

    Raises:
        ValueError: a package is missing, or the weights are not of imitation.
    """
    missing = [package for package in _PACKAGES if find_spec(package) is None]
    if missing:
        raise ValueError(f"{name}: int8 needs {' and '.join(missing)}: pip install 'kanachan[onnx]'")
    if "probabilities" not in policy.objective.prediction_fields:
        raise ValueError(
            f"{name}: int8 is for weights of imitation, which have probabilities, not of {policy.stage}: values of "
            "actions are too close to each other"
        )
    return policy.with_network(Int8Network(policy.network, policy.vocabulary, _measured_ranges(policy)))


@torch.inference_mode()
def divergence(policy: NetworkPolicy, exact: NetworkPolicy, batches: Iterable[Batch]) -> Divergence:
    """Computes the divergence of a policy from an exact one."""
    nats, same = [], []
    for batch in batches:
        log_BA, exact_log_BA = (
            each.objective.score(each.output(batch))
            .float()
            .masked_fill(batch.candidate_BA == 0, _MASKED)
            .log_softmax(1)
            for each in (policy, exact)
        )
        nats.append((exact_log_BA.exp() * (exact_log_BA - log_BA)).sum(dim=1))
        same.append(log_BA.argmax(dim=1) == exact_log_BA.argmax(dim=1))
    nats_B, same_B = torch.cat(nats), torch.cat(same)
    return Divergence(float(nats_B.mean()), float(same_B.float().mean()), len(nats_B))


def checked_divergence(policy: NetworkPolicy, exact: NetworkPolicy, name: str) -> Divergence:
    """Computes the divergence of an int8 policy from the network's, on the decisions of a simulated game.

    Raises:
        ValueError: it is too large.
    """
    found = divergence(policy, exact, _simulated(exact, _CHECKING_SEED))
    if not found.nats <= _MOST_NATS:
        raise ValueError(
            f"{name}: with int8 weights the policy differs by {found.nats:.2g} nats, more than {_MOST_NATS:g}; use the "
            "weights without !int8"
        )
    return found
