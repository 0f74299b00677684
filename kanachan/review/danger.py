"""The estimated danger of discards at each decision, as a review shows it.

Shapes: A candidates, S seats.
"""

from collections.abc import Sequence
from typing import NamedTuple

from annotate.annotation import Annotation
from annotate.vocabulary import Vocabulary, tile34_of
from kanachan.data.columns import columns_of_annotations
from kanachan.inference.danger import FITTED_SEATS, danger_inputs, estimate_danger, predicts_danger
from kanachan.inference.policy import Policy


class Danger(NamedTuple):
    """Probabilities for one decision; None for what no network predicts."""

    deal_in: list[float | None]
    """[A] that the discard deals in; None for other actions, and where the estimate is not fitted to such games"""
    win: list[float | None]
    """[S] that the seat wins the round"""


def dangers(policies: Sequence[Policy], annotations: Sequence[Annotation], chunk: int) -> list[Danger]:
    """Returns what the first of `policies` with the auxiliary heads predicts for each of `annotations`.

    Args:
        chunk: decisions per forward pass.
    """
    policy = next(filter(predicts_danger, policies), None)
    if policy is None:
        num_seats = policies[0].vocabulary.num_seats
        return [Danger([None] * len(a.actions), [None] * num_seats) for a in annotations]
    found = []
    for first in range(0, len(annotations), chunk):
        part = annotations[first : first + chunk]
        columns = columns_of_annotations(part, policy.vocabulary)
        by_kind: Sequence[Sequence[float] | None]
        if policy.vocabulary.num_seats == FITTED_SEATS:
            estimate = estimate_danger(policy, columns)
            by_kind, win = estimate.deal_in_BK.tolist(), estimate.win_BO.tolist()
        else:
            by_kind, win = [None] * len(part), danger_inputs(policy, columns).win_BO.tolist()
        for i, annotation in enumerate(part):
            found.append(_danger(annotation, int(columns.seat[i]), by_kind[i], win[i], policy.vocabulary))
    return found


def _danger(
    annotation: Annotation, seat: int, by_kind: Sequence[float] | None, win: Sequence[float], vocabulary: Vocabulary
) -> Danger:
    """Sorts an estimate, by kind of tile and by seats from the own one on, by candidate and by seat."""
    deal_in: list[float | None] = []
    for token in annotation.actions:
        name, values = vocabulary.action.describe(token)
        deal_in.append(None if by_kind is None or name != "discard" else round(by_kind[tile34_of(values["tile"])], 5))
    wins: list[float | None] = [None] * vocabulary.num_seats
    for step, probability in enumerate(win[: vocabulary.num_seats]):
        wins[(seat + step) % vocabulary.num_seats] = round(probability, 5)
    return Danger(deal_in, wins)
