"""The state of a game between two rounds or at a decision, without tiles and events: the input of the reward predictor.

Seats are numbered as in the record: seat 0 is the first dealer. Tensors are integers.

Shapes: N rounds or decisions, B decisions of a batch, X any leading dimensions, S seats.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from annotate.game.record import STICK
from annotate.vocabulary import Vocabulary
from kanachan.data.batch import Batch, TokenLayout
from kanachan.data.columns import ObservationColumns, token_value
from kanachan.data.round_columns import RoundColumns


class RoundState(NamedTuple):
    """The scores, the round and the table."""

    score_XS: Tensor
    """current scores, after paying 1,000 for each riichi stick"""
    grade_XS: Tensor
    wind_X: Tensor
    dealer_X: Tensor
    """seat of the dealer, which is also the number of the round"""
    honba_X: Tensor
    deposits_X: Tensor
    """riichi sticks on the table"""
    room_X: Tensor
    style_X: Tensor
    """0: East only, 1: East and South"""

    @classmethod
    def of_rounds(cls, rounds: RoundColumns) -> "RoundState":
        """Returns the states at the starts of rounds [N]."""
        return cls(*(_integers(getattr(rounds, name.rpartition("_")[0])) for name in cls._fields))

    @classmethod
    def of_observations(cls, columns: ObservationColumns, vocabulary: Vocabulary) -> "RoundState":
        """Returns the states at decisions [N], whose seats must be as annotated, not canonicalised."""
        names, num_seats = vocabulary.numeric, vocabulary.num_seats
        scores = [names.index(f"score_{seat}") for seat in range(num_seats)]
        of_table = (token_value(columns.sparse, vocabulary, block) for block in ("wind", "round", "room", "style"))
        wind_N, dealer_N, room_N, style_N = map(torch.from_numpy, of_table)
        return cls(
            score_XS=_integers(columns.numeric[:, scores]),
            grade_XS=torch.from_numpy(grades(columns, vocabulary)),
            wind_X=wind_N,
            dealer_X=dealer_N,
            honba_X=_integers(columns.numeric[:, names.index("honba")]),
            deposits_X=_integers(columns.numeric[:, names.index("deposits")]),
            room_X=room_N,
            style_X=style_N,
        )

    @classmethod
    def at_start_of(cls, batch: Batch, layout: TokenLayout) -> "RoundState":
        """Returns the states at the starts of the rounds of decisions [B], with the seats of the record: before
        anyone paid for a riichi in the round."""
        names, num_seats = layout.vocabulary.numeric, layout.vocabulary.num_seats
        # the token of the deciding seat is never rotated
        shift_B = layout.table_value(batch.table_BS, "seat")
        place_BS = (torch.arange(num_seats, device=shift_B.device) - shift_B[:, None]) % num_seats
        number_BN = batch.numeric_BN.round().long()
        # no indexing by a list, which is copied to a GPU only after the GPU has finished all its work
        score_BS = torch.stack([number_BN[:, names.index(f"score_{seat}")] for seat in range(num_seats)], dim=1)
        paid_BS = riichi_paid(batch, layout) if batch.paid_BS is None else batch.paid_BS
        return cls(
            score_XS=(score_BS + STICK * paid_BS).gather(1, place_BS),
            grade_XS=layout.grades(batch.standing_BP2).gather(1, place_BS),
            wind_X=layout.table_value(batch.table_BS, "wind"),
            dealer_X=(layout.table_value(batch.table_BS, "round") + shift_B) % num_seats,
            honba_X=number_BN[:, names.index("honba")],
            deposits_X=number_BN[:, names.index("deposits")] - paid_BS.sum(dim=1),
            room_X=layout.table_value(batch.table_BS, "room"),
            style_X=layout.table_value(batch.table_BS, "style"),
        )

    def at(self, index: Any) -> "RoundState":
        """Returns the states at an index into the leading dimensions."""
        return self.each(lambda column: column[index])

    def each(self, change: Callable[[Tensor], Tensor]) -> "RoundState":
        return RoundState(*map(change, self))


def riichi_paid(batch: Batch, layout: TokenLayout) -> Tensor:
    """Returns whether each seat of a batch with all events has paid for a riichi in the round [B, S]."""
    discard, num_seats = layout.vocabulary.progression["discard"], layout.vocabulary.num_seats
    offset_GE = batch.event_GE - (layout.event_first + discard.first)
    is_riichi_GE = (offset_GE >= 0) & (offset_GE < discard.size) & (offset_GE % 2 == 1)  # the last factor of a discard
    seat_S = torch.arange(num_seats, device=offset_GE.device)
    declares_GES = is_riichi_GE[..., None] & (offset_GE[..., None] // (discard.size // num_seats) == seat_S)
    num_events = offset_GE.shape[1]
    place_GES = torch.arange(num_events, device=offset_GE.device)[:, None].where(declares_GES, num_events)
    drawn = layout.vocabulary.sparse["drawn"]
    offset_BT = batch.tile_BT - (layout.sparse_first + drawn.first)
    has_drawn_B = ((offset_BT >= 0) & (offset_BT < drawn.size)).any(dim=1)
    # while a seat may win on the last discard, a riichi with it is not paid
    num_past_B = batch.seen_B - 1 + has_drawn_B.long()
    return place_GES.amin(dim=1)[batch.group_B] < num_past_B[:, None]


def grades(columns: ObservationColumns, vocabulary: Vocabulary) -> NDArray[np.int64]:
    """Returns the grade of every seat [N, S]."""
    block, num_seats = vocabulary.sparse["standing"], vocabulary.num_seats
    offset = columns.sparse.values.astype(np.int64) - block.first
    standing = offset[(offset >= 0) & (offset < block.size)].reshape(len(columns), num_seats, 2)  # grade, then rank
    return standing[:, :, 0] % (block.size // num_seats)


def _integers(column: NDArray[np.integer]) -> Tensor:
    return torch.from_numpy(column.astype(np.int64))
