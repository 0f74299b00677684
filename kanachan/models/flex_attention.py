"""A third attention back end: FlexAttention over the concatenated rows, in which each row sees two ranges of rows.

Unlike in `VarlenAttention`, the keys of shared events are not copied for each decision, and a kernel computes tiles of
many short segments at once. It is for GPUs. FlexAttention has no gradients on CPUs; there the same is computed with a
mask of all rows by all rows: slow, for tests.

Shapes: as in kanachan.models.attention; Q queries, K keys, M tiles of queries, J tiles of keys.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, flex_attention

from kanachan.data.varlen import VarlenLayout
from kanachan.models.attention import VarlenAttention, split_fused

TILE = 128
"""number of queries and of keys in a tile of the kernels"""
_HEAD_MULTIPLE = 16
"""the kernels need a head's width to be a multiple of this number"""


@dataclass(frozen=True)
class Ranges:
    """The keys that each query sees: two ranges, of which either may be empty. `bounds_4Q`: int32, first and last
    (exclusive) key of one range, then of the other."""

    bounds_4Q: Tensor
    num_keys: int

    def sees(self, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        """Returns whether queries see keys, both given by number."""
        first, last, other_first, other_last = self.bounds_4Q
        is_in_one = (key >= first[query]) & (key < last[query])
        return is_in_one | ((key >= other_first[query]) & (key < other_last[query]))

    @property
    def mask_QK(self) -> Tensor:
        """The results of `sees` for all queries and keys."""
        query_Q, key_K = (torch.arange(length, device=self.bounds_4Q.device) for length in self._lengths)
        return self.sees(query_Q, query_Q, query_Q[:, None], key_K)

    @cached_property
    def tiles(self) -> BlockMask:
        """The tiles in which a query sees a key. Computed without waiting for the device."""
        num_queries, num_keys = self._lengths
        num_rows, num_columns = -(-num_queries // TILE), -(-num_keys // TILE)
        row_Q = torch.arange(num_queries, device=self.bounds_4Q.device) // TILE
        # + 1 where a range begins and - 1 after its end: cumulative sums count the ranges that cover a tile
        change_MJ = torch.zeros(num_rows, num_columns + 1, dtype=torch.int32, device=self.bounds_4Q.device)
        for first_Q, last_Q in self.bounds_4Q.view(2, 2, -1):
            weight_Q = (last_Q > first_Q).int()
            start_Q, end_Q = first_Q // TILE, (last_Q - 1).clamp(min=0) // TILE + 1
            place_Q = row_Q * (num_columns + 1)
            change_MJ.view(-1).index_add_(0, place_Q + start_Q.clamp(max=num_columns), weight_Q)
            change_MJ.view(-1).index_add_(0, place_Q + end_Q, -weight_Q)
        is_seen_MJ = change_MJ.cumsum(dim=1)[:, :-1] > 0
        column_MJ = is_seen_MJ.int().argsort(dim=1, descending=True, stable=True).int()
        return BlockMask.from_kv_blocks(
            is_seen_MJ.sum(dim=1, dtype=torch.int32)[None, None],
            column_MJ[None, None],
            BLOCK_SIZE=TILE,
            mask_mod=self.sees,
            seq_lengths=self._lengths,
        )

    @property
    def _lengths(self) -> tuple[int, int]:
        return self.bounds_4Q.shape[1], self.num_keys


class FlexAttention(VarlenAttention):
    """Concatenated rows as in `VarlenAttention`; each row sees ranges of other rows."""

    def __init__(self, layout: VarlenLayout, candidate_BA: Tensor, group_B: Tensor, seen_B: Tensor) -> None:
        super().__init__(layout, candidate_BA)
        num_decisions = len(group_B)
        num_rows, num_events = len(layout.row_X), len(layout.event_Z)
        num_own = num_rows - num_events
        own_X, event_Z, candidate_C = (
            _segments(starts_N, length)
            for starts_N, length in (
                (layout.own_N, num_own),
                (layout.events_N, num_events),
                (layout.candidates_N, len(layout.candidate_C)),
            )
        )
        own_4N = layout.own_N.new_zeros(4, len(layout.own_N) - 1)
        own_4N[0], own_4N[1] = layout.own_N[:-1], layout.own_N[1:]
        own_4N[2, :num_decisions] = first_B = num_own + layout.events_N[group_B]
        own_4N[3, :num_decisions] = first_B + seen_B
        # an event sees the events of its group up to itself
        row_Z = torch.arange(num_own, num_rows, device=own_4N.device, dtype=torch.int32)
        first_Z, none_Z = num_own + layout.events_N[event_Z], torch.zeros_like(row_Z)
        bounds_4X = torch.cat((own_4N[:, own_X], torch.stack((none_Z, none_Z, first_Z, row_Z + 1))), dim=1)
        first_C, last_C = layout.candidates_N[candidate_C], layout.candidates_N[candidate_C + 1]
        none_C = torch.zeros_like(first_C)
        among_4C = torch.stack((first_C, last_C, none_C, none_C))
        # padding candidates see the first decision; they have no effect on it
        across_4C = own_4N[:, layout.decision_C]
        self.situations, self.to_situations = Ranges(bounds_4X, num_rows), Ranges(across_4C, num_rows)
        self.among = Ranges(among_4C, len(candidate_C))
        if own_4N.device.type != "cpu":
            for ranges in (self.situations, self.to_situations, self.among):
                ranges.tiles  # noqa: B018, computed once here, not inside compiled blocks

    def situation(self, fused_X3D: Tensor, heads: int) -> Tensor:
        return _attend(*split_fused(fused_X3D), heads, self.situations)

    def among_candidates(self, fused: Tensor, heads: int) -> Tensor:
        return _attend(*split_fused(fused), heads, self.among)

    def across(self, query: Tensor, key_value_X2D: Tensor, heads: int) -> Tensor:
        return _attend(query, key_value_X2D, heads, self.to_situations)


def _segments(starts_N: Tensor, length: int) -> Tensor:
    """Returns the segment of each of `length` rows."""
    row = torch.arange(length, device=starts_N.device, dtype=starts_N.dtype)
    return torch.searchsorted(starts_N, row, right=True) - 1


def _attend(query_QD: Tensor, key_value_K2D: Tensor, heads: int, ranges: Ranges) -> Tensor:
    key_KD, value_KD = key_value_K2D.chunk(2, dim=1)
    query_1HQW, key_1HKW, value_1HKW = (
        tensor.view(1, len(tensor), heads, -1).transpose(1, 2) for tensor in (query_QD, key_KD, value_KD)
    )
    if query_QD.device.type == "cpu":
        mixed_1HQW = F.scaled_dot_product_attention(query_1HQW, key_1HKW, value_1HKW, ranges.mask_QK)
    else:
        mixed_1HQW = attend_in_tiles(query_1HQW, key_1HKW, value_1HKW, ranges)
    return mixed_1HQW.transpose(1, 2).reshape(query_QD.shape)


def attend_in_tiles(query_1HQW: Tensor, key_1HKW: Tensor, value_1HKW: Tensor, ranges: Ranges) -> Tensor:
    """Computes attention with compiled FlexAttention."""
    width = query_1HQW.shape[3]
    padding = -width % _HEAD_MULTIPLE
    if padding:
        query_1HQW, key_1HKW, value_1HKW = (F.pad(each, (0, padding)) for each in (query_1HQW, key_1HKW, value_1HKW))
    is_compiling = torch.compiler.is_compiling()
    attend = cast("Callable[..., Tensor]", flex_attention) if is_compiling else _compiled()
    mixed_1HQW = attend(query_1HQW, key_1HKW, value_1HKW, block_mask=ranges.tiles, scale=width**-0.5)
    return mixed_1HQW[..., :width]


@cache
def _compiled() -> Callable[..., Tensor]:
    return torch.compile(flex_attention, dynamic=True)
