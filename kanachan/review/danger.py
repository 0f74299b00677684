"""The estimated danger of discards at each decision, as a review shows it.

Shapes: A candidates, S seats.
"""

from collections.abc import Sequence
from typing import NamedTuple

from annotate.annotation import Annotation
from annotate.vocabulary import Vocabulary, tile34_of
from kanachan.data.columns import columns_of_annotations
from kanachan.inference.danger import estimate_danger, predicts_danger
from kanachan.inference.policy import DEFAULT_BATCH, Policy


class Danger(NamedTuple):
    """Probabilities for one decision; None for what no network predicts."""

    deal_in: list[float | None]
    """[A] that the discard deals in; None for other actions"""
    win: list[float | None]
    """[S] that the seat wins the round"""
    tenpai: list[float | None]
    """[S] that the seat is tenpai; None for the own one"""


def dangers(policies: Sequence[Policy], annotations: Sequence[Annotation]) -> list[Danger]:
    """Returns what the first of `policies` with the auxiliary heads predicts for each of `annotations`."""
    policy = next(filter(predicts_danger, policies), None)
    if policy is None:
        unknown: list[float | None] = [None] * policies[0].vocabulary.num_seats
        return [Danger([None] * len(a.actions), unknown, unknown) for a in annotations]
    found = []
    for first in range(0, len(annotations), DEFAULT_BATCH):
        part = annotations[first : first + DEFAULT_BATCH]
        columns = columns_of_annotations(part, policy.vocabulary)
        estimate = estimate_danger(policy, columns)
        rows = zip(
            part,
            columns.seat.tolist(),
            *(each.tolist() for each in (estimate.deal_in_BK, estimate.win_BO, estimate.tenpai_BH)),
            strict=True,
        )
        for annotation, seat, by_kind, win, tenpai in rows:
            found.append(
                Danger(
                    _of_actions(annotation, by_kind, policy.vocabulary),
                    _of_seats(seat, win[:-1]),
                    _of_seats(seat, [None, *tenpai]),
                )
            )
    return found


def _of_actions(annotation: Annotation, by_kind: Sequence[float], vocabulary: Vocabulary) -> list[float | None]:
    """Returns the estimate of each candidate, from those by kind of tile."""
    deal_in: list[float | None] = []
    for token in annotation.actions:
        name, values = vocabulary.action.describe(token)
        deal_in.append(round(by_kind[tile34_of(values["tile"])], 5) if name == "discard" else None)
    return deal_in


def _of_seats(seat: int, values: Sequence[float | None]) -> list[float | None]:
    """Returns by seat what is given from a seat on."""
    found = [None if value is None else round(value, 5) for value in values]
    return [found[(other - seat) % len(found)] for other in range(len(found))]
