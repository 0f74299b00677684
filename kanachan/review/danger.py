"""The estimated danger of discards, as a review shows it.

Shapes: A candidates, S seats.
"""

from collections.abc import Sequence
from typing import NamedTuple

from annotate.annotation import Annotation
from kanachan.inference.policy import Policy


class Danger(NamedTuple):
    """Probabilities for one decision; None for what no network predicts."""

    deal_in: list[float | None]
    """[A] that the discard deals in; None for other actions"""
    tenpai: list[float | None]
    """[S] that the seat is tenpai; None for the own seat"""
    win: list[float | None]
    """[S] that the seat wins the round; None for the own seat"""


def dangers(policies: Sequence[Policy], annotations: Sequence[Annotation], chunk: int) -> list[Danger]:
    """Returns what `policies` predict for each of `annotations`; so far no network has such a head.

    Args:
        chunk: decisions per forward pass.
    """
    return [
        Danger([None] * len(annotation.actions), [None] * num_seats, [None] * num_seats)
        for num_seats in (policies[0].vocabulary.num_seats,)
        for annotation in annotations
    ]
