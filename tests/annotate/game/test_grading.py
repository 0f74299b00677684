"""Grading points: the worked examples and the edges of the tables."""

import pytest

from annotate.game.grading import (
    MJSOUL,
    TENHOU_GRADES,
    TENHOU_ROOMS,
    mjsoul_delta,
    mjsoul_rooms,
    ranks_of,
    tenhou_delta,
)

EAST, SOUTH = 0, 1
JADE, THRONE = 3, 4


@pytest.mark.parametrize(
    ("rank", "score", "grade", "delta"),
    [(0, 40500, 9, 141), (1, 39500, 9, 75), (2, 23600, 9, -6), (3, -3600, 10, -223)],
)
def test_a_recorded_jade_game_gets_its_recorded_points(rank: int, score: int, grade: int, delta: int) -> None:
    assert mjsoul_delta(rank, score, JADE, grade, SOUTH, 4) == delta


def test_points_are_rounded_up_to_thousands_on_both_sides_of_zero() -> None:
    without_bonus = [mjsoul_delta(2, score, THRONE, 14, SOUTH, 4) + 5 for score in (24000, 24100, 25000, 25100, 26000)]
    assert without_bonus == [-1, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("score", "room", "grade", "style", "deltas"),
    [
        (25000, THRONE, 14, SOUTH, [15 + 120, 5 + 60, -5, -15 - 240]),
        (25000, JADE, 9, EAST, [15 + 55, 5 + 30, -5, -15 - 80]),
        (40000, THRONE, 15, SOUTH, [0] * 4),  # the highest grade
        (35000, THRONE, 14, SOUTH, [15 + 240, 0, -15 - 290]),
        (35000, JADE, 9, EAST, [15 + 75, 0, -15 - 80]),
        (50000, 0, 3, SOUTH, [0] * 3),  # a room of three players whose points are not known
    ],
)
def test_each_rank_gets_its_points_on_mahjong_soul(
    score: int, room: int, grade: int, style: int, deltas: list[int]
) -> None:
    assert [mjsoul_delta(rank, score, room, grade, style, len(deltas)) for rank in range(len(deltas))] == deltas


def test_three_player_rooms_with_unknown_points_are_recognised() -> None:
    assert mjsoul_rooms(SOUTH, 3) == [2, 3, 4]
    assert [len(penalty) for penalty in MJSOUL[4].penalty] == [15, 15]  # every grade below the highest, by style


@pytest.mark.parametrize(
    ("style", "by_dan"),
    [
        (SOUTH, {16: -135, 19: -180, 10: -45, 9: -30, 8: -15, 7: 0, 0: 0}),
        (EAST, {16: -90, 10: -30, 9: -20, 8: -10, 7: 0}),
    ],
)
def test_last_place_on_tenhou_loses_points_by_dan(style: int, by_dan: dict[int, int]) -> None:
    assert {dan: tenhou_delta(3, dan, "tokujou", style, 4) for dan in by_dan} == by_dan


@pytest.mark.parametrize(
    ("dan", "table", "style", "deltas"),
    [
        (16, "houou", SOUTH, [90, 45, 0, -135]),
        (12, "ippan", EAST, [20, 10, 0, -50]),
        (20, "houou", SOUTH, [0] * 4),
        (16, "houou", SOUTH, [135, 0, -135]),
        (14, "tokujou", EAST, [70, 0, -70]),
    ],
)
def test_each_rank_gets_its_points_on_tenhou(dan: int, table: str, style: int, deltas: list[int]) -> None:
    assert [tenhou_delta(rank, dan, table, style, len(deltas)) for rank in range(len(deltas))] == deltas


def test_tenhous_dan_and_tables_have_grades_and_rooms_of_mahjong_soul() -> None:
    expected = [0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 14, 15]
    assert list(TENHOU_GRADES) == expected
    assert [TENHOU_ROOMS[table] for table in ("ippan", "joukyuu", "tokujou", "houou")] == [0, 1, 2, 4]


def test_of_equal_scores_the_lower_seat_ranks_first() -> None:
    assert ranks_of((20000, 30000, 20000, 30000)) == (2, 0, 3, 1)
