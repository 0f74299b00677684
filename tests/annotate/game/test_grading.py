"""Grading points: the worked examples and the edges of the tables."""

import pytest

from annotate.game.grading import (
    MJSOUL,
    has_mjsoul_points,
    mjsoul_delta,
    ranks_of,
    tenhou_delta,
    tenhou_grade,
    tenhou_room,
)

EAST, SOUTH = 0, 1
JADE, THRONE = 3, 4


@pytest.mark.parametrize(
    ("rank", "score", "grade", "delta"),
    [(0, 40500, 9, 141), (1, 39500, 9, 75), (2, 23600, 9, -6), (3, -3600, 10, -223)],
)
def test_a_recorded_jade_game_gets_its_recorded_points(rank: int, score: int, grade: int, delta: int) -> None:
    assert mjsoul_delta(rank, score, JADE, grade, SOUTH, 4) == delta


def test_hundreds_of_points_are_rounded_up_on_both_sides_of_zero() -> None:
    without_bonus = [mjsoul_delta(2, score, THRONE, 14, SOUTH, 4) + 5 for score in (24000, 24100, 25000, 25100, 26000)]
    assert without_bonus == [-1, 0, 0, 1, 1]


def test_only_the_last_place_pays_the_penalty() -> None:
    by_rank = [mjsoul_delta(rank, 25000, THRONE, 14, SOUTH, 4) for rank in range(4)]
    assert by_rank == [15 + 120, 5 + 60, -5, -15 - 240]


def test_an_east_only_game_has_bonuses_and_penalties_of_its_own() -> None:
    by_rank = [mjsoul_delta(rank, 25000, JADE, 9, EAST, 4) for rank in range(4)]
    assert by_rank == [15 + 55, 5 + 30, -5, -15 - 80]


def test_the_highest_grade_is_not_computed() -> None:
    assert [mjsoul_delta(rank, 40000, THRONE, 15, SOUTH, 4) for rank in range(4)] == [0, 0, 0, 0]


def test_every_mjsoul_grade_below_the_highest_has_a_penalty_for_both_styles() -> None:
    assert [len(penalty) for penalty in MJSOUL[4].penalty] == [15, 15]


@pytest.mark.parametrize(("dan", "delta"), [(16, -135), (19, -180), (10, -45), (9, -30), (8, -15), (7, 0), (0, 0)])
def test_the_last_place_of_a_tenhou_hanchan_loses_by_dan(dan: int, delta: int) -> None:
    assert tenhou_delta(3, dan, "houou", SOUTH, 4) == delta


@pytest.mark.parametrize(("dan", "delta"), [(16, -90), (10, -30), (9, -20), (8, -10), (7, 0)])
def test_the_last_place_of_a_tenhou_east_only_game_loses_by_dan(dan: int, delta: int) -> None:
    assert tenhou_delta(3, dan, "tokujou", EAST, 4) == delta


def test_the_other_places_of_a_tenhou_game_gain_by_table() -> None:
    assert [tenhou_delta(rank, 16, "houou", SOUTH, 4) for rank in range(3)] == [90, 45, 0]
    assert [tenhou_delta(rank, 12, "ippan", EAST, 4) for rank in range(3)] == [20, 10, 0]


def test_tenhous_highest_rank_neither_gains_nor_loses() -> None:
    assert [tenhou_delta(rank, 20, "houou", SOUTH, 4) for rank in range(4)] == [0, 0, 0, 0]


def test_tenhous_dan_have_grades_in_pairs_first_and_one_by_one_from_shodan() -> None:
    expected = [0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 14, 15]
    assert [tenhou_grade(dan) for dan in range(21)] == expected


def test_tenhous_tables_have_rooms() -> None:
    assert [tenhou_room("ippan"), tenhou_room("joukyuu"), tenhou_room("tokujou"), tenhou_room("houou")] == [0, 1, 2, 4]


def test_of_equal_scores_the_lower_seat_stands_first() -> None:
    assert ranks_of((20000, 30000, 20000, 30000)) == (2, 0, 3, 1)


def test_three_players_start_with_more_and_the_second_gains_nothing() -> None:
    assert [mjsoul_delta(rank, 35000, THRONE, 14, SOUTH, 3) for rank in range(3)] == [15 + 240, 0, -15 - 290]
    assert [mjsoul_delta(rank, 35000, JADE, 9, EAST, 3) for rank in range(3)] == [15 + 75, 0, -15 - 80]


def test_rooms_of_three_players_whose_points_are_not_known_give_none() -> None:
    assert [has_mjsoul_points(room, SOUTH, 3) for room in range(5)] == [False, False, True, True, True]
    assert [mjsoul_delta(rank, 50000, 0, 3, SOUTH, 3) for rank in range(3)] == [0, 0, 0]


def test_seventh_dan_of_three_players_loses_what_the_first_of_a_houou_table_gains() -> None:
    assert [tenhou_delta(rank, 16, "houou", SOUTH, 3) for rank in range(3)] == [135, 0, -135]
    assert [tenhou_delta(rank, 14, "tokujou", EAST, 3) for rank in range(3)] == [70, 0, -70]
