"""The orders in which a game can end, as classes.

Shapes: B rows, X any leading dimensions, S seats, O orders of the seats, R ranks.
"""

import math
from itertools import permutations

import torch
from torch import Tensor, nn


class SeatOrders(nn.Module):
    """The orders in which a game can end, numbered as `itertools.permutations` of the ranks.

    Order o gives place s the rank rank_OS[o, s]. Place 0 is seat 0, or the actor if seats are counted from it.
    """

    rank_OS: Tensor
    code_O: Tensor
    number_SO: Tensor
    """number from seat 0's view of order o in seat s's view"""
    number_from_SO: Tensor
    """number from seat s's view of order o in seat 0's view"""
    orders_RX: Tensor
    """the orders that give place 0 each rank"""

    def __init__(self, num_seats: int) -> None:
        super().__init__()
        self.num_seats = num_seats
        self.num_orders = math.factorial(num_seats)
        rank_OS = torch.tensor(list(permutations(range(num_seats))))
        self.register_buffer("rank_OS", rank_OS, persistent=False)
        self.register_buffer("code_O", self._code(rank_OS), persistent=False)
        turned_SOS = torch.stack([rank_OS.roll(-seat, dims=1) for seat in range(num_seats)])
        number_from_SO = self.number(turned_SOS.flatten(0, 1)).view(num_seats, -1)
        self.register_buffer("number_from_SO", number_from_SO, persistent=False)
        self.register_buffer("number_SO", number_from_SO.argsort(dim=1), persistent=False)
        orders_RX = rank_OS[:, 0].argsort(stable=True).view(num_seats, -1)
        self.register_buffer("orders_RX", orders_RX, persistent=False)

    def number(self, rank_BS: Tensor) -> Tensor:
        """Returns order_B: the numbers of the orders with these ranks."""
        return torch.searchsorted(self.code_O, self._code(rank_BS))

    def rank_probability(self, probability_BO: Tensor) -> Tensor:
        """Returns probability_BR of the ranks of place 0: sums over the orders that give each rank."""
        return probability_BO[:, self.orders_RX].sum(dim=2)

    def rank_log_probability(self, log_BO: Tensor) -> Tensor:
        """Returns log_probability_BR of the ranks of place 0, from the log probabilities of the orders."""
        return log_BO[:, self.orders_RX].logsumexp(dim=2)

    def seen_from(self, value_XO: Tensor) -> Tensor:
        """Converts values of orders counted from seat 0 to value_XSO of orders counted from each seat (its place 0)."""
        return value_XO[..., self.number_SO]

    def seen_from_first(self, value_XSO: Tensor) -> Tensor:
        """Converts values of orders counted from each seat to value_XSO of orders counted from seat 0."""
        place_XSO = self.number_from_SO.expand(value_XSO.shape)
        return value_XSO.gather(-1, place_XSO)

    @staticmethod
    def _code(rank_BS: Tensor) -> Tensor:
        """Returns codes that have the ranks as digits and increase with the number of the order."""
        num_seats = rank_BS.shape[1]
        digit_S = num_seats ** torch.arange(num_seats - 1, -1, -1, device=rank_BS.device)
        return (rank_BS * digit_S).sum(dim=1)
