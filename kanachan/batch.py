"""Columns to tensors: padded grids of tokens, the same code in training and in play.

Shapes: B decisions, T tokens of a situation (padded), N numeric features, A candidate actions (padded), R results.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from annotate.annotation import Annotation
from annotate.vocabulary import Vocabulary
from kanachan.columns import Columns, Ragged, columns_of_annotations
from kanachan.symmetry import SeatRenaming


class TokenLayout:
    """One row of embeddings for all that the encoder reads: padding, summary, numeric features, sparse, progression."""

    PAD = 0
    SUMMARY = 1

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.numeric_first = 2
        self.num_numeric = len(vocabulary.numeric)
        self.sparse_first = self.numeric_first + self.num_numeric
        self.progression_first = self.sparse_first + vocabulary.sparse.size
        self.num_tokens = self.progression_first + vocabulary.progression.size
        self.num_candidates = 1 + vocabulary.action.size
        """0 is padding, then the actions"""
        self.num_leading = 1 + self.num_numeric
        """tokens of every situation that stand before its sparse features"""


@dataclass(slots=True)
class Batch:
    """Decisions as tensors."""

    token_BT: Tensor
    """int32: summary, identities of the numeric features, sparse features, events, padding (`TokenLayout`)"""
    position_BT: Tensor
    """int32: 1, 2, … for the events; 0 elsewhere"""
    numeric_BN: Tensor
    """float32, as annotated: sticks, deposits, points"""
    candidate_BA: Tensor
    """int32: action + 1; 0 is padding"""
    chosen_B: Tensor
    """int64: index of the action taken, into the candidates"""
    result_BR: Tensor
    """int32, as annotated"""
    seat_B: Tensor
    """int64: the seat that decides; 0 where seats were renamed so that it is"""
    game_B: Tensor
    """int64: the bits of `kanachan.columns.game_key`"""

    def __len__(self) -> int:
        return len(self.token_BT)

    def to(self, device: torch.device | str, non_blocking: bool = False) -> "Batch":
        return Batch(*(getattr(self, f.name).to(device, non_blocking=non_blocking) for f in fields(self)))

    def pin_memory(self) -> "Batch":
        return Batch(*(getattr(self, f.name).pin_memory() for f in fields(self)))


def collate(columns: Columns, layout: TokenLayout) -> Batch:
    """Pads the rows to their longest, in their order."""
    num_sparse_B1 = columns.sparse.lengths[:, None]
    num_events_B1 = columns.progression.lengths[:, None]
    first_event_B1 = layout.num_leading + num_sparse_B1
    place_T = np.arange(int((first_event_B1 + num_events_B1).max(initial=layout.num_leading)))
    is_event_BT = (place_T >= first_event_B1) & (place_T < first_event_B1 + num_events_B1)
    token_BT = np.full(is_event_BT.shape, layout.PAD, np.int32)
    token_BT[:, 0] = layout.SUMMARY
    token_BT[:, 1 : layout.num_leading] = np.arange(layout.numeric_first, layout.sparse_first)
    is_sparse_BT = (place_T >= layout.num_leading) & (place_T < first_event_B1)
    token_BT[is_sparse_BT] = columns.sparse.values.astype(np.int32) + layout.sparse_first
    token_BT[is_event_BT] = columns.progression.values.astype(np.int32) + layout.progression_first
    return Batch(
        token_BT=torch.from_numpy(token_BT),
        position_BT=torch.from_numpy(((place_T + 1 - first_event_B1) * is_event_BT).astype(np.int32)),
        numeric_BN=torch.from_numpy(columns.numeric.astype(np.float32)),
        candidate_BA=torch.from_numpy(_padded(columns.actions)),
        chosen_B=torch.from_numpy(columns.chosen.astype(np.int64)),
        result_BR=torch.from_numpy(columns.results.copy()),
        seat_B=torch.from_numpy(columns.seat.copy()),
        game_B=torch.from_numpy(columns.game.view(np.int64).copy()),
    )


def batch_of_annotations(
    annotations: Sequence[Annotation], vocabulary: Vocabulary, *, actor_first: bool = False
) -> Batch:
    """The batch of checked annotations in their order; `actor_first` as in the settings of the network's training."""
    columns = columns_of_annotations(annotations, vocabulary)
    if actor_first:
        columns = SeatRenaming(vocabulary).actor_first(columns)
    return collate(columns, TokenLayout(vocabulary))


def _padded(actions: Ragged) -> np.ndarray:
    lengths_B = actions.lengths
    is_action_BA = np.arange(int(lengths_B.max(initial=0))) < lengths_B[:, None]
    candidate_BA = np.zeros(is_action_BA.shape, np.int32)
    candidate_BA[is_action_BA] = actions.values.astype(np.int32) + 1
    return candidate_BA
