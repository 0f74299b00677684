"""Damaged and strange records of Mahjong Soul: refused with a reason, whatever is wrong with them."""

import copy
from functools import cache
from typing import Any

import pytest

from annotate.replay.replay import annotate_game
from tests.support.rare_rounds import TENPAI
from tests.support.writers.majsoul_made import MadeGame, made_round
from tests.support.writers.majsoul_writer import document, message, place, read_majsoul, read_majsoul_json, refused

Json = Any


@cache
def made() -> MadeGame:
    return made_round("0 riichi 8m; 1 chi 79m; 0 tsumo", [TENPAI, "79m147p258s345z"], "8m..1z", ura="9m")


def short() -> Json:
    """A record of one round: a riichi, its discard called, a closed hand that wins."""
    return document(made())


def result_of(recorded: Json, name: str) -> Json:
    """The first message of a kind, with its name."""
    actions = recorded["data"]["data"]["actions"]
    return next(a["result"] for a in actions if "result" in a and a["result"]["name"] == f".lq.{name}")


@pytest.mark.parametrize(
    "name, values, problem",
    [
        ("RecordNewRound", {"chang": 4}, "message 1, RecordNewRound: chang must be in 0 ... 3, not 4"),
        ("RecordNewRound", {"ju": 1}, "hands of [13, 14, 13, 13] tiles expected, not of [14, 13, 13, 13]"),
        ("RecordNewRound", {"ben": 1001}, "ben must be in 0 ... 1000"),
        ("RecordNewRound", {"scores": [25000] * 5}, "scores must be 4 numbers of points"),
        ("RecordNewRound", {"doras": ["1z", "2z"]}, "one indicator expected at the start, not 2"),
        ("RecordNewRound", {"paishan": "1m2m3"}, "'3' is not a tile"),
        ("RecordDealTile", {"tile": "8z"}, "RecordDealTile: '8z' is not a tile"),
        ("RecordDealTile", {"doras": ["8s", "2z"]}, "the indicators 8s, 2z, before "),
        ("RecordDiscardTile", {"operations": [{"seat": 5, "operation_list": [{"type": 9}]}]}, "seat must be in"),
        (
            "RecordDiscardTile",
            {"operations": [{"seat": 1, "operation_list": [{"type": 2, "combination": ["1m,2m"]}]}]},
            "'1m,2m' is not a tile",
        ),
        ("RecordChiPengGang", {"type": 3}, "a call of type 3: 0 ... 2 expected"),
        ("RecordChiPengGang", {"type": 2}, "a daiminkan of 3 tiles from seats [1, 1, 0]"),
        ("RecordChiPengGang", {"froms": [1, 1, 1]}, "a chi of 3 tiles from seats [1, 1, 1]"),
        ("RecordChiPengGang", {"liqi": {"seat": 99}}, "seat must be in 0 ... 3, not 99"),
        ("RecordHule", {"hules": []}, "a win without a winner"),
        ("RecordHule", {"delta_scores": [1, 2, 3]}, "delta_scores must be 4 numbers of points"),
        ("RecordHule", {"hules": [{"seat": 0, "zimo": True, "hu_tile": "?"}]}, "'?' is not a tile"),
    ],
)
def test_a_message_that_no_game_can_have_is_named(name: str, values: Json, problem: str) -> None:
    recorded = short()
    result_of(recorded, name)["data"] |= values
    for text in (refused(lambda: read_majsoul_json(recorded)), refused(lambda: read_majsoul(message(recorded)))):
        assert text.startswith("message ") and problem in text


@pytest.mark.parametrize(
    "name, data, problem",
    [
        ("RecordAnGangAddGang", {"type": 1, "tiles": "1m"}, "a kan of type 1: 2 or 3 expected"),
        ("RecordLiuJu", {"type": 6}, "an aborted round of type 6: 1 ... 5 expected"),
        ("RecordNoTile", {"scores": [{"delta_scores": [1000, -1000]}]}, "delta_scores must be 4 numbers"),
        ("RecordNewRound", {"scores": [25000] * 4}, "a new round, but the last one has not ended"),
        ("RecordOfTomorrow", {"seat": 1}, "actions[4].result: a record of an unknown kind, '.lq.RecordOfTomorrow'"),
        ("GameEndResult", {"players": []}, "actions[4].result: a record of an unknown kind, '.lq.GameEndResult'"),
    ],
)
def test_a_message_that_cannot_be_in_that_place_is_named(name: str, data: Json, problem: str) -> None:
    recorded = short()
    recorded["data"]["data"]["actions"][4]["result"] = {"name": f".lq.{name}", "data": data}
    assert problem in refused(lambda: read_majsoul_json(recorded))
    assert problem in refused(lambda: read_majsoul(message(recorded)))


def test_messages_before_the_first_round_or_after_the_last_leave_the_rounds_intact() -> None:
    actions = short()["data"]["data"]["actions"]
    discard = next(a for a in actions if "result" in a and a["result"]["name"] == ".lq.RecordDiscardTile")
    for changed, problem in (
        ([discard, *actions], "before the first round"),
        ([*actions, discard], "after the end of"),
    ):
        recorded = short()
        recorded["data"]["data"]["actions"] = changed
        report = annotate_game(read_majsoul_json(recorded))
        assert report.num_rounds == 1 and [problem in text for text in report.left_out] == [True]


def test_a_ron_before_any_discard_is_refused() -> None:
    recorded = short()
    actions = recorded["data"]["data"]["actions"]
    win = copy.deepcopy(actions[-1])
    win["result"]["data"]["hules"][0]["zimo"] = False
    recorded["data"]["data"]["actions"] = [*actions[:2], win]
    assert "a win on a discard before any discard" in refused(lambda: read_majsoul_json(recorded))


def test_a_round_with_a_riichi_that_was_only_declared_or_only_paid_is_left_out() -> None:
    declared, paid = short(), short()
    result_of(paid, "RecordDiscardTile")["data"]["is_liqi"] = False
    del result_of(declared, "RecordChiPengGang")["data"]["liqi"]
    for recorded in (declared, paid):
        win = result_of(recorded, "RecordHule")["data"]
        del win["scores"]
        if recorded is declared:
            win["delta_scores"][0] -= 1000  # its stick, which would have come back
        report = annotate_game(read_majsoul_json(recorded))
        assert report.annotations == [] and report.left_out[0].startswith("East 1-0: ")


@pytest.mark.parametrize(
    "path, value, problem",
    [
        ("head", [], "head must be an object, not []"),
        ("head.uuid", "a\nb", "head.uuid, the game's id, must be a printable text"),
        ("head.config.category", "2", "head.config.category: '2': "),
        ("head.config.category", -1, "head.config.category: -1: "),
        ("head.accounts", {}, "head.accounts must be a list, not {}"),
        ("head.accounts.1.level.id", "x", "head.accounts[1].level.id: 'x': "),
        ("data", 7, "data must be an object"),
        ("data", "no base64!", "data must be an object, or bytes as base64"),
        ("data", "", "the game itself (data) is missing"),
        ("data.name", ".lq.RecordHule", "data is a '.lq.RecordHule', where a GameDetailRecords is expected"),
        ("data.data.actions.3.result", "x", "actions[3].result must be an object, or bytes as base64"),
        ("data.data.actions.3.result", "AAAA", "actions[3].result: cut off or damaged: no Wrapper"),
        ("data.data.actions.3.result.name", 1, "actions[3].result: a record of an unknown kind, 1"),
        ("data.data.actions.3.result.data", "gA==", "cut off or damaged: no RecordDiscardTile"),
        ("data.data.actions.3.result.data.tile", 5, "actions[3].result.data.tile: 5: "),
        ("data.data.actions.3.result.data.moqie", "no", "actions[3].result.data.moqie: 'no': "),
        ("data.data.actions.2.user_input.cpg", {"index": {}}, "user_input.cpg.index: {}: "),
    ],
)
def test_json_of_another_shape_is_refused_with_the_place(path: str, value: Json, problem: str) -> None:
    recorded = short()
    holder, key = place(recorded, path)
    holder[key] = value
    assert problem in refused(lambda: read_majsoul_json(recorded))
