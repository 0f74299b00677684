"""Mahjong Soul's records contain the same games as mjai, and the further information in them is used."""

import base64
import copy
from functools import cache
from typing import Any

import pytest

from annotate.annotation import check, format_line
from annotate.game.record import Game
from annotate.game.tiles import MJAI_NAMES, TILE_OF_ID
from annotate.records.reading import read_games
from annotate.replay.replay import ReplayResult, annotate_game
from tests.support.rare_rounds import ROUNDS
from tests.support.real_records import real_records
from tests.support.rounds import V
from tests.support.writers.majsoul_made import MadeGame, made_round, simulated
from tests.support.writers.majsoul_wire import wire
from tests.support.writers.majsoul_writer import document, message, read_majsoul, read_majsoul_json

Json = Any
VERSIONS = (0, 210715)
SEEDS = (1, 57)  # together they have every kind of call, and claims that another's hid


@cache
def game_of_seed(seed: int) -> MadeGame:
    return simulated(seed)


@cache
def rare(name: str) -> MadeGame:
    script, hands, wall = ROUNDS[name]
    return made_round(script, hands, **wall)


def annotated(game: Game) -> ReplayResult:
    report = annotate_game(game)
    for annotation in report.annotations:
        check(annotation, V)
    return report


def lines(game: Game) -> list[str]:
    report = annotated(game)
    assert report.left_out == []
    return [format_line(annotation) for annotation in report.annotations]


def content(recorded: Json) -> Json:
    return recorded["data"]["data"]


def records(recorded: Json, name: str) -> list[Json]:
    """The data of all messages of a kind, in a document of the later version."""
    results = [action["result"] for action in content(recorded)["actions"] if "result" in action]
    return [result["data"] for result in results if result["name"] == f".lq.{name}"]


@pytest.mark.parametrize("name", ["closed kans", "an open kan, then a closed one", "a kan in riichi"])
def test_a_closed_kans_dora_may_come_with_the_kan_or_with_the_next_tile(name: str) -> None:
    recorded = document(rare(name), inputs=False)
    actions = [action["result"]["data"] for action in content(recorded)["actions"] if "result" in action]
    for kan, deal in zip(actions, actions[1:], strict=False):
        if kan.get("type") == 3 and "doras" in deal:
            kan["doras"] = deal.pop("doras")
    assert lines(read_majsoul_json(recorded)) == lines(rare(name).game)


def respelled(value: Json, key_of: Any, prefix: str, defaults: bool) -> Json:
    """A document as another tool writes it."""
    if isinstance(value, list):
        return [respelled(part, key_of, prefix, defaults) for part in value]
    if isinstance(value, str) and value.startswith(".lq."):
        return value.replace(".lq.", prefix)
    if not isinstance(value, dict):
        return value
    return {
        key_of(key): respelled(part, key_of, prefix, defaults)
        for key, part in value.items()
        if defaults or part or isinstance(part, dict)
    }


def camel_case(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(part.capitalize() for part in rest)


def camel_case_of_protobufjs(key: str) -> str:
    return camel_case(key).replace("partPoint1", "partPoint_1")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("key_of", [str, camel_case, camel_case_of_protobufjs])
@pytest.mark.parametrize("prefix, defaults", [(".lq.", True), ("", False), ("lq.", False)])
def test_json_may_be_spelled_in_many_ways(version: int, key_of: Any, prefix: str, defaults: bool) -> None:
    recorded = document(rare("a riichi that is called"), version)
    other = respelled(recorded, key_of, prefix, defaults)
    assert read_majsoul_json(other) == read_majsoul_json(recorded)


def test_json_may_hold_wrapped_messages_as_base64() -> None:
    recorded = document(rare("two winners"))
    expected, details = read_majsoul_json(recorded), content(recorded)

    def text(data: bytes) -> str:
        return base64.b64encode(data).decode()

    wrapped = wire("Wrapper", {"name": ".lq.GameDetailRecords", "data": wire("GameDetailRecords", details)})
    results = [{**action, "result": text(_wrapped(action["result"]))} for action in details["actions"][1:2]]
    for data in (
        text(wrapped),
        {"name": ".lq.GameDetailRecords", "data": text(wire("GameDetailRecords", details))},
        {"version": 210715, "actions": [details["actions"][0], *results, *details["actions"][2:]]},
    ):
        assert read_majsoul_json({"head": recorded["head"], "data": data}) == expected


def _wrapped(result: Json) -> bytes:
    name = result["name"].removeprefix(".lq.")
    return wire("Wrapper", {"name": result["name"], "data": wire(name, result["data"])})


def test_json_may_leave_out_names_and_wrappings() -> None:
    recorded = document(rare("two winners"), version=0)
    expected = read_majsoul_json(recorded)
    for data in (content(recorded), content(recorded)["records"]):
        assert read_majsoul_json({"head": recorded["head"], "data": data}) == expected
    assert read_majsoul_json({"name": ".lq.ResGameRecord", "data": recorded}) == expected


@pytest.mark.parametrize("name", ["a pre-empted chi", "a pre-empted pon"])
def test_a_pressed_call_that_another_seat_pre_empted_is_read_as_that_call(name: str) -> None:
    made = rare(name)
    hidden = next(d for d in made.decisions if d.is_preempted)
    report = annotated(read_majsoul_json(document(made)))
    assert (report.num_unknown, annotated(made.game).num_unknown) == (0, 1)

    (found,) = [a for a in report.annotations if a.observation == hidden.observation]
    kind = V.action.block_of(found.actions[found.chosen]).name
    assert kind in ("chi", "pon")
    assert found.chosen == hidden.chosen


@pytest.mark.parametrize(
    "cpg, is_known",
    [
        ({"cancel_operation": True}, True),
        ({"type": 2, "index": 0}, True),
        ({"type": 2, "index": 1}, False),
        ({"type": 3, "index": 0}, False),
        ({"type": 9}, False),
        ({"type": 77}, False),
    ],
)
def test_only_offered_choices_count_as_pressed(cpg: Json, is_known: bool) -> None:
    recorded = document(rare("a pre-empted chi"))
    inputs = [action["user_input"] for action in content(recorded)["actions"] if "user_input" in action]
    next(pressed for pressed in inputs if "cpg" in pressed and pressed["seat"] == 1)["cpg"] = cpg
    report = annotated(read_majsoul_json(recorded))
    assert (report.num_unknown, report.left_out) == (int(not is_known), [])


def test_an_input_without_an_offer_or_of_another_kind_is_ignored() -> None:
    recorded = document(rare("a pre-empted chi"), inputs=False)
    expected = annotated(read_majsoul_json(recorded))
    for other in (
        {"seat": 9, "type": 3, "cpg": {"cancel_operation": True}},
        {"seat": 3, "type": 3, "cpg": {"type": 2}},
        {"seat": 1, "type": 1, "emo": 4},
    ):
        again = copy.deepcopy(recorded)
        content(again)["actions"].insert(2, {"user_input": other})
        assert annotated(read_majsoul_json(again)).annotations == expected.annotations


@pytest.mark.parametrize("type_of_input", [2, 3])
def test_a_choice_that_the_player_did_not_send_is_left_out_as_the_servers(type_of_input: int) -> None:
    recorded = document(game_of_seed(SEEDS[0]))
    expected = annotated(read_majsoul_json(recorded))
    actions = content(recorded)["actions"]
    sent = [i for i, action in enumerate(actions) if action.get("user_input", {}).get("type") == type_of_input]
    is_pass = [i for i in sent if actions[i]["user_input"].get("cpg", {}).get("cancel_operation", True)]
    del actions[is_pass[-1]]
    report = annotated(read_majsoul_json(recorded))
    assert report.automatic.total() == 1 and len(report.annotations) == len(expected.annotations) - 1
    assert report.num_rounds == expected.num_rounds


def test_choices_of_a_computer_player_count_although_it_sends_nothing() -> None:
    recorded = document(game_of_seed(SEEDS[0]))
    expected = annotated(read_majsoul_json(recorded))
    actions = content(recorded)["actions"]
    content(recorded)["actions"] = [action for action in actions if action.get("user_input", {}).get("seat") != 2]
    assert annotated(read_majsoul_json(recorded)).automatic.total() > 10
    recorded["head"]["robots"] = [{"seat": 2}]
    report = annotated(read_majsoul_json(recorded))
    assert report.automatic.total() == 0
    assert len(report.annotations) + report.num_unknown == len(expected.annotations) + expected.num_unknown


@pytest.mark.parametrize("name", ["closed kans", "a kan in riichi", "four kans of two seats", "nagashi mangan"])
def test_the_wall_may_be_recorded_whole_or_without_the_dealt_tiles(name: str) -> None:
    made = rare(name)
    games = [read_majsoul(message(document(made, whole_walls=whole, inputs=False))) for whole in (True, False)]
    assert games[0] == games[1]
    (round_,) = games[0].rounds
    assert round_.wall is not None and sorted(round_.wall) == sorted(MJAI_NAMES[tile] for tile in TILE_OF_ID)
    assert lines(games[0]) == lines(made.game)


def test_a_wall_of_another_length_is_not_used() -> None:
    recorded = document(rare("closed kans"), inputs=False)
    (start,) = records(recorded, "RecordNewRound")
    for paishan in ("", start["paishan"][2:], start["paishan"] + "1m"):
        start["paishan"] = paishan
        game = read_majsoul_json(recorded)
        assert game.rounds[0].wall is None
        assert lines(game) == lines(rare("closed kans").game)


def test_a_round_whose_wall_does_not_fit_is_left_out() -> None:
    recorded = document(rare("closed kans"))
    (start,) = records(recorded, "RecordNewRound")
    start["paishan"] = start["paishan"][-2:] + start["paishan"][2:-2] + start["paishan"][:2]
    report = annotated(read_majsoul_json(recorded))
    assert report.num_rounds == 0
    assert report.left_out[0].startswith("East 1-0: the record's wall has ")


@pytest.mark.records
def test_the_real_ranked_game_replays_whole() -> None:
    (path,) = [path for path in real_records("majsoul") if path.name == "paipu_record.json"]
    (game,) = read_games(str(path))
    assert (game.room, game.style, game.grades) == (3, 1, (10, 9, 10, 9))
    assert game.final_scores == (-3600, 23600, 39500, 40500)
    assert game.grading_deltas == (-223, -6, 75, 141)
    assert all(round_.pressed and round_.wall for round_ in game.rounds)

    report = annotated(game)
    assert (report.num_rounds, report.left_out, report.notes) == (9, [], [])
    # of six choices that another seat's claim hid, three were pressed; one player lost the connection for two turns
    assert (len(report.annotations), report.num_unknown, report.automatic) == (484, 3, {"discard": 2})


@pytest.mark.records
def test_the_real_game_of_a_room_with_its_own_rules_is_refused() -> None:
    (path,) = [path for path in real_records("majsoul") if path.name.startswith("paipu_200610")]
    with pytest.raises(ValueError, match="other rules than ranked games, which is not supported: init_point 200000"):
        read_games(str(path))
