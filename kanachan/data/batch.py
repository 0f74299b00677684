"""Converts columns to tensors, with the same code in training and in play.

A situation is the state of the table as its seat sees it (`Batch.table_BS` to `numeric_BN`) and the events of the round
so far. The decisions of one seat in one round share most events. Consecutive rows in which each sees all events of the
previous row form a group; the events of a group are stored and passed through the network once.

Shapes: B decisions, S tokens of the table, P seats, T tiles that a seat sees (padded), N numeric features, G groups,
E events (padded), A candidate actions (padded), R results, H other seats, K kinds of tiles, L numbers of a soft
label.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Self, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from annotate.annotation import Annotation
from annotate.blocks import Field
from annotate.vocabulary import HAND_SLOT_FIRST, NUM_TILES, NUM_TILES34, TABLE, Vocabulary, tile34_of
from kanachan.data.columns import Columns, ObservationColumns, Ragged, columns_of_annotations, spans
from kanachan.data.symmetry import SeatRotation, Tables
from kanachan.data.varlen import VarlenLayout, varlen_layout

_ROUNDED_CANDIDATES = 32
_TILE34_OF_SLOT = np.repeat([tile34_of(tile) for tile in range(NUM_TILES)], np.diff(HAND_SLOT_FIRST))


class TokenLayout:
    """The numbering of all tokens that the encoder embeds: padding, sparse features, events."""

    PAD = 0
    PADDING = "padding"
    """the meaning of `PAD`"""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        sparse = vocabulary.sparse
        self.sparse_first = 1
        self.event_first = self.sparse_first + sparse.size
        self.num_tokens = self.event_first + vocabulary.progression.size
        self.num_candidates = 1 + vocabulary.action.size
        """number of candidate tokens: 0 is padding, the actions follow"""
        self._place_of_sparse = np.array(vocabulary.place_of_sparse)

    def meanings(self) -> list[Hashable]:
        """Returns the meaning of each token, in terms that all vocabularies share (`Vocabulary.meaning`)."""
        return self._meanings(self.vocabulary.sparse, self.vocabulary.progression)

    def candidate_meanings(self) -> list[Hashable]:
        return self._meanings(self.vocabulary.action)

    def _meanings(self, *fields: Field) -> list[Hashable]:
        tokens = (self.vocabulary.meaning(field, token) for field in fields for token in range(field.size))
        return [self.PADDING, *tokens]

    def permuted(self, tables: Tables) -> NDArray[np.int64]:
        """Returns the token that each token becomes, [P, N]."""
        sparse, progression = (table.astype(np.int64) for table in (tables.sparse, tables.progression))
        parts = [np.full((len(sparse), 1), self.PAD), sparse + self.sparse_first, progression + self.event_first]
        return np.concatenate(parts, axis=1)

    def arranged(
        self, sparse: Ragged, num_tiles: int | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Returns sparse tokens by their place: table_BS, standing_BP2 (grade and rank) and tile_BT, where T is
        `num_tiles` or the maximum of a row. Raises ValueError if a situation does not have one token of each place."""
        num_rows, num_places = len(sparse), self.vocabulary.num_places
        place = self._place_of_sparse[sparse.values]
        token = sparse.values.astype(np.int32) + self.sparse_first
        row = np.repeat(np.arange(num_rows), sparse.lengths)
        is_tile = place < 0
        arranged = np.zeros((num_rows, num_places), np.int32)
        arranged[row[~is_tile], place[~is_tile]] = token[~is_tile]
        if not arranged.all() or len(token) - int(is_tile.sum()) != arranged.size:
            raise ValueError(
                f"field 1 (sparse) of a situation must have one token each of {', '.join(TABLE)}, and a grade and a "
                "rank of every seat"
            )
        tiles = padded(token[is_tile], np.bincount(row[is_tile], minlength=num_rows), num_tiles)
        table_BS, standing = np.split(arranged, [len(TABLE)], axis=1)
        return table_BS, standing.reshape(num_rows, self.vocabulary.num_seats, 2), tiles

    def table_value(self, table_BS: Tensor, name: str) -> Tensor:
        """Returns value_B (int64) of the table token `name`: the room, the style, the seat …"""
        first = self.sparse_first + self.vocabulary.sparse[name].first
        return table_BS[:, TABLE.index(name)].long() - first

    def grades(self, standing_BP2: Tensor) -> Tensor:
        """Returns the grade of every seat [B, P], int64."""
        block, num_seats = self.vocabulary.sparse["standing"], self.vocabulary.num_seats
        first_P = torch.arange(num_seats, device=standing_BP2.device) * (block.size // num_seats)
        return standing_BP2[:, :, 0].long() - (self.sparse_first + block.first) - first_P


@dataclass(slots=True)
class Labels:
    """Data that only recorded decisions have: the action taken, the results, and the hands hidden from the seat."""

    game_B: Tensor
    """int64: the bits of `kanachan.data.columns.game_key`"""
    chosen_B: Tensor
    """int64: index of the action taken among the candidates"""
    result_BR: Tensor
    """int32, as annotated"""
    hand_count_BHK: Tensor | None = None
    """uint8: tiles of each kind in the hands of the next, the opposite and the previous seat, red fives counted as
    fives; None if the columns have no hidden hands"""
    label_BL: Tensor | None = None
    """float32: soft labels of the stage's objective instead of the action taken or the results, if there are any"""


@dataclass(slots=True)
class Batch:
    """Observations as tensors, with their labels if they are decisions of a record."""

    table_BS: Tensor
    """int32: room, style, seat, wind, round, tiles left (`TokenLayout`)"""
    standing_BP2: Tensor
    """int32: grade and rank of every seat"""
    tile_BT: Tensor
    """int32: dora indicators, hand, drawn tile; 0 is padding"""
    numeric_BN: Tensor
    """float32, as annotated: sticks, deposits, points"""
    event_GE: Tensor
    """int32: the events that the last decision of each group sees, from the start of the round; 0 is padding"""
    group_B: Tensor
    """int64: the group of each decision"""
    seen_B: Tensor
    """int64: the number of events of its group that each decision sees"""
    candidate_BA: Tensor
    """int32: action + 1; 0 is padding"""
    labels: Labels | None = None
    """targets, never inputs; None in live play"""
    varlen: VarlenLayout | None = None
    """the layout of the concatenated rows, if there is one (`with_varlen_layout`)"""
    paid_BS: Tensor | None = None
    """bool: whether each seat has paid for a riichi in the round; None: as the events tell (`riichi_paid`)"""

    def __len__(self) -> int:
        return len(self.table_BS)

    @property
    def chosen_B(self) -> Tensor:
        return self._labelled().chosen_B

    @property
    def result_BR(self) -> Tensor:
        return self._labelled().result_BR

    @property
    def game_B(self) -> Tensor:
        return self._labelled().game_B

    @property
    def hand_count_BHK(self) -> Tensor | None:
        return self._labelled().hand_count_BHK

    @property
    def label_BL(self) -> Tensor | None:
        return self._labelled().label_BL

    def with_soft_labels(self, label_BL: Tensor) -> Self:
        return replace(self, labels=replace(self._labelled(), label_BL=label_BL))

    def _labelled(self) -> Labels:
        assert self.labels is not None, "a batch without labels: a target, a loss or a metric needs recorded decisions"
        return self.labels

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Self:
        return with_each(self, lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Self:
        return with_each(self, lambda tensor: tensor.pin_memory())


PartT = TypeVar("PartT")


def with_each(part: PartT, change: Callable[[Tensor], Tensor]) -> PartT:
    """Changes each tensor in a tensor, a dataclass or a named tuple of such parts; other values stay as they are."""
    if isinstance(part, Tensor):
        return change(part)  # type: ignore[return-value]
    if isinstance(part, tuple):
        return type(part)(*(with_each(each, change) for each in part))
    if not is_dataclass(part):
        return part
    changed = {field.name: with_each(getattr(part, field.name), change) for field in fields(part)}
    return replace(part, **changed)  # type: ignore[type-var]


def collate(columns: ObservationColumns, layout: TokenLayout) -> Batch:
    """Converts rows to a batch in the same order, with labels if the columns have them."""
    table_BS, standing_BP2, tile_BT = layout.arranged(columns.sparse)
    is_first_B = ~_continues(columns)
    group_B = np.cumsum(is_first_B) - 1
    last_G = np.flatnonzero(np.append(is_first_B, True)[1:])
    events = columns.progression.take(last_G)
    event_GE = padded(events.values.astype(np.int32) + layout.event_first, events.lengths)
    return Batch(
        table_BS=torch.from_numpy(table_BS),
        standing_BP2=torch.from_numpy(standing_BP2),
        tile_BT=torch.from_numpy(tile_BT),
        numeric_BN=torch.from_numpy(columns.numeric.astype(np.float32)),
        event_GE=torch.from_numpy(event_GE),
        group_B=torch.from_numpy(group_B),
        seen_B=torch.from_numpy(columns.progression.lengths),
        candidate_BA=torch.from_numpy(padded(columns.actions.values.astype(np.int32) + 1, columns.actions.lengths)),
        labels=_labels(columns, layout.vocabulary) if isinstance(columns, Columns) else None,
    )


def _labels(columns: Columns, vocabulary: Vocabulary) -> Labels:
    return Labels(
        game_B=torch.from_numpy(columns.game.view(np.int64).copy()),
        chosen_B=torch.from_numpy(columns.chosen.astype(np.int64)),
        result_BR=torch.from_numpy(columns.results.copy()),
        hand_count_BHK=None if columns.hidden is None else _hand_counts(columns.hidden, vocabulary),
        label_BL=None if columns.label is None else torch.from_numpy(columns.label.copy()),
    )


def with_varlen_layout(batch: Batch, layout: TokenLayout) -> Batch:
    """Adds the varlen layout to a non-empty batch on the CPU, and pads the candidates to a round number."""
    num_candidates = batch.candidate_BA.shape[1]
    candidate_BA = F.pad(batch.candidate_BA, (0, -num_candidates % _ROUNDED_CANDIDATES))
    varlen = varlen_layout(
        batch.tile_BT.numpy(),
        batch.event_GE.numpy(),
        batch.group_B.numpy(),
        batch.seen_B.numpy(),
        candidate_BA.numpy(),
        num_seats=layout.vocabulary.num_seats,
        max_progression=layout.vocabulary.max_progression,
    )
    return replace(batch, candidate_BA=candidate_BA, varlen=varlen)


def batch_of_annotations(annotations: Sequence[Annotation], vocabulary: Vocabulary) -> Batch:
    """Returns checked annotations as a batch in the same order, with the actor as seat 0."""
    return batch_of_columns(columns_of_annotations(annotations, vocabulary), vocabulary)


def batch_of_columns(columns: ObservationColumns, vocabulary: Vocabulary) -> Batch:
    """Returns decisions as a batch in the same order, with the actor as seat 0."""
    return collate(SeatRotation(vocabulary).actor_first(columns), TokenLayout(vocabulary))


def _hand_counts(hidden: Ragged, vocabulary: Vocabulary) -> Tensor:
    hand = vocabulary.hidden["hand"]
    (_, num_others, _), (_, num_slots, _) = hand.factors
    seat, slot = np.divmod(hidden.values.astype(np.int64) - hand.first, num_slots)
    row = np.repeat(np.arange(len(hidden)), hidden.lengths)
    cell = (row * num_others + seat) * NUM_TILES34 + _TILE34_OF_SLOT[slot]
    counts = np.bincount(cell, minlength=len(hidden) * num_others * NUM_TILES34).astype(np.uint8)
    return torch.from_numpy(counts.reshape(-1, num_others, NUM_TILES34))


def _continues(columns: ObservationColumns) -> NDArray[np.bool_]:
    """Returns whether each row [B] sees all events of the row before it and is of the same game (if games are
    known)."""
    events, length_B = columns.progression, columns.progression.lengths
    continues_B = np.zeros(len(columns), bool)
    continues_B[1:] = length_B[1:] >= length_B[:-1]
    if isinstance(columns, Columns):
        continues_B[1:] &= columns.game[1:] == columns.game[:-1]
    later = np.flatnonzero(continues_B)
    compared = length_B[later - 1]
    before, after = (events.values[spans(events.starts[rows], compared)] for rows in (later - 1, later))
    if len(later):
        # every progression has its first event, so no span is empty
        continues_B[later] = np.logical_and.reduceat(before == after, np.cumsum(compared) - compared)
    return continues_B


def padded(values: NDArray[np.int32], length_B: NDArray[np.int64], width: int | None = None) -> NDArray[np.int32]:
    """Arranges concatenated rows of unequal length as a grid padded with 0, as wide as the longest row or `width`."""
    is_value = np.arange(int(length_B.max(initial=0)) if width is None else width) < length_B[:, None]
    grid = np.zeros(is_value.shape, np.int32)
    grid[is_value] = values
    return grid
