"""A KV cache for play: keys and values of a round's events are cached, and only new events are computed.

An event attends only to earlier events, so its keys and values do not change until the round is over. When a seat
decides again, only its own tokens and its few new events are computed. Up to rounding, `CachedNetwork` has the same
outputs as the network whose parts it shares.

Rows that are computed together always have the same shape (`kanachan.play.policy_agent`), so that the output for one
row does not depend on the other rows, not even in the last bit.

Shapes: B decisions, P seats, T tiles, O = 1 + P + T own tokens, N new events, E events so far (both padded), V = O +
E, Q = O + N, X = B Q, A candidates, D width, H heads.
"""

import copy
import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kanachan.data.batch import Batch
from kanachan.models.attention import attend, split_fused
from kanachan.models.transformer import Network, Output

ModuleT = TypeVar("ModuleT", bound=nn.Module)
_WORKSPACE_BYTES = 2 << 30
"""memory of a GPU that is reserved for computations, besides the cache"""


@dataclass(slots=True, kw_only=True)
class IncrementalBatch(Batch):
    """Decisions whose earlier events are cached. `event_GE` contains the new events of each decision; `seen_B` counts
    all events it sees, old and new. No two decisions share a slot, except slot 0, which is for padding rows."""

    slot_B: Tensor
    """int64: the slot of the cache with the events of its round"""
    start_B: Tensor
    """int64: how many of these events are cached"""
    num_seen: int
    """upper bound of the number of events that a decision sees"""


class CachedNetwork(Network):
    """A network that shares the parts of another and caches keys and values of events. A round has at most `num_events`
    events; a batch has at most `num_rows` rows of own tokens and new events. `use_bf16`: multiply in bf16, except in
    the heads, because close outputs must not become equal."""

    def __init__(self, network: Network, num_events: int, num_rows: int, *, use_bf16: bool = False) -> None:
        nn.Module.__init__(self)
        self.encoder = _with_bf16_matrices(network.encoder) if use_bf16 else network.encoder
        self.decoder = _with_bf16_matrices(network.decoder) if use_bf16 else network.decoder
        self.head, self.summary_head, self.prior = network.head, network.summary_head, network.prior
        self._num_events, self._num_rows = num_events, num_rows
        self._dtype = torch.bfloat16 if use_bf16 else torch.float32
        num_layers = len(network.encoder.blocks) + len(network.decoder.blocks)
        cache = network.head.weight.new_zeros(num_rows, 2 * network.head.in_features, dtype=self._dtype)
        self._layers = [cache] * num_layers
        """keys and values [*, 2 D] for each layer of encoder and decoder: of the current batch, then of every slot"""

    def reserve(self, num_slots: int) -> None:
        """Allocates the cache of `num_slots` slots; cached values are preserved. Raises ValueError if the GPU has too
        little memory for them."""
        size = self._num_rows + num_slots * self._num_events
        _require_memory(self._layers, size, num_slots, self._num_events)
        for place, layer in enumerate(self._layers):  # one by one, so that at most one layer is held twice
            self._layers[place] = F.pad(layer.detach(), (0, 0, 0, size - len(layer)))

    def forward(self, batch: Batch, *, with_auxiliary: bool = False) -> Output:
        assert not with_auxiliary
        assert isinstance(batch, IncrementalBatch)
        backend = _IncrementalAttention(batch, self._layers, self._num_events, self._num_rows)
        device = self.head.weight.device.type
        with torch.autocast(device, torch.bfloat16) if self._dtype == torch.bfloat16 else nullcontext():
            encoded_XD = self.encoder(batch.table_BS, batch.standing_BP2, batch.numeric_BN, backend)
            candidate_BAD = self.decoder(encoded_XD, backend)
        return self._output(batch, self.head(candidate_BAD.float()), backend.summary(encoded_XD).float())


class _IncrementalAttention:
    """An attention back end whose rows are decisions, each with its own tokens and its new events."""

    def __init__(self, batch: IncrementalBatch, layers: list[Tensor], num_events: int, num_rows: int) -> None:
        self.tiles, self.events, self.candidates = batch.tile_BT, batch.event_GE, batch.candidate_BA
        self._layers = iter(layers)
        num_decisions, num_new, device = *self.events.shape, self.tiles.device
        num_seats = batch.standing_BP2.shape[1]
        has_own_BO = F.pad(self.tiles != 0, (1 + num_seats, 0), value=True)
        num_own = has_own_BO.shape[1]
        self._shape = num_decisions, num_own + num_new

        position_BN = batch.start_B[:, None] + torch.arange(num_new, device=device)
        self.positions = position_BN.clamp(max=num_events - 1)
        first_B1 = num_rows + batch.slot_B[:, None] * num_events
        row_BQ = torch.arange(num_decisions * (num_own + num_new), device=device).view(self._shape)
        assert row_BQ.numel() <= num_rows
        own_BO, new_BN = torch.split(row_BQ, [num_own, num_new], dim=1)
        new_BN = torch.where(position_BN < batch.seen_B[:, None], first_B1 + position_BN, new_BN)
        self._written_X = torch.cat((own_BO, new_BN), dim=1).flatten()
        place_E = torch.arange(batch.num_seen, device=device)
        self._read_BV = torch.cat((own_BO, first_B1 + place_E), dim=1)

        seen_by_own_B1E = place_E < batch.seen_B[:, None, None]
        seen_by_new_BNE = place_E <= self.positions[:, :, None]
        own_B1V = torch.cat((has_own_BO[:, None], seen_by_own_B1E), dim=2)
        new_BNV = F.pad(seen_by_new_BNE, (num_own, 0), value=False)
        seen_BQV = torch.cat((own_B1V.expand(-1, num_own, -1), new_BNV), dim=1)
        dtype = layers[0].dtype
        self._mask_B1QV = _additive_mask(seen_BQV, dtype)[:, None]
        self._mask_B11A = _additive_mask(self.candidates != 0, dtype)[:, None, None]

    def rows(self, summary_BD: Tensor, seat_BPD: Tensor, tile: Tensor, event: Tensor) -> Tensor:
        return torch.cat((summary_BD[:, None], seat_BPD, tile, event), dim=1).flatten(0, 1)

    def situation(self, fused_X3D: Tensor, heads: int) -> Tensor:
        query_XD, key_value_XD = split_fused(fused_X3D)
        query_BQD = query_XD.view(*self._shape, -1)
        return attend(query_BQD, self._seen(key_value_XD), heads, self._mask_B1QV).flatten(0, 1)

    def among_candidates(self, fused: Tensor, heads: int) -> Tensor:
        query_BAD, key_value_BAD = split_fused(fused)
        return attend(query_BAD, key_value_BAD, heads, self._mask_B11A)

    def across(self, query: Tensor, key_value_X2D: Tensor, heads: int) -> Tensor:
        # the summary's row of the mask: own tokens, and the events that the decision sees
        return attend(query, self._seen(key_value_X2D), heads, self._mask_B1QV[:, :, :1])

    def summary(self, hidden_XD: Tensor) -> Tensor:
        return hidden_XD.view(*self._shape, -1)[:, 0]

    def for_candidates(self, vector_BD: Tensor) -> Tensor:
        return vector_BD[:, None]

    def _seen(self, key_value_XD: Tensor) -> Tensor:
        """Caches new keys and values of the next layer; returns [B, V, 2 D]: own tokens first, then all events."""
        cache = next(self._layers)
        cache.index_copy_(0, self._written_X, key_value_XD)
        return cache.index_select(0, self._read_BV.flatten()).view(*self._read_BV.shape, -1)


def _require_memory(layers: Sequence[Tensor], size: int, num_slots: int, num_events: int) -> None:
    """Raises ValueError if a GPU has too little memory to enlarge the layers to `size`."""
    device, row_bytes = layers[0].device, layers[0][0].nbytes
    spare = free_bytes(device)
    missing = size * row_bytes * (1 + len(layers)) - sum(layer.nbytes for layer in layers)  # 1: while a layer is copied
    if missing <= spare:
        return
    fewer = math.ceil((missing - spare) / (num_events * row_bytes * (1 + len(layers))))
    raise ValueError(
        f"{device}: has memory for the cached events of {max(0, num_slots - 1 - fewer):,} seats, but games of "
        f"{num_slots - 1:,} seats are played at a time: give a smaller --together or fewer --processes"
    )


def free_bytes(device: torch.device) -> float:
    """Returns the bytes of a GPU's memory that are free for caches and weights; infinity for a CPU."""
    if device.type != "cuda":
        return math.inf
    torch.cuda.empty_cache()
    return torch.cuda.mem_get_info(device)[0] - _WORKSPACE_BYTES


def _with_bf16_matrices(part: ModuleT) -> ModuleT:
    """Returns a copy with bf16 matrices, so that autocast need not convert them at every use."""
    part = copy.deepcopy(part)
    for module in part.modules():
        if isinstance(module, nn.Linear):
            module.bfloat16()
    return part


def _additive_mask(is_seen: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.zeros(is_seen.shape, dtype=dtype, device=is_seen.device).masked_fill_(~is_seen, float("-inf"))
