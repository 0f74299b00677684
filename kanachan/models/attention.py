"""Two attention back ends of one network: how a batch's tokens lie in memory and which tokens attend to each other.

`PaddedAttention` pads rows of unequal length to grids and masks the padding. CPUs have no kernel for rows of unequal
length; there this back end is the fastest if the rows of a batch have similar lengths. `VarlenAttention` concatenates
the rows and computes nothing on padding; it is for GPUs in half precision (`torch.nn.attention.varlen`).

Shapes: B decisions, S tokens of the table, P seats, T tiles, O = 1 + P + T own tokens of a situation, G groups that
share their events, E events, V = O + E tokens visible to a situation, X all own tokens and events concatenated, Y all
tiles and Z all events concatenated, A candidates, C all candidates concatenated, N segments of rows, D width, H heads,
W width of a head, K outputs of a head. `*` is [B, A] in the padded and [C] in the varlen back end.
"""

from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor
from torch._compile import _disable_dynamo  # torch.compiler.disable imports the whole compiler, for 1.2 s

from kanachan.data.varlen import VarlenLayout

_PAD = 0
_ROW_MULTIPLE = 256
"""multiple to which the number of rows is padded in bf16 on a CPU: oneDNN compiles a kernel for each number of rows,
which takes longer than running it"""
_HEAD_MULTIPLE = 8
"""the varlen kernel of GPUs needs a head's width to be a multiple of this number"""


class AttentionBackend(Protocol):
    """The interface between the network and a back end. A width D is divided into `heads`."""

    tiles: Tensor
    """tokens of tiles, [B, T] or [Y]"""
    events: Tensor
    """tokens of events, [G, E] or [Z]"""
    positions: Tensor
    """place of each event in its round, [E] or [Z]"""
    candidates: Tensor
    """[*] 1 + the action token"""

    def rows(self, summary_BD: Tensor, seat_BPD: Tensor, tile: Tensor, event: Tensor) -> Tensor:
        """Returns hidden_XD, all vectors to be encoded; `tile` and `event` have D appended to the shapes above."""

    def situation(self, fused_X3D: Tensor, heads: int) -> Tensor:
        """Computes mixed_XD: own tokens attend to all tokens that their situation sees, events to earlier events."""

    def among_candidates(self, fused: Tensor, heads: int) -> Tensor:
        """Computes attention among the candidates of each decision, [*, 3 D] to [*, D]."""

    def across(self, query: Tensor, key_value_X2D: Tensor, heads: int) -> Tensor:
        """Computes attention of the candidates to all tokens that their situation sees, [*, D] to [*, D]."""

    def from_each(self, query_BKD: Tensor, key_value_X2D: Tensor, heads: int) -> Tensor:
        """Computes attention of K queries for each decision to all tokens that its situation sees, [B, K, D]."""

    def summary(self, hidden_XD: Tensor) -> Tensor:
        """Returns the summary vectors of the situations, [B, D]."""

    def for_candidates(self, vector_BD: Tensor) -> Tensor:
        """Returns one vector per decision in a shape that can be added to [*, D]."""

    def outputs(self, output: Tensor) -> Tensor:
        """Returns [*, K] as [B, A, K]; values at padding have no meaning."""


class PaddedAttention:
    """Grids with masks; the arguments are fields of `kanachan.data.batch.Batch`."""

    def __init__(
        self,
        tile_BT: Tensor,
        event_GE: Tensor,
        group_B: Tensor,
        seen_B: Tensor,
        candidate_BA: Tensor,
        num_seats: int,
    ) -> None:
        self.tiles = tile_BT
        self.events = event_GE
        self.positions = torch.arange(event_GE.shape[1], device=event_GE.device)
        self.candidates = candidate_BA
        self.group_B = group_B
        self.seen_B = seen_B
        self.num_seats = num_seats
        has_own_BO = F.pad(tile_BT != _PAD, (1 + num_seats, 0), value=True)
        # True where a situation has an own token or sees an event of its group
        self.mask_BV = torch.cat((has_own_BO, self.positions < seen_B[:, None]), dim=1)

    def split(self, hidden_XD: Tensor) -> tuple[Tensor, Tensor]:
        """Splits rows into own_BOD and event_GED, without copying."""
        num_decisions, num_tiles = self.tiles.shape
        # gradients of a split are concatenated; gradients of slices would each be added to zeros
        num_own = num_decisions * (1 + self.num_seats + num_tiles)
        sizes = [num_own, self.events.numel()]
        if _pads_rows(hidden_XD):
            sizes.append(len(hidden_XD) - sum(sizes))
        own_XD, event_XD, *_ = torch.split(hidden_XD, sizes)
        width = hidden_XD.shape[1]
        return own_XD.view(num_decisions, -1, width), event_XD.view(*self.events.shape, width)

    def rows(self, summary_BD: Tensor, seat_BPD: Tensor, tile: Tensor, event: Tensor) -> Tensor:
        own_BOD = torch.cat((summary_BD[:, None], seat_BPD, tile), dim=1)
        return _concatenated(own_BOD, event)

    def situation(self, fused_X3D: Tensor, heads: int) -> Tensor:
        own_BOD, event_GED = self.split(fused_X3D)
        query_BOD, own_key_value_BOD = split_fused(own_BOD)
        query_GED, key_value_GED = split_fused(event_GED)
        mixed_BOD = attend(query_BOD, self._seen(own_key_value_BOD, key_value_GED), heads, self.mask_BV[:, None, None])
        # padding follows the events, so no event attends to it
        mixed_GED = attend(query_GED, key_value_GED, heads, None, is_causal=True)
        return _concatenated(mixed_BOD, mixed_GED)

    def among_candidates(self, fused: Tensor, heads: int) -> Tensor:
        query_BAD, key_value_BAD = split_fused(fused)
        return attend(query_BAD, key_value_BAD, heads, (self.candidates != _PAD)[:, None, None])

    def across(self, query: Tensor, key_value_X2D: Tensor, heads: int) -> Tensor:
        return attend(query, self._seen(*self.split(key_value_X2D)), heads, self.mask_BV[:, None, None])

    def from_each(self, query_BKD: Tensor, key_value_X2D: Tensor, heads: int) -> Tensor:
        return self.across(query_BKD, key_value_X2D, heads)

    def summary(self, hidden_XD: Tensor) -> Tensor:
        return self.split(hidden_XD)[0][:, 0]

    def for_candidates(self, vector_BD: Tensor) -> Tensor:
        return vector_BD[:, None]

    def outputs(self, output: Tensor) -> Tensor:
        return output

    def _seen(self, own_BOD: Tensor, event_GED: Tensor) -> Tensor:
        """Returns [B, V, D]: keys and values of each situation's own tokens, then of its group's events."""
        if _learns_in_bf16_on_a_cpu(event_GED):
            # a product, whose gradient is a product too; the gradient of a selection adds number by number
            is_of_BG = self.group_B[:, None] == torch.arange(len(event_GED))
            event_BED = (is_of_BG.to(event_GED.dtype) @ event_GED.flatten(1)).view(-1, *event_GED.shape[1:])
        else:
            event_BED = event_GED.index_select(0, self.group_B)
        return torch.cat((own_BOD, event_BED), dim=1)


class VarlenAttention:
    """Concatenated rows in segments, in the layout of `kanachan.data.varlen`."""

    def __init__(self, varlen: VarlenLayout, candidate_BA: Tensor) -> None:
        self.varlen = varlen
        self.candidate_BA = candidate_BA
        self.tiles, self.events, self.positions = varlen.tile_Y, varlen.event_Z, varlen.position_Z
        self.candidates = candidate_BA.flatten()[varlen.candidate_C]

    def rows(self, summary_BD: Tensor, seat_BPD: Tensor, tile: Tensor, event: Tensor) -> Tensor:
        # no indexing by brackets: its gradient sorts the rows on a GPU
        return torch.cat((summary_BD, seat_BPD.flatten(0, 1), tile, event)).index_select(0, self.varlen.row_X)

    def situation(self, fused_X3D: Tensor, heads: int) -> Tensor:
        layout = self.varlen
        num_events = len(layout.event_Z)
        own_X3D, event_Z3D = torch.split(fused_X3D, [len(fused_X3D) - num_events, num_events])
        query_XD, _ = split_fused(own_X3D)
        # a situation sees its own tokens, then events shared with others, which are copied for each situation
        key_value_VD = fused_X3D[:, query_XD.shape[1] :].index_select(0, layout.seen_V)
        mixed_XD = _attend_in_segments(
            query_XD, key_value_VD, heads, layout.own_N, layout.seen_N, layout.longest_own, layout.longest_seen
        )
        query_ZD, key_value_ZD = split_fused(event_Z3D)
        longest = layout.longest_events
        mixed_ZD = _attend_in_segments(
            query_ZD, key_value_ZD, heads, layout.events_N, layout.events_N, longest, longest, is_causal=True
        )
        return torch.cat((mixed_XD, mixed_ZD))

    def among_candidates(self, fused: Tensor, heads: int) -> Tensor:
        query_CD, key_value_CD = split_fused(fused)
        starts_N, longest = self.varlen.candidates_N, self.varlen.longest_candidates
        return _attend_in_segments(query_CD, key_value_CD, heads, starts_N, starts_N, longest, longest)

    def across(self, query: Tensor, key_value_X2D: Tensor, heads: int) -> Tensor:
        layout = self.varlen
        key_value_VD = key_value_X2D.index_select(0, layout.seen_V)
        return _attend_in_segments(
            query,
            key_value_VD,
            heads,
            layout.candidates_N,
            layout.seen_N,
            layout.longest_candidates,
            layout.longest_seen,
        )

    def from_each(self, query_BKD: Tensor, key_value_X2D: Tensor, heads: int) -> Tensor:
        num_decisions, num_queries, width = query_BKD.shape
        seen_N = self.varlen.seen_N
        # padding segments also get a query, or a kernel may leave the gradients of their keys unwritten
        num_padding = len(seen_N) - 1 - num_decisions
        query_LD = torch.cat((query_BKD.flatten(0, 1), query_BKD.new_zeros(num_padding, width)))
        place_N = torch.arange(len(seen_N), device=seen_N.device, dtype=seen_N.dtype)
        starts_N = torch.where(
            place_N < num_decisions, num_queries * place_N, (num_queries - 1) * num_decisions + place_N
        )
        key_value_VD = key_value_X2D.index_select(0, self.varlen.seen_V)
        longest = self.varlen.longest_seen
        mixed_LD = _attend_in_segments(query_LD, key_value_VD, heads, starts_N, seen_N, num_queries, longest)
        return mixed_LD[: num_decisions * num_queries].view_as(query_BKD)

    def summary(self, hidden_XD: Tensor) -> Tensor:
        return hidden_XD.index_select(0, self.varlen.own_N[: len(self.candidate_BA)])

    def for_candidates(self, vector_BD: Tensor) -> Tensor:
        return vector_BD.index_select(0, self.varlen.decision_C)

    def outputs(self, output: Tensor) -> Tensor:
        num_decisions, num_candidates = self.candidate_BA.shape
        grid = output.new_zeros(num_decisions * num_candidates, output.shape[1])
        # all padding rows point to the first candidate and add zeros to it
        is_candidate_C = self.varlen.is_candidate_C[:, None]
        return grid.index_add(0, self.varlen.candidate_C, output.where(is_candidate_C, 0)).view(
            num_decisions, num_candidates, -1
        )


def _pads_rows(tensor: Tensor) -> bool:
    """Returns whether a kernel is compiled for each number of rows, so that few different numbers should occur."""
    return tensor.device.type == "cpu" and torch.is_autocast_enabled("cpu")


def _concatenated(own_BOD: Tensor, event_GED: Tensor) -> Tensor:
    """Returns all rows of two grids, padded to a multiple of `_ROW_MULTIPLE` where that is faster."""
    own_XD, event_XD = own_BOD.flatten(0, 1), event_GED.flatten(0, 1)
    if not _pads_rows(own_XD):
        return torch.cat((own_XD, event_XD))
    padding = -(len(own_XD) + len(event_XD)) % _ROW_MULTIPLE
    return torch.cat((own_XD, event_XD, own_XD.new_zeros(padding, own_XD.shape[1])))


def split_fused(fused: Tensor) -> tuple[Tensor, Tensor]:
    """Splits a fused projection of width 3 D into the query and the concatenated key and value."""
    width = fused.shape[-1] // 3
    query, key_value = torch.split(fused, [width, 2 * width], dim=-1)
    return query, key_value


def attend(
    query_BAD: Tensor, key_value_BVD: Tensor, heads: int, mask: Tensor | None, is_causal: bool = False
) -> Tensor:
    """Computes multi-head attention; the heads are views of the inputs, not copies. The mask broadcasts to
    [B, H, A, V]. Attention weights have no dropout, because it would rule out fused kernels."""
    key_BVD, value_BVD = key_value_BVD.chunk(2, dim=2)
    query_BHAW, key_BHVW, value_BHVW = (
        tensor.view(*tensor.shape[:2], heads, -1).transpose(1, 2) for tensor in (query_BAD, key_BVD, value_BVD)
    )
    if _learns_in_bf16_on_a_cpu(query_BAD, key_value_BVD):
        mixed_BHAW = _attend_by_products(query_BHAW, key_BHVW, value_BHVW, mask, is_causal=is_causal)
    else:
        mixed_BHAW = F.scaled_dot_product_attention(query_BHAW, key_BHVW, value_BHVW, mask, is_causal=is_causal)
    return mixed_BHAW.transpose(1, 2).flatten(2)


def _learns_in_bf16_on_a_cpu(*tensors: Tensor) -> bool:
    """Returns whether a gradient is computed in bf16 on a CPU: matrix products are faster there than other kernels."""
    first = tensors[0]
    return first.dtype == torch.bfloat16 and first.device.type == "cpu" and any(each.requires_grad for each in tensors)


def _attend_by_products(
    query_BHAW: Tensor, key_BHVW: Tensor, value_BHVW: Tensor, mask: Tensor | None, *, is_causal: bool
) -> Tensor:
    """Computes attention as two matrix products: in bf16 on a CPU, including the gradient, four times as fast as
    torch's kernel. `mask`: true where a query sees a key."""
    batch, num_keys = query_BHAW.shape[:2], key_BHVW.shape[2]
    if is_causal:
        mask = torch.ones(query_BHAW.shape[2], num_keys, dtype=torch.bool, device=query_BHAW.device).tril()
    assert mask is not None and mask.dtype == torch.bool
    bias = torch.zeros(mask.shape, dtype=query_BHAW.dtype, device=mask.device).masked_fill_(~mask, -torch.inf)
    bias = bias if is_causal else bias.expand(*batch, -1, num_keys).flatten(0, 1)
    query, key, value = (each.flatten(0, 1) for each in (query_BHAW, key_BHVW, value_BHVW))
    score = torch.baddbmm(bias, query, key.transpose(1, 2), alpha=query.shape[2] ** -0.5)
    weight = score.softmax(dim=-1, dtype=torch.float32).to(value.dtype)
    return torch.bmm(weight, value).view(query_BHAW.shape)


def _attend_in_segments(
    query_LD: Tensor,
    key_value_MD: Tensor,
    heads: int,
    query_starts_N: Tensor,
    key_starts_N: Tensor,
    longest_query: int,
    longest_key: int,
    *,
    is_causal: bool = False,
) -> Tensor:
    """Computes attention inside segments of L queries and M keys; the starts end with L and M. In causal segments,
    queries and keys come from the same rows."""
    key_MD, value_MD = key_value_MD.chunk(2, dim=1)
    query_LHW, key_MHW, value_MHW = (tensor.view(len(tensor), heads, -1) for tensor in (query_LD, key_MD, value_MD))
    if query_LD.device.type == "cpu":
        mixed_LHW = _attend_one_by_one(query_LHW, key_MHW, value_MHW, query_starts_N, key_starts_N, is_causal)
        return mixed_LHW.flatten(1)
    from torch.nn.attention.varlen import varlen_attn  # older torch versions, which read exports, lack it

    width = query_LHW.shape[2]
    padding = -width % _HEAD_MULTIPLE
    if padding:
        query_LHW, key_MHW, value_MHW = (F.pad(each, (0, padding)) for each in (query_LHW, key_MHW, value_MHW))
    window = (-1, 0) if is_causal else (-1, -1)
    starts_and_lengths = (query_starts_N, key_starts_N, longest_query, longest_key)
    mixed = varlen_attn(query_LHW, key_MHW, value_MHW, *starts_and_lengths, scale=width**-0.5, window_size=window)
    assert isinstance(mixed, Tensor)  # a tuple only if more outputs are requested
    return (mixed[:, :, :width] if padding else mixed).flatten(1)


@_disable_dynamo
def _attend_one_by_one(
    query_LHW: Tensor, key_MHW: Tensor, value_MHW: Tensor, query_starts_N: Tensor, key_starts_N: Tensor, is_causal: bool
) -> Tensor:
    """Computes the same on a CPU, which has no such kernel: slow, for small inputs and tests."""
    queries, keys = query_starts_N.tolist(), key_starts_N.tolist()
    mixed = []
    for first, last, first_key, last_key in zip(queries, queries[1:], keys, keys[1:], strict=False):
        query_HLW = query_LHW[first:last].transpose(0, 1)
        key_HMW, value_HMW = (tensor[first_key:last_key].transpose(0, 1) for tensor in (key_MHW, value_MHW))
        mixed_HLW = F.scaled_dot_product_attention(query_HLW, key_HMW, value_HMW, is_causal=is_causal)
        mixed.append(mixed_HLW.transpose(0, 1))
    return torch.cat(mixed)
