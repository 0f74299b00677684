"""tenhou.net/6 JSON: rounds written by the test's own writer and read back, and headers of both platforms."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest

from annotate.game.record import Event, Game, Unreadable, all_readable
from annotate.game.record_writer import rounds_of
from annotate.records.reading import Record, read_games, read_record
from annotate.records.tenhou.json_reader import DRAW_REASONS, tenhou_json_games
from annotate.records.tenhou.turn_order import Turn, order_of
from annotate.replay.replay import annotate_game
from annotate.simulation.simulate import simulate_game
from annotate.vocabulary import FOUR_PLAYERS
from tests.support.real_records import real_records
from tests.support.rounds import DULL, DULL_3, V3, Played, play_round, start_of_round, start_of_three, writer_of
from tests.support.writers.tenhou_json import NUM_SEATS, document_of, one_round, read

pytest.importorskip("hypothesis", reason="the package hypothesis is not installed (it is in the extra `test`)")
from hypothesis import given, settings
from hypothesis import strategies as st

TENPAI = "123m456p789s1122z"


def without_wording(events: Sequence[Event]) -> list[Event]:
    """Returns the meaning of events: without the order of a meld's tiles and without repeated information."""
    repeated = {("hora", "pai"), ("hora", "tsumo"), ("ankan", "pai"), ("hora", "scores"), ("ryukyoku", "scores")}
    reduced = [{key: value for key, value in event.items() if (event["type"], key) not in repeated} for event in events]
    return [{**event, "consumed": sorted(event["consumed"])} if "consumed" in event else event for event in reduced]


def test_a_call_that_fits_two_equal_discards_is_placed_where_the_rest_fits() -> None:
    # seat 2 lets the first 7p pass: seat 3's pon of 9m takes its turn away, so its own turns do not show it
    script = "0 discard 7p; 1 discard 9m; 3 pon; 3 discard 1z; 0 discard 7p; 2 pon; 2 discard 9s"
    hands = ["77p", "9m", "77p9s", "99m1z"]
    written = play_round(script, hands, "1s2s3s").events
    assert [event["actor"] for event in written if event["type"] == "dahai"][:4] == [0, 1, 3, 0]
    assert without_wording(read(document_of([written])).rounds[0].events) == without_wording(written)


@pytest.mark.parametrize(("reason", "name"), [(r, name) for r, names in DRAW_REASONS.items() for name in names])
def test_draws_are_known_by_all_their_names(reason: str, name: str) -> None:
    document = one_round()
    document["log"][0][-1] = [name]
    assert read(document).rounds[0].events[-1] == {"type": "ryukyoku", "reason": reason, "deltas": [0] * NUM_SEATS}


def test_an_open_kan_may_lack_the_mark_that_replaces_its_discard() -> None:
    document = document_of([play_round("0 discard 5p; 1 kan", ["5p", "055p"], rinshan="7z").events])
    expected = read(document).rounds
    assert 0 in document["log"][0][9]
    document["log"][0][9].remove(0)
    assert read(document).rounds == expected


@pytest.mark.parametrize(
    ("disp", "rules", "style", "room"),
    [
        ("鳳南喰赤", ("tenhou",), 1, 4),
        ("特南喰赤", ("tenhou",), 1, 2),
        ("上東喰赤速", ("tenhou",), 0, 1),
        ("般東喰", ("tenhou",), 0, 0),
        ("四般南喰赤", ("tenhou",), 1, 0),
        ("若南喰赤", ("tenhou",), 1, None),
        ("三鳳南喰赤－", ("tenhou",), 1, 4),
        ("東風戦", ("tenhou", "mjsoul"), 0, None),
        ("四人南 喰赤", ("tenhou", "mjsoul"), 1, None),
        ("銅の間東喰赤", ("mjsoul",), 0, 0),
        ("銀の間南喰赤", ("mjsoul",), 1, 1),
        ("玉の間南", ("mjsoul",), 1, 3),
        ("王座の間南喰赤", ("mjsoul",), 1, 4),
        ("Gold Room South Red Fives", ("mjsoul",), 1, 2),
        ("Throne Room East", ("mjsoul",), 0, 4),
        ("友人戦東喰赤", ("mjsoul",), 0, None),
        ("Tounament South", ("mjsoul",), 1, None),
        ("", ("tenhou", "mjsoul"), 1, None),
        ("a club's own table", ("tenhou", "mjsoul"), 1, None),
    ],
)
def test_rules_length_and_room_follow_from_the_displayed_text(
    disp: str, rules: Any, style: int, room: int | None
) -> None:
    game = read({**one_round(), "rule": {"disp": disp, "aka": 1}})
    assert (game.rules, game.style, game.room) == (rules, style, room)


def test_tenhous_dan_and_final_scores_give_grades_and_points() -> None:
    scores = [40000, 18, 30000, 5, 20000, -5, 10000, -18]
    game = read({**one_round(), "dan": ["新人", "９級", "七段", "天鳳位"], "sc": scores, "lobby": 0, "ref": "2026"})
    assert game.grades == (0, 0, 12, 15)
    assert game.final_scores == (40000, 30000, 20000, 10000)
    assert game.grading_deltas == (90, 45, 0, 0)
    assert (game.id, game.incomplete) == ("2026", None)


@pytest.mark.parametrize(
    ("names", "grades"),
    [
        (["初心★1", "雀士★3", "雀傑2", "雀豪★★"], (0, 5, 7, 10)),
        (["雀聖★3", "魂天", "魂天Lv12", "雀聖"], None),
        (["雀聖★3", "魂天", "魂天Lv12", "雀豪3"], (14, 15, 15, 11)),
        (["Novice I", "Adept III", "Master 2", "Saint II"], (0, 5, 10, 13)),
        (["四段", "雀士★3", "雀傑2", "雀豪★★"], None),
    ],
)
def test_mahjong_souls_grades_are_known_by_name(names: list[str], grades: tuple[int, ...] | None) -> None:
    game = read({**one_round(), "rule": {"disp": "玉の間南喰赤", "aka": 1}, "dan": names})
    assert game.grades == grades
    assert game.grading_deltas is None


def test_an_unranked_game_has_no_grades() -> None:
    dans = ["新人", "９級", "七段", "天鳳位"]
    for more in ({"lobby": 1234}, {"rule": {"disp": "若南喰赤", "aka": 1}}):
        assert read({**one_round(), "dan": dans, **more}).grades is None


def test_a_record_without_final_scores_is_incomplete() -> None:
    game = read(one_round())
    assert (game.final_scores, game.grading_deltas) == (None, None)
    assert game.incomplete == "the record stops after East 1-0, without the final scores"


def outcomes(*lines: str) -> list[str]:
    """For each game in a file, its problem or its id."""
    found = tenhou_json_games("".join(f"{line}\n" for line in lines), "file")
    return [game.problem if isinstance(game, Unreadable) else game.id for game in found]


def named(ref: str, **more: Any) -> str:
    return json.dumps({**one_round(), "ref": ref, **more})


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (named("b", rule={"disp": "三鳳南赤", "aka": 1}), "a game without open tanyao"),
        (named("b", log=[[]]), "round 1: a list of 17 elements"),
        (named("b")[:-20], "tenhou.net/6 JSON, but cut off or damaged"),
        (named("b")[:-1] + ', "ref": "c"}', "tenhou.net/6 JSON, but cut off or damaged: an object has 'ref' twice"),
        ("https://tenhou.net/6/#json=%7B", "tenhou.net/6 JSON, but cut off or damaged"),
    ],
)
def test_a_game_that_cannot_be_read_does_not_affect_the_others(bad: str, problem: str) -> None:
    for number in range(3):
        lines = [named("a"), named("z")]
        lines.insert(number, bad)
        found = outcomes(*lines)
        assert found.pop(number).startswith(f"line {number + 1}: {problem}")
        assert found == ["a", "z"]


def test_games_of_files_joined_without_a_line_feed_are_read() -> None:
    assert outcomes(named("a") + named("b") + named("c"), named("}{") + named("d")) == ["a", "b", "c", "}{", "d"]


def test_an_object_over_many_lines_that_is_cut_off_is_one_problem() -> None:
    lines = json.dumps(one_round(), indent=1).split("\n")
    (problem,) = outcomes(*lines[:-9])
    assert problem.startswith("line 1: tenhou.net/6 JSON, but cut off or damaged")
    assert outcomes(named("a"), *lines[:-9], named("z"))[::2] == ["a", "z"]


def rounds_of_one_game(**more: Any) -> tuple[dict[str, Any], list[str]]:
    """A whole game, and its rounds as separate objects, one per line."""
    simulated = simulate_game(FOUR_PLAYERS, 3, style=0, annotated=False)
    whole = document_of(rounds_of(simulated.events), "玉の間東喰赤", ref="game", **more)
    return whole, [json.dumps({**whole, "log": [recorded]}) for recorded in whole["log"]]


def read_lines(lines: Sequence[str]) -> list[Game]:
    return all_readable(tenhou_json_games("".join(f"{line}\n" for line in lines), "file"))


def test_rounds_of_one_game_in_separate_objects_are_one_game() -> None:
    whole, lines = rounds_of_one_game(sc=[25000, 0.0] * 4)
    assert len(lines) > 3
    for order in (lines, lines[::-1]):
        assert read_lines(order) == [read(whole)]


def test_a_repeated_round_is_not_put_into_the_game_twice() -> None:
    whole, lines = rounds_of_one_game()
    game, copy = read_lines([*lines, lines[1]])
    assert game == read(whole) and copy.id == game.id and copy.rounds == game.rounds[1:2]


def test_missing_final_scores_of_a_whole_game_follow_from_its_rounds() -> None:
    whole, lines = rounds_of_one_game()
    game = read(whole)
    assert game.incomplete is None and game.final_scores is not None
    assert read_lines(lines) == [game]
    assert read({**whole, "log": whole["log"][:-1]}).incomplete is not None


@pytest.mark.parametrize(
    ("scores", "ending", "is_whole"),
    [
        ([21000, 21000, 21000, 37000], ["流局", [-1000, -1000, -1000, 3000]], True),
        ([35000, 17000, 18000, 30000], ["流局", [-1000, -1000, -1000, 3000]], False),
        ([20000, 20000, 20000, 40000], ["九種九牌"], False),
    ],
)
def test_a_dealer_ends_the_last_round_only_as_the_first_and_by_a_win_or_tenpai(
    scores: list[int], ending: list[Any], is_whole: bool
) -> None:
    whole, _ = rounds_of_one_game()
    first, *_, last = whole["log"]
    assert last[0] == [3, 0, 0]
    game = read({**whole, "log": [first, [last[0], scores, *last[2:-1], ending]]})
    assert (game.final_scores is not None, game.incomplete is None) == (is_whole, is_whole)


def test_a_last_round_that_cannot_be_does_not_lose_the_game() -> None:
    whole, _ = rounds_of_one_game()
    first, *_, last = whole["log"]
    hand, draws, discards = last[4:7]
    absent = next(tile for tile in range(41, 48) if tile not in (*hand, *draws))
    game = read({**whole, "log": [first, [*last[:6], [absent, *discards[1:]], *last[7:-1], ["流局"]]]})
    assert len(game.rounds) == 2 and game.incomplete is not None


def test_a_length_that_the_rules_do_not_name_follows_from_the_rounds() -> None:
    whole, _ = rounds_of_one_game()
    scores = [number for score in read(whole).final_scores or () for number in (score, 0.0)]
    assert read({**whole, "sc": scores, "rule": {"disp": "", "aka": 1}}).style == 0
    assert read({**whole, "sc": scores, "rule": {"disp": "玉の間南喰赤", "aka": 1}}).style == 1


def test_a_null_member_counts_as_missing() -> None:
    document = one_round()
    optional = {"connection": None, "sc": None, "lobby": None, "dan": None}
    nulls = {**document, **optional, "rule": {**document["rule"], "disp": None}}
    missing = {key: value for key, value in document.items() if key not in optional}
    missing["rule"] = {key: value for key, value in document["rule"].items() if key != "disp"}
    assert replace(read(nulls), id="") == replace(read(missing), id="")


def test_a_game_of_a_private_lobby_has_no_room() -> None:
    whole, _ = rounds_of_one_game()
    rooms = [read({**whole, "lobby": lobby}).room for lobby in (0, "0", 1234)]
    assert rooms == [3, 3, None]


def test_rounds_that_disagree_about_their_game_are_not_one_game() -> None:
    _, lines = rounds_of_one_game(sc=[25000, 0.0] * 4)
    _, others = rounds_of_one_game(sc=[24000, 0.0, 26000, 0.0, 25000, 0.0, 25000, 0.0])
    assert [len(game.rounds) for game in read_lines([lines[0], others[1], lines[2]])] == [2, 1]


@pytest.mark.records
def test_real_records_replay_except_for_one_that_cannot_have_been_played() -> None:
    left_out, num_rounds = {}, 0
    for path in real_records("tenhou6"):
        (game,) = read_games(str(path))
        report = annotate_game(game)
        num_rounds += report.num_rounds
        if [text for text in report.left_out if "final scores" not in text]:
            left_out[path.name] = report.left_out
    # made up by hand: five ordinary 5s, and the payments name another winner than the description
    assert list(left_out) == ["confusing_nakis_2.json"]
    assert num_rounds == 19


@pytest.mark.records
@pytest.mark.parametrize("folder", ["tenhou/houou-4p-2020", "tenhou/houou-4p-2021"])
def test_a_sample_of_real_games_is_written_and_read_back_unchanged(folder: str) -> None:
    num_rounds = 0
    for path in real_records(folder)[::60]:
        (game,) = read_games(str(path))
        rounds = [round_.events for round_ in game.rounds]
        for read_back, written in zip(read(document_of(rounds)).rounds, rounds, strict=True):
            assert without_wording(read_back.events) == without_wording(written), (path.name, read_back.name)
        num_rounds += len(rounds)
    assert num_rounds > 30


def test_rounds_on_separate_lines_without_an_id_are_one_game_if_they_follow_each_other() -> None:
    whole, _ = rounds_of_one_game()
    del whole["ref"]
    lines = [json.dumps({**whole, "log": [recorded]}) for recorded in whole["log"]]
    (game,) = read_lines(lines)
    assert (game.rounds, game.incomplete) == (read(whole).rounds, None)
    assert game.final_scores is not None
    assert annotate_game(game).left_out == []
    assert [len(found.rounds) for found in read_lines([*lines[:2], *lines[3:]])] == [2, len(lines) - 3]
    other = json.dumps({**whole, "log": [whole["log"][1]], "name": ["a", "b", "c", "d"]})
    assert [len(found.rounds) for found in read_lines([lines[0], other])] == [1, 1]


@pytest.mark.parametrize(
    ("hands", "is_over"), [(DULL, True), ((TENPAI, *DULL[1:]), True), ((*DULL[:3], TENPAI), False)]
)
def test_a_last_round_without_a_win_ends_the_game_unless_the_dealer_was_tenpai(
    hands: Sequence[str], is_over: bool
) -> None:
    scores, rounds = [31000, 24000, 23000, 22000], list[Played]()
    for dealer in range(4):
        start = start_of_round(dealer, honba=dealer, scores=scores)
        rounds.append(play_round("", hands if dealer == 3 else DULL, start=start))
    whole = document_of([played.events for played in rounds], "玉の間東喰赤")
    (game,) = read_lines([json.dumps({**whole, "log": [recorded]}) for recorded in whole["log"]])
    assert len(game.rounds) == 4 and (game.final_scores is not None) == is_over


def test_a_round_with_a_fault_does_not_affect_the_others() -> None:
    whole, _ = rounds_of_one_game(sc=[25000, 0.0] * 4)
    whole["log"][1][5] = ["47c4747"]
    game = read(whole)
    assert len(game.rounds) == len(whole["log"]) - 1
    assert [(lost.place, str(lost)[:9]) for lost in game.lost] == [(1, "round 2: ")]


def test_addresses_with_a_game_may_be_encoded_and_have_further_parameters() -> None:
    whole, _ = rounds_of_one_game()
    text = json.dumps(whole)
    for start in ("https://tenhou.net/6/#json=", "https://www.tenhou.net/5/?tw=2#json="):
        for end in ("", "&ts=0", "&tw=1&ts=2"):
            for content in (text, quote(text)):
                record = Record("address.txt", 0, f"{start}{content}{end}\n".encode())
                (game,) = read_record(record)
                assert game.rounds == read(whole).rounds


def test_rules_of_three_players_may_state_no_red_five_of_characters() -> None:
    start = {"start": start_of_three(), "writer": writer_of(vocabulary=V3)}
    document = document_of([play_round("", DULL_3, **start).events], "三鳳南喰赤")
    for aka in ({"aka51": 0, "aka52": 1, "aka53": 1}, {"aka": 0, "aka51": 0, "aka52": 1, "aka53": 1}):
        rule = {"disp": "三鳳南喰赤", **aka}
        assert len(read({**document, "rule": rule}).rounds) == 1
    with pytest.raises(ValueError, match="red fives"):
        read({**document, "rule": {"disp": "三鳳南喰赤", "aka51": 0, "aka52": 0, "aka53": 1}})


def test_a_riichi_that_is_not_possible_is_named() -> None:
    document = one_round("0 discard 1m", DULL, "5z")
    document["log"][0][6][0] = f"r{document['log'][0][6][0]}"
    (text,) = [text for text in annotate_game(read(document)).left_out if "riichi" in text]
    assert text == "East 1-0: seat 0 cannot declare riichi with 1m now"


def test_choices_of_a_seat_that_left_count_as_the_servers() -> None:
    document = one_round("", DULL)
    num_steps = sum(e["type"] in ("tsumo", "dahai") for e in read(document).rounds[0].events)
    away = [{"what": 0, "log": 0, "who": 1, "step": 2}, {"what": 1, "log": 0, "who": 1, "step": 9}]
    late = [{"what": 0, "log": 0, "who": 1, "step": num_steps}]
    events = read(document).rounds[0].events
    automatic = read({**document, "connection": away}).rounds[0].automatic
    # seat 1 is away from the first discard on until its next turn
    assert {seat for _, seat in automatic} == {1}
    assert {events[place]["type"] for place, _ in automatic} == {"tsumo", "dahai"}
    assert read({**document, "connection": late}).rounds[0].automatic == frozenset()
    before = [{"what": 0, "log": -1, "who": 2, "step": 0}]
    assert {seat for _, seat in read({**document, "connection": before}).rounds[0].automatic} == {2}


@settings(deadline=None, database=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(1, 3), st.booleans(), st.sampled_from("EEES")), min_size=1, max_size=60))
def test_the_order_of_turns_is_recovered_whatever_it_is(steps: list[tuple[int, bool, str]]) -> None:
    turns: list[list[Turn]] = [[] for _ in range(NUM_SEATS)]
    head: Event = {"type": "tsumo", "actor": 0, "pai": "E"}
    order: list[Turn] = []
    for other, is_called, pai in steps:
        seat = head["actor"]
        order.append((head, {"type": "dahai", "actor": seat, "pai": pai, "tsumogiri": False}))
        turns[seat].append(order[-1])
        head = {"type": "tsumo", "actor": (seat + 1) % NUM_SEATS, "pai": "E"}
        if is_called:
            head = {"type": "pon", "actor": (seat + other) % NUM_SEATS, "target": seat, "pai": pai}
    assert order_of(turns, 0) == order
