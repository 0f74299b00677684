"""The orders in which a game can end, counted from any seat."""

import torch

from kanachan.models.seat_orders import SeatOrders

ORDERS = SeatOrders(4)


def test_an_order_has_the_same_value_seen_from_any_seat() -> None:
    value_XSO = ORDERS.seen_from(torch.arange(24.0)[None])
    for seat in range(4):
        for order, rank_S in enumerate(ORDERS.rank_OS):  # ranks of the seats from this one onwards
            assert value_XSO[0, seat, order] == ORDERS.number(rank_S.roll(seat)[None])


def test_values_seen_from_the_seats_are_turned_back_to_the_first() -> None:
    value_XO = torch.rand(3, 5, 24)
    turned_back_XSO = ORDERS.seen_from_first(ORDERS.seen_from(value_XO))
    assert (turned_back_XSO == value_XO[..., None, :]).all()
