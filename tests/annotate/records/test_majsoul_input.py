"""The information in Mahjong Soul's records about the game as a whole, and records that are refused."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from annotate.game.record import Game
from annotate.replay.replay import annotate_game
from tests.support.rare_rounds import ROUNDS
from tests.support.writers.majsoul_made import MadeGame, made_round, simulated
from tests.support.writers.majsoul_writer import document, message, place, read_majsoul, read_majsoul_json, refused

Json = Any
NAME = "a riichi that is called"


@cache
def made(name: str = NAME) -> MadeGame:
    script, hands, wall = ROUNDS[name]
    return made_round(script, hands, **wall)


def altered(path: str, value: Any, recorded: Json | None = None) -> Json:
    recorded = recorded or document(made())
    holder, key = place(recorded, path)
    holder[key] = value
    return recorded


def without(path: str) -> Json:
    recorded = document(made())
    holder, key = place(recorded, path)
    del holder[key]
    return recorded


def both(recorded: Json) -> list[Callable[[], Game]]:
    """The readers of both forms."""
    return [lambda: read_majsoul_json(recorded), lambda: read_majsoul(message(recorded))]


def test_grades_and_results_are_taken_by_seat_not_by_place_in_the_list() -> None:
    for read in both(document(made())):
        game = read()
        assert game.grades == tuple(made().grades) == (9, 10, 11, 15)
        assert game.final_scores == made().final_scores
        assert game.grading_deltas == made().grading_deltas
        assert (game.id, game.rules, game.incomplete) == (made().id, ("mjsoul",), None)


@pytest.mark.parametrize(
    "mode_id, room, style",
    [(2, 0, 0), (3, 0, 1), (5, 1, 0), (6, 1, 1), (8, 2, 0), (9, 2, 1), (11, 3, 0), (12, 3, 1), (15, 4, 0), (16, 4, 1)],
)
def test_room_and_style_follow_from_the_mode_of_a_ranked_game(mode_id: int, room: int, style: int) -> None:
    for read in both(altered("head.config.meta.mode_id", mode_id)):
        assert (read().room, read().style) == (room, style)


@pytest.mark.parametrize(
    "level, grade",
    [(10101, 0), (10103, 2), (10201, 3), (10303, 8), (10402, 10), (10503, 14), (10601, 15), (10701, 15), (10720, 15)],
)
def test_a_level_gives_a_grade(level: int, grade: int) -> None:
    recorded = altered("head.accounts.0.level.id", level)
    seat = recorded["head"]["accounts"][0]["seat"]
    grades = read_majsoul_json(recorded).grades
    assert grades is not None and grades[seat] == grade


ROOM = {"time_fixed": 5, "time_add": 20, "dora_count": 3, "shiduan": 1, "init_point": 25000, "fandian": 30000}
CONTEST = {
    **{"can_jifei": True, "liqibang_value": 1000, "changbang_value": 300, "noting_fafu_1": 1000},
    **{"noting_fafu_2": 1500, "noting_fafu_3": 3000, "have_liujumanguan": True, "have_biao_dora": True},
    **{"have_gang_biao_dora": True, "have_li_dora": True, "have_gang_li_dora": True, "have_sifenglianda": True},
    **{"have_sigangsanle": True, "have_sijializhi": True, "have_jiuzhongjiupai": True, "have_helelianzhuang": True},
    **{"have_helezhongju": True, "have_tingpailianzhuang": True, "have_tingpaizhongju": True, "have_yifa": True},
    **{"have_nanruxiru": True, "have_toutiao": False, "shunweima_2": 5, "shunweima_4": -15},
}


def in_a_room(rule: Json, category: int = 1, mode: Json | None = None) -> Json:
    config = {"category": category, "mode": mode or {"mode": 1, "detail_rule": rule}, "meta": {"room_id": 12345}}
    return altered("head.config", config)


@pytest.mark.parametrize("rule", [{}, ROOM, {**ROOM, "fanfu": 1}, {**ROOM, **CONTEST}])
@pytest.mark.parametrize("category", [1, 4])
def test_an_unranked_game_by_the_usual_rules_has_no_room_grades_or_grading_points(rule: Json, category: int) -> None:
    game = read_majsoul_json(in_a_room(rule, category))
    assert (game.room, game.grades, game.grading_deltas, game.style) == (None, None, None, 0)
    assert game.final_scores == made().final_scores


@pytest.mark.parametrize(
    "rule, problem",
    [
        ({**ROOM, "init_point": 200000, "fandian": 200000}, "init_point 200000, fandian 200000"),
        ({**ROOM, "shiduan": 0}, "shiduan 0"),
        ({**ROOM, **CONTEST, "have_li_dora": False}, "have_li_dora 0"),
        ({**ROOM, **CONTEST, "have_toutiao": True}, "have_toutiao True"),
        ({**ROOM, **CONTEST, "enable_shiti": 1}, "enable_shiti 1"),
        ({**ROOM, **CONTEST, "liqibang_value": 500}, "liqibang_value 500"),
        ({**ROOM, "of_tomorrow": 1}, "of_tomorrow (not known here)"),
    ],
)
def test_a_game_by_other_rules_is_refused_and_the_rules_named(rule: Json, problem: str) -> None:
    text = refused(lambda: read_majsoul_json(in_a_room(rule)))
    assert text == f"a game by other rules than ranked games, which is not supported: {problem}"


def test_unknown_rules_are_noticed_in_protobuf_too() -> None:
    text = refused(lambda: read_majsoul(message(in_a_room({**ROOM, "of_tomorrow": 1}))))
    assert text.endswith("not supported: number 99 (not known here)")
    assert read_majsoul(message(in_a_room({**ROOM, "of_tomorrow": 0}))).room is None


def test_a_ranked_game_keeps_its_rules_whatever_settings_a_later_client_adds() -> None:
    for read in both(altered("head.config.mode.detail_rule", {"of_tomorrow": 1})):
        assert read().room == 3


def test_a_game_with_a_prearranged_deal_is_refused() -> None:
    mode = {"mode": 1, "detail_rule": ROOM, "testing_environment": {"paixing": 3}}
    for read in both(in_a_room({}, mode=mode)):
        assert refused(read).endswith("not supported: paixing 3")


def test_games_of_three_players_in_a_room_are_refused() -> None:
    for read in both(in_a_room({}, mode={"mode": 12})):
        assert refused(read).endswith("a game of three players in a room or a contest: only ranked ones are supported")


@pytest.mark.parametrize(
    "recorded, problem",
    [
        (altered("head.config.meta.mode_id", 24), "head.result.players: one for each of 3 seats expected"),
        (altered("data.data.actions.1.result.data.scores", [35000] * 3), "scores must be 4 numbers of points"),
        (altered("data.data.actions.4.result", {"name": ".lq.RecordBaBei", "data": {"seat": 1}}), "with 4 players"),
    ],
)
def test_parts_of_a_three_player_game_in_a_game_of_four_are_named(recorded: Json, problem: str) -> None:
    for read in both(recorded):
        assert problem in refused(read)


@pytest.mark.parametrize(
    "recorded, problem",
    [
        (altered("head.config.meta.mode_id", 40), "a ranked game of a kind that is not known (mode_id 40)"),
        (without("head.config.meta"), "a ranked game of a kind that is not known (mode_id 0)"),
        (in_a_room({}, mode={"mode": 4}), "neither an East nor a South game (mode 4): its length is not supported"),
        (without("head.config"), "whether the game is ranked is not known (head.config.category 0)"),
        (without("head.uuid"), "head.uuid, the game's id, must be a printable text, not ''"),
        (without("head"), "no head: the game's id, room and players are missing"),
        (without("head.accounts.1"), "head.accounts: one for each of 4 seats expected, not [2, 3, 1]"),
        (altered("head.accounts.0.seat", 3), "head.accounts: one for each of 4 seats expected, not [3, 0, 3, 1]"),
        (without("head.accounts.0.level"), "level.id 0 is not a grade of 4 players"),
        (altered("head.accounts.0.level.id", 20101), "level.id 20101 is not a grade of 4 players"),
        (altered("head.result.players.0.seat", 2), "head.result.players: one for each of 4 seats expected"),
        (altered("head.result.players.0.part_point_1", 2**31 - 1), "part_point_1 must be in 0 ... 10000000"),
        (altered("error", {"code": 1203}), "the server responded with error 1203: no game was sent"),
    ],
)
def test_a_head_with_missing_or_impossible_values_is_refused(recorded: Json, problem: str) -> None:
    for read in both(recorded):
        assert problem in refused(read)


def test_a_game_without_its_result_is_read_and_said_to_be_incomplete() -> None:
    for read in both(without("head.result")):
        game = read()
        assert (game.final_scores, game.grading_deltas) == (None, None)
        assert game.incomplete == "the result (head.result) is missing"
        assert len(game.rounds) == 1


@pytest.mark.parametrize("name", ["two winners", "nagashi mangan"])
def test_a_round_whose_recorded_scores_differ_is_left_out(name: str) -> None:
    recorded = document(made(name))
    actions = recorded["data"]["data"]["actions"]
    data = actions[-1]["result"]["data"]
    scores = data["scores"] if name == "two winners" else data["scores"][0]["old_scores"]
    scores[0] += 100
    (text,) = annotate_game(read_majsoul_json(recorded)).left_out
    assert "scores after the round: record [" in text


def test_a_winner_who_loses_grading_points_is_refused() -> None:
    recorded = document(made())
    players = recorded["head"]["result"]["players"]
    first = max(players, key=lambda player: player["part_point_1"])
    first["grading_score"] = -13
    for read in both(recorded):
        assert "but loses grading points" in refused(read)


def test_a_record_that_stops_within_a_round_keeps_the_rounds_before() -> None:
    recorded = document(simulated(1))
    whole = read_majsoul_json(recorded)
    del recorded["data"]["data"]["actions"][-3:]
    for read in both(recorded):
        assert [round_.events for round_ in read().rounds] == [round_.events for round_ in whole.rounds[:-1]]
        assert read().incomplete == f"the record stops in {whole.rounds[-1].name}"
