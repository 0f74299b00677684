"""The estimated danger of discards at each decision, as a review shows it.

Shapes: K kinds of tiles, S seats.
"""

from collections.abc import Sequence
from typing import NamedTuple

from annotate.annotation import Annotation
from annotate.runtime.json_output import rounded
from annotate.vocabulary import NUM_TILES34
from kanachan.data.columns import columns_of_annotations
from kanachan.inference.danger import estimate_danger, predicts_danger
from kanachan.inference.policy import Policy


class DecisionDanger(NamedTuple):
    """Probabilities for one decision; None if no network predicts them."""

    deal_in: list[float | None]
    """[K] probability that a discard of this kind deals in"""
    win: list[float | None]
    """[S] probability that the seat wins the round"""
    tenpai: list[float | None]
    """[S] probability that the seat is tenpai; None for the player's own seat"""


def dangers(policies: Sequence[Policy], annotations: Sequence[Annotation]) -> list[DecisionDanger]:
    """Returns the danger of each of `annotations`, predicted by the first of `policies` with auxiliary heads."""
    policy = next(filter(predicts_danger, policies), None)
    if policy is None:
        unknown: list[float | None] = [None] * policies[0].vocabulary.num_seats
        return [DecisionDanger([None] * NUM_TILES34, unknown, unknown)] * len(annotations)
    columns = columns_of_annotations(annotations, policy.vocabulary)
    estimate = estimate_danger(policy, columns)
    estimates = estimate.deal_in_BK, estimate.win_BO[:, :-1], estimate.tenpai_BH
    rows = zip(columns.seat.tolist(), *(each.tolist() for each in estimates), strict=True)
    return [
        DecisionDanger(_rounded(deal_in), _of_seats(seat, win), _of_seats(seat, [None, *tenpai]))
        for seat, deal_in, win, tenpai in rows
    ]


def _of_seats(seat: int, values: Sequence[float | None]) -> list[float | None]:
    """Returns values by seat; `values` start at the seat `seat`."""
    return _rounded([values[(other - seat) % len(values)] for other in range(len(values))])


def _rounded(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else rounded(value) for value in values]
