"""Completes how games ended: final scores and grading points of seats that have no decision of their own.

A decision names the ranks of all seats, but only its own seat's final score and grading points. A seat without any
decision is that of a player who was never connected, or of a sample of decisions. Final scores follow from the points
on the table or the game's last round; grading points from the table of a platform, if the other seats' are of it.

Shapes: G games, S seats.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from annotate.game.grading import (
    MJSOUL,
    TENHOU_TABLES,
    TENHOUI,
    has_mjsoul_points,
    mjsoul_delta,
    tenhou_delta,
    tenhou_grade,
    tenhou_room,
)
from annotate.game.settings import NUM_ROOMS, STYLES
from annotate.vocabulary import NUM_GRADES
from kanachan.data.round_columns import STICK

Integers = NDArray[np.int64]
_UNKNOWN = np.iinfo(np.int64).min
"""in a table of grading points: what it does not cover"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endings:
    """What is known of how games ended."""

    is_known: NDArray[np.bool_]
    """[G, S], whether `final_score` and `grading_delta` of a seat are"""
    final_score: Integers  # [G, S]
    grading_delta: Integers  # [G, S]
    rank: Integers  # [G, S], all known, as what follows
    room: Integers  # [G]
    style: Integers  # [G]
    grade: Integers  # [G, S]
    score: Integers
    """[G, S], after the last round that is known"""
    deposits: Integers
    """[G], sticks on the table then"""


def complete_endings(endings: Endings) -> tuple[Integers, Integers, NDArray[np.bool_]]:
    """Returns final scores [G, S], grading points [G, S], and whether all of a game's are known [G]."""
    final_GS = np.where(endings.is_known, endings.final_score, _final_scores(endings))
    grading_GS, is_covered_GS = _grading_deltas(endings, final_GS)
    grading_GS = np.where(endings.is_known, endings.grading_delta, grading_GS)
    is_computed_G = _is_possible(endings, final_GS) & (endings.is_known | is_covered_GS).all(axis=1)
    return final_GS, grading_GS, endings.is_known.all(axis=1) | is_computed_G


def _final_scores(endings: Endings) -> Integers:
    """Computes the final scores [G, S] of seats for which they are not known.

    That of a single seat is what the others leave of all points; those of several are the scores after the last known
    round, with leftover deposits.
    """
    leftover_G = STICK * endings.deposits
    others_G = (endings.final_score * endings.is_known).sum(axis=1)
    single_G = endings.score.sum(axis=1) + leftover_G - others_G
    several_GS = endings.score + leftover_G[:, None] * (endings.rank == 0)
    is_single_G = (~endings.is_known).sum(axis=1) == 1
    return np.where(is_single_G[:, None], single_G[:, None], several_GS)


def _is_possible(endings: Endings, final_GS: Integers) -> NDArray[np.bool_]:
    """Returns whether final scores have the known ranks, of equal ones the lower seat's first, and add up [G]."""
    order_GS = np.argsort(endings.rank, axis=1)
    in_order_GS = np.take_along_axis(final_GS, order_GS, axis=1)
    is_tied_in_order = (in_order_GS[:, 1:] == in_order_GS[:, :-1]) & (order_GS[:, 1:] > order_GS[:, :-1])
    is_ranked = (in_order_GS[:, 1:] < in_order_GS[:, :-1]) | is_tied_in_order
    is_sum = final_GS.sum(axis=1) == endings.score.sum(axis=1) + STICK * endings.deposits
    return is_ranked.all(axis=1) & is_sum


def _grading_deltas(endings: Endings, final_GS: Integers) -> tuple[Integers, NDArray[np.bool_]]:
    """Computes grading points [G, S], and whether they are certain [G, S]: by the one table that the known seats'
    points are of, or by both where both agree."""
    is_of, points = [], []
    for by_table_GS in _by_tables(endings, final_GS):
        is_covered_GS = by_table_GS != _UNKNOWN
        is_equal_GS = endings.is_known & is_covered_GS & (by_table_GS == endings.grading_delta)
        is_other_GS = endings.is_known & is_covered_GS & ~is_equal_GS
        is_of.append(is_equal_GS.any(axis=1) & ~is_other_GS.any(axis=1))
        points.append(by_table_GS)
    is_certain_GS = np.zeros(final_GS.shape, bool)
    found_GS = np.zeros(final_GS.shape, np.int64)
    for is_of_G, points_GS in zip(is_of, points, strict=True):
        is_new_GS = is_of_G[:, None] & (points_GS != _UNKNOWN)
        is_certain_GS = np.where(is_certain_GS & is_new_GS, found_GS == points_GS, is_certain_GS | is_new_GS)
        found_GS = np.where(is_new_GS, points_GS, found_GS)
    return found_GS, is_certain_GS


def _by_tables(endings: Endings, final_GS: Integers) -> list[Integers]:
    """Returns the grading points [G, S] by each platform's table; _UNKNOWN where it does not cover a seat."""
    num_seats = final_GS.shape[1]
    if num_seats not in MJSOUL:
        return []
    places = (endings.style[:, None], endings.room[:, None], endings.grade, endings.rank)
    mjsoul_GS = _mjsoul_table(num_seats)[places]
    rounded_up_GS = -((MJSOUL[num_seats].start - final_GS) // 1000)
    return [np.where(mjsoul_GS == _UNKNOWN, _UNKNOWN, mjsoul_GS + rounded_up_GS), _tenhou_table(num_seats)[places]]


@cache
def _mjsoul_table(num_seats: int) -> Integers:
    """Returns Mahjong Soul's grading points by style, room, grade and rank for a final score equal to the start's."""
    table = np.full((len(STYLES), NUM_ROOMS, NUM_GRADES, num_seats), _UNKNOWN)
    for style, room, grade, rank in np.ndindex(*table.shape):
        # the points of the highest grade are in the record alone
        if grade < NUM_GRADES - 1 and has_mjsoul_points(room, style, num_seats):
            table[style, room, grade, rank] = mjsoul_delta(rank, MJSOUL[num_seats].start, room, grade, style, num_seats)
    return table


@cache
def _tenhou_table(num_seats: int) -> Integers:
    """Returns Tenhou's grading points by style, room, grade and rank, where all dan of a grade have the same."""
    table = np.full((len(STYLES), NUM_ROOMS, NUM_GRADES, num_seats), _UNKNOWN)
    for name in TENHOU_TABLES:
        for style, grade, rank in np.ndindex(len(STYLES), NUM_GRADES, num_seats):
            dans = [dan for dan in range(TENHOUI + 1) if tenhou_grade(dan) == grade]
            points = {tenhou_delta(rank, dan, name, style, num_seats) for dan in dans}
            if len(points) == 1:
                table[style, tenhou_room(name), grade, rank] = points.pop()
    return table
