"""Computes the targets of the stages from the results of decisions: for the loss of a training batch, and for the
columns of an evaluation.

Shapes: B decisions, R results of a decision or ranks, S seats.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from annotate.vocabulary import Vocabulary
from kanachan.data.batch import Batch
from kanachan.data.columns import Columns


class Results(NamedTuple):
    """The results of decisions and the deciding seats."""

    result_BR: Tensor
    seat_B: Tensor
    vocabulary: Vocabulary

    @classmethod
    def of_batch(cls, batch: Batch, vocabulary: Vocabulary) -> "Results":
        return cls(batch.result_BR, torch.zeros_like(batch.chosen_B), vocabulary)

    @classmethod
    def of_columns(cls, columns: Columns, vocabulary: Vocabulary) -> "Results":
        return cls(torch.from_numpy(columns.results.copy()), torch.from_numpy(columns.seat.copy()), vocabulary)

    def named(self, name: str) -> Tensor:
        """Returns the result of this name, [B]."""
        return self.result_BR[:, self.vocabulary.results.index(name)]

    def by_seat(self, name: str) -> Tensor:
        """Returns the results `NAME_0`, `NAME_1` … of the seats, [B, S]."""
        # no indexing by a list, which is copied to a GPU only after the GPU has finished all its work
        return torch.stack([self.named(f"{name}_{seat}") for seat in range(self.vocabulary.num_seats)], dim=1)


def round_delta(results: Results) -> Tensor:
    """Returns points_B: the change of the actor's score in the round."""
    return results.by_seat("round_delta").gather(1, results.seat_B[:, None])[:, 0].float()


def grading_delta(results: Results) -> Tensor:
    """Returns points_B: the actor's grading points of the game."""
    return results.named("grading_delta").float()


def final_rank(results: Results) -> Tensor:
    """Returns rank_B, 0 = first: the actor's rank at the end of the game."""
    return results.named("rank").long()


def final_ranks_from_actor(results: Results) -> Tensor:
    """Returns rank_BS: the ranks of the actor and of the following seats, in turn order, at the end of the game."""
    num_seats = results.vocabulary.num_seats
    seat_BS = (results.seat_B[:, None] + torch.arange(num_seats, device=results.seat_B.device)) % num_seats
    return results.by_seat("rank").long().gather(1, seat_BS)
