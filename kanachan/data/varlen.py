"""Computes the layout of a batch for `kanachan.models.attention.VarlenAttention` on the CPU.

Two decisions of one group, of which the first sees two of three events and the second all three, with one tile each and
three seats (tile_BT = [[7], [8]], event_GE = [[1, 2, 3]], seen_B = [2, 3], candidate_BA = [[4, 5], [6, 0]]), have
without padding:

    tile_Y = [7, 8]; event_Z = [1, 2, 3]; position_Z = [0, 1, 2]
    row_X = [0, 2, 3, 4, 8,  1, 5, 6, 7, 9,  10, 11, 12]    the first decision, its seats and tile; the second; events
    own_N = [0, 5, 10]; events_N = [0, 3]
    seen_V = [0, 1, 2, 3, 4, 10, 11,  5, 6, 7, 8, 9, 10, 11, 12]; seen_N = [0, 7, 15]
    candidate_C = [0, 1, 2]; decision_C = [0, 0, 1]; candidates_N = [0, 2, 3]

Every length is rounded up, so that few different shapes occur and a compiler or a captured graph can be used for all
batches. The padding is in separate segments, at the end of each kind of rows: nothing in the batch attends to them, and
their results affect no output and no gradient. Each padding segment has own rows, seen rows and candidates, because a
kernel may leave the gradients of rows unwritten if no query of their segment uses them.

Shapes: as in kanachan.models.attention; L rows of any kind.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kanachan.data.columns import spans

_STEPS_OF_A_LENGTH = 8  # a length is rounded up by an eighth at most
_SMALLEST_STEP = 64
# the approximate number of rows of a padding segment: fewer than in the longest segments of the batch
_PADDING = {"own": 16, "seen": 64, "candidates": 8, "events": 64}
_ROUNDED_OWN = 32


@dataclass(slots=True)
class VarlenLayout:
    """The source of each row and the starts of segments. Starts are int32 and end with the number of rows."""

    tile_Y: Tensor
    """int32 tokens"""
    event_Z: Tensor
    """int32 tokens"""
    position_Z: Tensor
    """int64: place of each event in its round"""
    row_X: Tensor
    """int64: index into the vectors of [decisions, their seats, tiles Y, events Z]"""
    own_N: Tensor
    """starts of each decision's own rows"""
    seen_V: Tensor
    """int64: the rows X that the decisions see"""
    seen_N: Tensor
    """starts of the rows that each decision sees"""
    events_N: Tensor
    """starts of each group's events, counted from the first event"""
    candidate_C: Tensor
    """int64: index into the flattened candidate_BA"""
    decision_C: Tensor
    """int64: the decision that a candidate belongs to"""
    is_candidate_C: Tensor
    """False for padding"""
    candidates_N: Tensor
    """starts of each decision's candidates"""
    longest_own: int
    longest_seen: int
    longest_events: int
    longest_candidates: int


def varlen_layout(
    tile_BT: NDArray[np.int32],
    event_GE: NDArray[np.int32],
    group_B: NDArray[np.int64],
    seen_B: NDArray[np.int64],
    candidate_BA: NDArray[np.int32],
    *,
    num_seats: int,
    max_progression: int,
) -> VarlenLayout:
    """Computes the layout of a non-empty batch; the arguments are fields of `kanachan.data.batch.Batch`."""
    num_decisions = len(tile_BT)
    own_B = 1 + num_seats + np.count_nonzero(tile_BT, axis=1)
    events_G = np.count_nonzero(event_GE, axis=1)
    lengths = {"own": own_B, "seen": own_B + seen_B, "candidates": np.count_nonzero(candidate_BA, axis=1)}
    num_padding = 1 + max(-(-_step(int(length_B.sum())) // _PADDING[name]) for name, length_B in lengths.items())
    # with a row or more in each padding segment
    own_N, seen_N, candidates_N = (_starts(length_B, num_padding, num_padding) for length_B in lengths.values())
    # few empty groups, because a kernel reserves memory for each, and never more groups than decisions
    num_groups = min(num_decisions, len(events_G) + -len(events_G) % _step(len(events_G)))
    events_G = np.pad(events_G, (0, num_groups - len(events_G)))
    events_N = _starts(events_G, -(-_step(int(events_G.sum())) // _PADDING["events"]), 0)
    num_own, num_seen, num_candidates, num_events = (int(s[-1]) for s in (own_N, seen_N, candidates_N, events_N))
    num_tiles = num_own - num_decisions * (1 + num_seats)
    longest_own = 1 + num_seats + tile_BT.shape[1]
    longest_own += -longest_own % _ROUNDED_OWN
    decision_C, _ = np.nonzero(candidate_BA)
    return VarlenLayout(
        tile_Y=_padded(tile_BT[tile_BT != 0], num_tiles),
        event_Z=_padded(event_GE[event_GE != 0], num_events),
        position_Z=_padded(np.nonzero(event_GE)[1], num_events),
        row_X=torch.from_numpy(np.append(_own_rows(own_B, num_seats, num_tiles), num_own + np.arange(num_events))),
        own_N=torch.from_numpy(own_N),
        seen_V=_padded(_seen_rows(own_N[:num_decisions], own_B, num_own + events_N[group_B], seen_B), num_seen),
        seen_N=torch.from_numpy(seen_N),
        events_N=torch.from_numpy(events_N),
        candidate_C=_padded(np.flatnonzero(candidate_BA), num_candidates),
        decision_C=_padded(decision_C, num_candidates),
        is_candidate_C=torch.arange(num_candidates) < len(decision_C),
        candidates_N=torch.from_numpy(candidates_N),
        longest_own=longest_own,
        longest_seen=longest_own + max_progression,
        longest_events=max_progression,
        longest_candidates=candidate_BA.shape[1],
    )


def _step(length: int) -> int:
    """Returns the step to whose multiples a length is rounded up."""
    return max(_SMALLEST_STEP, 2 ** (length.bit_length() - 1) // _STEPS_OF_A_LENGTH)


def _starts(length_B: NDArray[np.int64], num_padding: int, at_least: int) -> NDArray[np.int32]:
    """Returns starts of segments with these lengths, then of `num_padding` similar segments up to a rounded length."""
    total = int(length_B.sum())
    rounded = total + at_least
    rounded += -rounded % _step(total)
    padding = np.linspace(total, rounded, num_padding + 1)[1:].astype(np.int64)
    return np.concatenate([[0], np.cumsum(length_B), padding]).astype(np.int32)


def _own_rows(own_B: NDArray[np.int64], num_seats: int, num_tiles: int) -> NDArray[np.int64]:
    """Returns the sources of own rows: for each decision itself, its seats and its tiles; at the end padding tiles."""
    num_decisions = len(own_B)
    first_B = np.cumsum(own_B) - own_B
    rows = np.full(num_decisions * (1 + num_seats) + num_tiles, -1)
    rows[first_B] = np.arange(num_decisions)
    seats_BP = first_B[:, None] + np.arange(1, 1 + num_seats)
    rows[seats_BP] = num_decisions + np.arange(num_decisions * num_seats).reshape(seats_BP.shape)
    rows[rows < 0] = num_decisions * (1 + num_seats) + np.arange(num_tiles)
    return rows


def _seen_rows(
    own_first_B: NDArray[np.int32], own_B: NDArray[np.int64], seen_first_B: NDArray[np.int32], seen_B: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Returns for each decision its own rows, then the rows of the events that it sees."""
    first_B2, length_B2 = np.stack([own_first_B, seen_first_B], axis=1), np.stack([own_B, seen_B], axis=1)
    return spans(first_B2.ravel(), length_B2.ravel())


def _padded(values_L: NDArray[np.integer], length: int) -> Tensor:
    return torch.from_numpy(np.pad(values_L, (0, length - len(values_L))))
