"""The end of a game for seats without decisions: computed where one table covers it, else not known."""

import numpy as np
import pytest

from annotate.game.grading import mjsoul_deltas, ranks_of, tenhou_delta, tenhou_grade
from kanachan.data.game_endings import Endings, complete_endings

SCORES = (41_200, 25_300, 30_500, 3_000)
ALL = {0, 1, 2, 3}
HOUOU, HANCHAN = 4, 1
Ending = tuple[list[int], list[int]]


def ending(
    known: set[int],
    points: tuple[int, ...],
    *,
    scores: tuple[int, ...] = SCORES,
    grades: tuple[int, ...] = (12, 11, 10, 9),
    deposits: int = 0,
    room: int = HOUOU,
    last: tuple[int, ...] | None = None,
) -> Ending | None:
    """The final scores and grading points of a game, of which those of `known` seats are given; None if not known.

    Args:
        last: the scores after the last round that is known; those at the end, without leftover deposits, by default.
    """
    is_known = np.array([[seat in known for seat in range(4)]])
    rank = np.array([ranks_of(scores)])
    after = np.array([last or scores]) - 1000 * deposits * (rank == 0)
    final, grading, is_complete = complete_endings(
        Endings(
            is_known=is_known,
            final_score=np.where(is_known, np.array([scores]), 0),
            grading_delta=np.where(is_known, np.array([points]), 0),
            rank=rank,
            room=np.array([room]),
            style=np.array([HANCHAN]),
            grade=np.array([grades]),
            score=after,
            deposits=np.array([deposits]),
        )
    )
    return (final[0].tolist(), grading[0].tolist()) if is_complete[0] else None


def houou(dans: tuple[int, ...], scores: tuple[int, ...] = SCORES) -> tuple[int, ...]:
    ranks = ranks_of(scores)
    return tuple(tenhou_delta(rank, dan, "houou", HANCHAN, 4) for rank, dan in zip(ranks, dans, strict=True))


@pytest.mark.parametrize("known", [{0}, {1}, {3}, {0, 1}, {1, 3}, {0, 2, 3}])
def test_mahjong_souls_points_are_those_of_its_table(known: set[int]) -> None:
    points = mjsoul_deltas(SCORES, HOUOU, (12, 11, 10, 9), HANCHAN)
    assert ending(known, points) == ([*SCORES], [*points])


@pytest.mark.parametrize("known", [{0}, {1}, {3}, {0, 1}, {1, 3}, {0, 1, 2}])
def test_tenhous_points_are_those_of_its_table(known: set[int]) -> None:
    dans = (17, 16, 16, 17)
    assert ending(known, houou(dans), grades=tuple(map(tenhou_grade, dans))) == ([*SCORES], [*houou(dans)])


def test_points_of_a_grade_that_is_two_dan_are_known_but_for_the_last_place() -> None:
    dans = (18, 16, 16, 19)
    grades = tuple(map(tenhou_grade, dans))
    assert ending(ALL - {0}, houou(dans), grades=grades) == ([*SCORES], [*houou(dans)])
    assert ending(ALL - {3}, houou(dans), grades=grades) is None


def test_points_of_the_highest_grade_are_not_those_of_mahjong_souls_table() -> None:
    points = (500, *mjsoul_deltas(SCORES, HOUOU, (15, 11, 10, 9), HANCHAN)[1:])
    assert ending({0, 1, 2}, points, grades=(15, 11, 10, 9)) == ([*SCORES], [*points])
    assert ending({1, 2, 3}, points, grades=(15, 11, 10, 9)) is None


def test_points_of_no_table_are_not_continued() -> None:
    assert ending({0, 1, 2}, (1, 2, 3, 4)) is None
    assert ending({0, 1, 2}, (0, 0, 0, 0)) is None
    assert ending(ALL, (1, 2, 3, 4)) == ([*SCORES], [1, 2, 3, 4])


def test_points_that_are_of_both_tables_are_not_continued_where_these_differ() -> None:
    scores, grades = (35_000, 34_000, 30_000, 1_000), (12, 12, 12, 12)
    points = mjsoul_deltas(scores, HOUOU, grades, HANCHAN)
    assert points[2] == tenhou_delta(2, 16, "houou", HANCHAN, 4) == 0
    assert ending({2}, points, scores=scores, grades=grades) is None
    for known in ({2, 0}, {2, 3}):
        assert ending(known, points, scores=scores, grades=grades) == ([*scores], [*points])


def test_leftover_deposits_go_to_the_first() -> None:
    points = mjsoul_deltas(SCORES, HOUOU, (12, 11, 10, 9), HANCHAN)
    for known in ({0}, {1, 2}, {1, 2, 3}, {0, 1, 2}):
        assert ending(known, points, deposits=2) == ([*SCORES], [*points])


def test_of_equal_scores_the_lower_seats_is_first() -> None:
    scores = (25_000, 25_000, 25_000, 25_000)
    points = mjsoul_deltas(scores, HOUOU, (12, 11, 10, 9), HANCHAN)
    for known in ({0}, {3}, {1, 2}):
        assert ending(known, points, scores=scores) == ([*scores], [*points])


def test_scores_before_the_last_round_are_not_those_at_the_end() -> None:
    points = mjsoul_deltas(SCORES, HOUOU, (12, 11, 10, 9), HANCHAN)
    before = (38_200, 28_300, 30_500, 3_000)
    assert ending({0, 2}, points, last=before) is None
    assert ending({0, 1, 3}, points, last=before) == ([*SCORES], [*points])  # one seat has what the others leave
