"""Targets of the stages, computed from the results of decisions: for the loss of a training batch, and for the
columns of an evaluation.

Shapes: B decisions, R results of a decision or ranks, S seats, O orders of the seats.
"""

import math
from itertools import permutations
from typing import NamedTuple

import torch
from torch import Tensor, nn

from annotate.vocabulary import Vocabulary
from kanachan.data.batch import Batch
from kanachan.data.columns import Columns


class Results(NamedTuple):
    """The results of decisions, and the deciding seats."""

    result_BR: Tensor
    seat_B: Tensor
    vocabulary: Vocabulary

    @classmethod
    def of_batch(cls, batch: Batch, vocabulary: Vocabulary) -> "Results":
        return cls(batch.result_BR, batch.seat_B, vocabulary)

    @classmethod
    def of_columns(cls, columns: Columns, vocabulary: Vocabulary) -> "Results":
        return cls(torch.from_numpy(columns.results.copy()), torch.from_numpy(columns.seat.copy()), vocabulary)

    def named(self, name: str) -> Tensor:
        """Returns [B] the result of this name."""
        return self.result_BR[:, self.vocabulary.results.index(name)]

    def by_seat(self, name: str) -> Tensor:
        """Returns [B, S] the results `NAME_0`, `NAME_1` … of the seats."""
        places = [self.vocabulary.results.index(f"{name}_{seat}") for seat in range(self.vocabulary.num_seats)]
        return self.result_BR[:, places]


def round_delta(results: Results) -> Tensor:
    """Returns points_B: the change of the actor's score in the round."""
    return results.by_seat("round_delta").gather(1, results.seat_B[:, None])[:, 0].float()


def grading_delta(results: Results) -> Tensor:
    """Returns points_B: the actor's grading points of the game."""
    return results.named("grading_delta").float()


def final_rank(results: Results) -> Tensor:
    """Returns rank_B, 0 = first: the actor's rank at the end of the game."""
    return results.named("rank").long()


def final_ranks_by_seat(results: Results) -> Tensor:
    """Returns rank_BS: the ranks of seat 0, seat 1 … at the end of the game."""
    return results.by_seat("rank").long()


def final_ranks_from_actor(results: Results) -> Tensor:
    """Returns rank_BS: the actor's rank at the end of the game, then those of the next seats in turn."""
    num_seats = results.vocabulary.num_seats
    seat_BS = (results.seat_B[:, None] + torch.arange(num_seats, device=results.seat_B.device)) % num_seats
    return final_ranks_by_seat(results).gather(1, seat_BS)


class SeatOrders(nn.Module):
    """The orders in which a game can end, numbered as `itertools.permutations` of the ranks.

    Order o gives place s the rank rank_OS[o, s]. Place 0 is seat 0, or the actor where ranks are counted from it.
    """

    rank_OS: Tensor
    code_O: Tensor

    def __init__(self, num_seats: int) -> None:
        super().__init__()
        self.num_seats = num_seats
        self.num_orders = math.factorial(num_seats)
        rank_OS = torch.tensor(list(permutations(range(num_seats))))
        self.register_buffer("rank_OS", rank_OS, persistent=False)
        self.register_buffer("code_O", self._code(rank_OS), persistent=False)

    def number(self, rank_BS: Tensor) -> Tensor:
        """Returns order_B: the number of the order with these ranks."""
        return torch.searchsorted(self.code_O, self._code(rank_BS))

    def rank_probability(self, probability_BO: Tensor, place_B: Tensor) -> Tensor:
        """Returns probability_BR of the ranks of one place of each row: the sums over the orders that give them."""
        rank_BO = self.rank_OS.T[place_B]
        zero_BR = probability_BO.new_zeros(len(probability_BO), self.num_seats)
        return zero_BR.scatter_add(1, rank_BO, probability_BO)

    @staticmethod
    def _code(rank_BS: Tensor) -> Tensor:
        """Returns the ranks as the digits of a number, which increases with the number of the order."""
        num_seats = rank_BS.shape[1]
        digit_S = num_seats ** torch.arange(num_seats - 1, -1, -1, device=rank_BS.device)
        return (rank_BS * digit_S).sum(dim=1)
