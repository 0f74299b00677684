"""The fixed shapes of batches in play, and the conversion of observations to rows, which have only the new events.

A row's shape depends only on the row, and all batches of a shape have the same number of rows, some of which may be
padding. See `kanachan.play.policy_agent` for the reason.
"""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from annotate.annotation import Observation
from kanachan.data.batch import collate, padded
from kanachan.data.columns import columns_of_observations
from kanachan.data.round_state import riichi_paid
from kanachan.inference.policy import Policy
from kanachan.models.kv_cache import IncrementalBatch
from kanachan.models.weights import PRIOR_KEY

_MOST_TILES = 19  # 14 in the hand, 5 indicators
_MOST_CANDIDATES = 64


class Shape(NamedTuple):
    """The sizes of a batch."""

    new: int
    """number of new events"""
    seen: int
    """number of all events"""
    tiles: int
    candidates: int
    rows: int

    def fits(self, new: int, seen: int, tiles: int, candidates: int) -> bool:
        """Returns whether a row of these sizes fits into the shape."""
        return new <= self.new and seen <= self.seen and tiles <= self.tiles and candidates <= self.candidates


def shapes_of(most_events: int, rows: int, *, has_middle: bool) -> tuple[Shape, ...]:
    """Returns all shapes; a row gets the first shape into which it fits. 92 % of the rows fit into one of the first
    three: the seat has seen at most four discards since its last decision, and there is one dora indicator. With
    `has_middle`, additional shapes fit most of the other rows."""
    few, half = max(rows // 4, 1), max(rows // 2, 1)
    middle = (Shape(8, 64, 17, 20, half), Shape(8, most_events, 17, 20, half)) if has_middle else ()
    return (
        Shape(4, 32, 15, 14, rows),
        Shape(4, 64, 15, 14, rows),
        Shape(4, most_events, 15, 14, rows),
        *middle,
        Shape(12, most_events, _MOST_TILES, _MOST_CANDIDATES, few),
        Shape(most_events, most_events, _MOST_TILES, _MOST_CANDIDATES, few),
    )


class CachedRow(NamedTuple):
    """An observation, and the location of the cached earlier events of its seat."""

    observation: Observation
    slot: int
    start: int
    """number of cached events"""


def batches_of_shape(rows: Sequence[CachedRow], shape: Shape, policy: Policy) -> Iterator[IncrementalBatch]:
    """Yields batches of a shape with the rows in the given order; the last may have too few rows, see `filled`."""
    new = [observation._replace(progression=observation.progression[start:]) for observation, _, start in rows]
    columns = policy.ordered(columns_of_observations(new, policy.vocabulary))
    layout = policy.layout
    table_BS, standing_BP2, tile_BT = layout.arranged(columns.sparse, shape.tiles)
    new_B, start_B = columns.progression.lengths, np.array([row.start for row in rows])
    event_BE = padded(columns.progression.values.astype(np.int32) + layout.event_first, new_B, shape.new)
    candidate_BA = padded(columns.actions.values.astype(np.int32) + 1, columns.actions.lengths, shape.candidates)
    paid_BS: NDArray[np.bool_] | None = None
    if PRIOR_KEY in policy.card:  # the new events alone do not tell
        whole = policy.ordered(columns_of_observations([row.observation for row in rows], policy.vocabulary))
        paid_BS = riichi_paid(collate(whole, layout), layout).numpy()
    slot_B, numeric_BN = np.array([row.slot for row in rows]), columns.numeric.astype(np.float32)
    for first in range(0, len(rows), shape.rows):

        def part(array_B: NDArray[np.generic], first: int = first) -> torch.Tensor:
            return torch.from_numpy(array_B[first : first + shape.rows])

        yield IncrementalBatch(
            table_BS=part(table_BS),
            standing_BP2=part(standing_BP2),
            tile_BT=part(tile_BT),
            numeric_BN=part(numeric_BN),
            event_GE=part(event_BE),
            group_B=torch.arange(min(shape.rows, len(rows) - first)),
            seen_B=part(start_B + new_B),
            candidate_BA=part(candidate_BA),
            paid_BS=None if paid_BS is None else part(paid_BS),
            slot_B=part(slot_B),
            start_B=part(start_B),
            num_seen=shape.seen,
        )


def filled(batches: Sequence[IncrementalBatch], num_rows: int) -> IncrementalBatch:
    """Concatenates batches of one shape, and pads them to `num_rows` rows with copies of the first row at slot 0."""
    num = sum(map(len, batches))
    columns: dict[str, Any] = {}
    for field in fields(IncrementalBatch):
        first, *others = (getattr(batch, field.name) for batch in batches)
        is_column = isinstance(first, torch.Tensor)
        columns[field.name] = torch.cat([first, *others, *[first[:1]] * (num_rows - num)]) if is_column else first
    made = IncrementalBatch(**columns)
    made.group_B = torch.arange(num_rows)
    made.slot_B[num:] = 0
    made.seen_B[num:] -= made.start_B[num:]
    made.start_B[num:] = 0
    return made
