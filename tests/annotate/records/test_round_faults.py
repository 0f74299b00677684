"""A fault within a round of a record loses only that round, in every format, and the report names the round."""

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from annotate.replay.replay import annotate_game
from tests.support.writers.all_formats import of_tenhou, read, tenhou_xml
from tests.support.writers.majsoul_made import MadeGame, simulated
from tests.support.writers.majsoul_writer import document, message

Damage = Callable[[bytes], bytes]


@cache
def made() -> MadeGame:
    return of_tenhou(simulated(1, style=0, rules="tenhou"))


def as_json(recorded: Any) -> bytes:
    return json.dumps(recorded).encode()


def in_round(number: int, pattern: bytes, by: bytes) -> Damage:
    """Replaces the first match of a pattern within a round of an mjlog document."""

    def damaged(data: bytes) -> bytes:
        parts = re.split(rb"(?=<INIT )", data)
        parts[number] = re.sub(pattern, by, parts[number], count=1)
        return b"".join(parts)

    return damaged


@pytest.mark.parametrize("number", [1, 2, -1])
@pytest.mark.parametrize(
    ("pattern", "by", "problem"),
    [
        (rb"<T\d+/>", b"<T136/>", "there are 136 tiles"),
        (rb"<T\d+/>", b"<T1", "malformed XML"),
        (rb"<T\d+/>", b"", "drawing"),
        (rb"<T\d+/>", b"T1/>", "unexpected text"),
        (rb"<E\d+/>", b'<N who="1" m="x"/>', "comma-separated integers expected"),
        (rb"<T\d+/>", b'<BYE who="4"/>', "0 ... 3 expected"),
        (rb'seed="\d+', b'seed="99', "out of range"),
        (rb'hai0="', b'hai0="1,', "13 tiles for each seat"),
        (rb' sc="\d+,', b' sc="', "8 integers expected"),
        (rb"<(AGARI|RYUUKYOKU)[^>]*?( owari=[^>]*)?/>", rb"<LATER/><AGARI\2/>", "<AGARI> without who"),
    ],
)
def test_a_fault_in_an_mjlog_loses_only_its_round(number: int, pattern: bytes, by: bytes, problem: str) -> None:
    data = tenhou_xml(made())
    whole, game = read(data), read(in_round(number, pattern, by)(data))
    index = number - 1 if number > 0 else len(whole.rounds) - 1
    report = annotate_game(game)
    (text,) = report.left_out
    assert problem in text and text.startswith((whole.rounds[index].name, f"round {index + 1}: "))
    assert report.num_rounds == len(whole.rounds) - 1
    assert game.final_scores == whole.final_scores and game.incomplete is None


def test_elements_after_the_end_of_a_round_leave_the_rounds_intact() -> None:
    data = tenhou_xml(made())
    whole, game = read(data), read(data.replace(b"<INIT", b"<T1/><INIT").replace(b"<T1/><INIT", b"<INIT", 1))
    assert game.rounds == whole.rounds
    assert [str(lost)[:14] for lost in game.lost] == [f"after {played.name[:8]}" for played in whole.rounds[:-1]]


def test_a_player_who_left_in_a_round_with_a_fault_is_away_in_the_next() -> None:
    data = tenhou_xml(made())
    left = in_round(1, rb"<T\d+/>", rb'\g<0><BYE who="2"/>')
    for damage in (in_round(1, rb"<U\d+/>", b"<U136/>"), in_round(1, rb"<T\d+/>", b"<T1")):
        game = read(damage(left(data)))
        assert [played.events for played in game.rounds] == [played.events for played in read(left(data)).rounds[1:]]
        assert {seat for _, seat in game.rounds[0].automatic} == {2}


@pytest.mark.parametrize(
    ("write", "result", "problem"),
    [
        (message, {"name": ".lq.RecordOfTomorrow", "data": {}}, "a record of an unknown kind"),
        (message, {"name": ".lq.RecordDiscardTile", "data": {"tile": "8z"}}, "'8z' is not a tile"),
        (message, {"name": ".lq.RecordDealTile", "data": {"seat": 9, "tile": "1m"}}, "seat must be in 0 ... 3"),
        (message, {"name": ".lq.RecordNewRound", "data": {}}, "a new round, but the last one has not ended"),
        (as_json, {"name": ".lq.RecordDiscardTile", "data": {"tile": 8}}, "data.tile: 8: "),
        (as_json, "AAAA", "no Wrapper where one is expected"),
        (as_json, 7, "must be an object"),
    ],
)
def test_a_fault_in_a_record_of_mahjong_soul_loses_only_its_round(
    write: Callable[[Any], bytes], result: Any, problem: str
) -> None:
    whole = document(made())
    good = read(write(whole))
    actions = [action for action in whole["data"]["data"]["actions"] if "result" in action]
    starts = [i for i, action in enumerate(actions) if action["result"]["name"] == ".lq.RecordNewRound"]
    actions[starts[1] + 3]["result"] = result
    game = read(write(whole))
    report = annotate_game(game)
    assert problem in report.left_out[0] and report.left_out[0].startswith(f"{good.rounds[1].name}: ")
    assert game.rounds == (good.rounds[0], *good.rounds[2:])
    assert report.num_rounds == len(good.rounds) - 1
