"""The mjai reader, on lines put together here."""

import json
from typing import Any

import pytest

from annotate.game.record import Game, Unreadable, all_readable
from annotate.records.mjai.dialects import is_mjai
from annotate.records.mjai.reader import mjai_games
from annotate.vocabulary import THREE_PLAYERS
from tests.support.reviewed import events_of

Event = dict[str, Any]

HAND = ["1m", "9m", "1p", "9p", "1s", "9s", "E", "S", "W", "N", "P", "F", "C"]
START_GAME: Event = {"type": "start_game", "names": ["a", "b", "c", "d"]}
TSUMO: Event = {"type": "tsumo", "actor": 0, "pai": "5mr"}
DAHAI: Event = {"type": "dahai", "actor": 0, "pai": "5mr", "tsumogiri": True}
DRAW: Event = {"type": "ryukyoku", "reason": "exhaustive_draw", "deltas": [1500, 1500, -1500, -1500]}
RON: Event = {"type": "hora", "actor": 1, "target": 0, "deltas": [-1000, 1000, 0, 0], "ura_markers": ["1p"]}
END_KYOKU: Event = {"type": "end_kyoku"}
END_GAME: Event = {"type": "end_game"}


def start_kyoku(bakaze: str = "E", kyoku: int = 1, **changes: Any) -> Event:
    start: Event = {
        "type": "start_kyoku",
        "bakaze": bakaze,
        "dora_marker": "E",
        "kyoku": kyoku,
        "honba": 0,
        "kyotaku": 0,
        "oya": kyoku - 1,
        "scores": [25000, 25000, 25000, 25000],
        "tehais": [HAND] * 4,
    }
    return {name: value for name, value in {**start, **changes}.items() if value is not None}


def text(*events: Event) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


def read(*events: Event) -> Game:
    (game,) = all_readable(mjai_games(text(*events), "file"))
    return game


def read_round(*events: Event) -> list[Event]:
    return list(read(START_GAME, start_kyoku(), *events, END_KYOKU, END_GAME).rounds[0].events)


def without(event: Event, *names: str) -> Event:
    return {key: value for key, value in event.items() if key not in names}


def test_other_names_of_fields_become_the_usual_ones() -> None:
    start = {**start_kyoku(kyotaku=None), "kyoutaku": 2}
    ron = {**without(without(RON, "deltas"), "ura_markers"), "delta": RON["deltas"], "uradora_markers": ["1p"]}
    rounds = read(START_GAME, start, TSUMO, DAHAI, ron, END_GAME).rounds
    assert rounds[0].events[0] == start_kyoku(kyotaku=2)
    assert rounds[0].events[-1] == RON


def test_a_field_that_is_null_counts_as_missing() -> None:
    ron = {**RON, "ura_markers": None, "scores": None}
    assert read_round(ron) == read_round(without(RON, "ura_markers"))
    with pytest.raises(ValueError, match="target is missing"):
        read_round({**RON, "target": None})
    optional = {"scores": None, "kyotaku": None, "oya": None}
    nulls = read({**START_GAME, "kanachan": None}, {**start_kyoku(), **optional}, RON, {**END_GAME, "scores": None})
    missing = read(START_GAME, without(start_kyoku(), *optional), RON, without(END_GAME, "scores"))
    assert (nulls.rounds, nulls.incomplete) == (missing.rounds, missing.incomplete)


def test_the_header_that_simulation_writes_into_start_game_is_read() -> None:
    header = {"rules": "mjsoul", "room": 3, "grades": [9, 9, 9, 10], "style": 1, "id": "sim/1"}
    game = read({**START_GAME, "kanachan": header}, start_kyoku("S", 4), DRAW, END_GAME)
    assert (game.id, game.rules, game.style, game.room, game.grades) == ("sim/1", ("mjsoul",), 1, 3, (9, 9, 9, 10))
    # 26500 first and second, 23500 third and fourth (雀豪2: 180)
    assert game.grading_deltas == (2 + 15 + 110, 2 + 5 + 55, -1 - 5, -1 - 15 - 180)


def test_a_plain_record_leaves_rules_room_and_grades_open() -> None:
    game = read(START_GAME, start_kyoku("S", 4), DRAW, END_GAME)
    assert (game.rules, game.room, game.grades, game.grading_deltas) == (("tenhou", "mjsoul"), None, None, None)


@pytest.mark.parametrize(
    ("bakaze", "kyoku", "scores", "style"),
    [
        ("E", 4, [25000, 25000, 25000, 25000], 0),
        ("S", 1, [25000, 25000, 25000, 25000], 0),
        ("S", 3, [25000, 25000, 25000, 25000], 0),
        ("S", 4, [25000, 25000, 25000, 25000], 1),
        ("W", 2, [25000, 25000, 25000, 25000], 1),
        ("E", 4, [0, 50000, 25000, 25000], 0),
        ("E", 4, [25000, 50000, 0, 25000], 1),  # below 0 at the end: a longer game ends here as well
        ("E", 2, [25000, 25000, 25000, 25000], 1),
    ],
)
def test_the_style_follows_from_where_the_game_could_end(
    bakaze: str, kyoku: int, scores: list[int], style: int
) -> None:
    assert read(START_GAME, start_kyoku(bakaze, kyoku, scores=scores), DRAW, END_GAME).style == style


def test_a_south_round_that_no_east_game_reaches_shows_a_longer_game() -> None:
    for scores, honba, style in (((31000, 23000), 0, 1), ((31000, 23000), 1, 0), ((29000, 25000), 0, 0)):
        start = start_kyoku("S", 2, scores=[*scores, 23000, 23000], honba=honba)
        assert read(START_GAME, start, DRAW, END_GAME).style == style


def test_games_without_an_id_get_distinct_and_stable_ids() -> None:
    one, other = (text(START_GAME, start_kyoku(), move, DRAW, END_GAME) for move in (TSUMO, {**TSUMO, "pai": "5m"}))
    both = [game.id for game in all_readable(mjai_games(one + other, "file"))]
    assert both == [all_readable(mjai_games(part, "file"))[0].id for part in (one, other)]
    assert len(set(both)) == 2


@pytest.mark.parametrize("given", ["", "a\tb", "a\nb", "\ud800"])
def test_an_id_that_would_break_a_line_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match="id"):
        read({**START_GAME, "kanachan": {"id": given}}, start_kyoku(), DRAW, END_GAME)


def outcomes(*lines: str) -> list[str | int]:
    """For each game in a file, its problem or the number of its rounds."""
    found = mjai_games("".join(lines), "file")
    return [game.problem if isinstance(game, Unreadable) else len(game.rounds) for game in found]


GOOD = text(START_GAME, start_kyoku(), DRAW, END_GAME)


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (text(START_GAME, start_kyoku(), {**TSUMO, "pai": "0m"}, DRAW, END_GAME), "line 7: tsumo: pai must be a tile"),
        (text(START_GAME, start_kyoku()) + "{\n" + text(DRAW, END_GAME), "line 7: not JSON"),
        (text(START_GAME, start_kyoku(), {"type": "kita", "actor": 0}), "line 7: kita: not possible with 4 players"),
        (text(START_GAME, start_kyoku(), END_GAME), "line 7: end_game: East 1-0 has not ended"),
        (text({**START_GAME, "kanachan": {"id": ""}}, DRAW, END_GAME), "line 6: ryukyoku: outside of a round"),
        (text({**START_GAME, "kanachan": {"id": ""}}, start_kyoku(), DRAW), "the game from line 5: start_game: id ''"),
    ],
)
def test_a_game_that_cannot_be_read_does_not_affect_the_others(bad: str, problem: str) -> None:
    first, second, third = outcomes(GOOD, bad, GOOD)
    assert (first, third) == (1, 1)
    assert str(second).startswith(problem)


def test_games_of_files_joined_without_a_line_feed_are_read() -> None:
    assert outcomes(GOOD[:-1], GOOD[:-1], GOOD) == [1, 1, 1]
    named = text({**START_GAME, "names": ["}{", "b", "c", "d"]}, start_kyoku(), DRAW, END_GAME)
    assert outcomes(named[:-1], named) == [1, 1]
    damaged = GOOD.replace('"end_game"}\n', "end_game}")
    assert outcomes(damaged, GOOD) == [1, 1]
    first, _ = all_readable(mjai_games(damaged + GOOD, "file"))
    assert first.final_scores is None and str(first.lost[0]).startswith("line 4: not JSON")


def test_a_damaged_start_of_a_game_does_not_affect_the_game_before() -> None:
    assert outcomes(GOOD, GOOD[1:]) == [1, "line 5: not JSON: Extra data: line 1 column 7 (char 6)"]
    assert outcomes(text(START_GAME, TSUMO), GOOD) == ["line 2: tsumo: outside of a round", 1]


def test_lines_after_a_game_change_neither_it_nor_its_id() -> None:
    (alone,) = all_readable(mjai_games(GOOD, "file"))
    assert list(mjai_games(GOOD + text(TSUMO), "file")) == [alone, Unreadable("line 5: tsumo: after end_game")]


def test_a_file_cut_off_within_a_line_keeps_whole_rounds() -> None:
    whole = text(START_GAME, start_kyoku(), DRAW, END_KYOKU, start_kyoku(kyoku=2), TSUMO)
    (game,) = all_readable(mjai_games(whole[:-9], "file"))
    assert (len(game.rounds), game.incomplete) == (1, "the file is cut off; the record stops in East 2-0")


def test_a_cut_off_line_after_the_end_of_a_game_is_reported() -> None:
    whole = text(START_GAME, start_kyoku(), DRAW, END_KYOKU, {"type": "end_game"}, START_GAME)
    game, problem = mjai_games(whole[:-9], "file")
    assert isinstance(game, Game) and isinstance(problem, Unreadable) and problem.problem.startswith("line 6: ")


def test_a_last_round_that_might_lack_a_second_winner_is_not_kept() -> None:
    assert all_readable(mjai_games(text(START_GAME, start_kyoku(), RON), "file"))[0].rounds == ()
    assert len(all_readable(mjai_games(text(START_GAME, start_kyoku(), DRAW), "file"))[0].rounds) == 1


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({**TSUMO, "actor": 4}, "line 3: tsumo: actor must be a seat 0 ... 3, not 4"),
        ({**TSUMO, "actor": True}, "line 3: tsumo: actor must be a seat 0 ... 3, not true"),
        ({"type": "dahai", "actor": [0], "pai": "1m"}, "line 3: dahai: actor must be a seat 0 ... 3, not [0]"),
        ({**TSUMO, "pai": "0m"}, 'line 3: tsumo: pai must be a tile, not "0m"'),
        (without(TSUMO, "pai"), "line 3: tsumo: pai is missing"),
        ({**DAHAI, "tsumogiri": 1}, "line 3: dahai: tsumogiri must be true or false, not 1"),
        ({"type": "chi", "actor": 1, "target": 0, "pai": "1m", "consumed": ["2m"]}, "chi: consumed must be 2 tiles"),
        ({"type": "ankan", "actor": 1, "consumed": "1m1m"}, "line 3: ankan: consumed must be 4 tiles"),
        ({**RON, "deltas": [0, 0, 0]}, "line 3: hora: deltas must be 4 integers"),
        ({**RON, "deltas": [10**12, 0, 0, 0]}, "line 3: hora: deltas must be 4 integers"),
        (without(RON, "deltas"), "line 3: hora: deltas is missing"),
        (END_KYOKU, "line 3: end_kyoku: the round has neither hora nor ryukyoku"),
        (END_GAME, "line 3: end_game: East 1-0 has not ended"),
        (start_kyoku(bakaze="P"), "line 3: start_kyoku: bakaze must be E, S, W or N"),
        (start_kyoku(kyoku=5), "kyoku must be 1 ... 4"),
        (start_kyoku(oya=2), "oya is 2, but the dealer of kyoku 1 is seat 0"),
        (start_kyoku(honba=-1), "honba must be a count"),
        (start_kyoku(tehais=[HAND[:12]] * 4), "tehais must be 4 hands of 13 tiles"),
        (start_kyoku(tehais=[["?"] * 13] * 4), "line 3: start_kyoku: hands are hidden"),
        ({**START_GAME, "kanachan": "x"}, 'the game from line 3: start_game: "kanachan" must be an object'),
        ({**START_GAME, "kanachan": {"room": 5}}, "the game from line 3: start_game: room must be 0 ... 4"),
        ({**START_GAME, "kanachan": {"grades": [9] * 3}}, "the game from line 3: start_game: grades must be 4 grades"),
        ({**START_GAME, "kanachan": {"rules": "x"}}, "the game from line 3: start_game: rules must be"),
    ],
)
def test_a_malformed_event_is_named_with_line_and_field(event: Event, reason: str) -> None:
    start = [START_GAME, start_kyoku()] if "tehais" not in event else [START_GAME, {"type": "hello"}]
    found = list(mjai_games(text(*start, event, END_GAME), "file"))
    problems = [game.problem if isinstance(game, Unreadable) else str(game.lost) for game in found]
    assert any(reason in problem for problem in problems), problems


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (text(TSUMO), "line 1: tsumo: before any start_game"),
        (text(START_GAME, TSUMO), "line 2: tsumo: outside of a round"),
        (text(START_GAME, END_GAME, TSUMO), "line 3: tsumo: after end_game"),
        (text(START_GAME, start_kyoku(), DRAW, TSUMO), "line 4: tsumo: after the end of the round"),
        (text(START_GAME) + "{\n", "line 2: not JSON"),
        (text(START_GAME) + "[" * 100_000 + "\n", "line 2: not JSON"),
        (text(START_GAME) + '{"type": 7}\n', "line 2: an mjai event"),
        (
            text(START_GAME) + '{"type": "tsumo", "pai": "1m", "pai": "2m"}\n',
            "line 2: not JSON: an object has 'pai' twice",
        ),
        ("\n", "no start_game"),
    ],
)
def test_lines_out_of_place_are_refused(lines: str, reason: str) -> None:
    with pytest.raises(ValueError, match=f"^{reason}"):
        all_readable(mjai_games(lines, "file"))


SECOND = start_kyoku(kyoku=2, scores=[26500, 26500, 23500, 23500])


@pytest.mark.parametrize(
    "fault",
    [{"type": "chi", "actor": 1}, {**TSUMO, "pai": "0m"}, {"type": "kita", "actor": 0}],
    ids=["fields that are missing", "no tile", "not of four players"],
)
def test_a_fault_within_a_round_loses_only_that_round_and_names_it(fault: Event) -> None:
    third = start_kyoku(kyoku=3)
    game = read(START_GAME, start_kyoku(), DRAW, END_KYOKU, SECOND, fault, DRAW, END_KYOKU, third, DRAW, END_GAME)
    assert [round_.name for round_ in game.rounds] == ["East 1-0", "East 3-0"]
    (lost,) = game.lost
    assert lost.place == 1 and str(lost).startswith(f"East 2-0: line 6: {fault['type']}: ")


def test_an_error_of_the_server_ends_the_game_after_its_whole_rounds() -> None:
    game = read(START_GAME, start_kyoku(), DRAW, END_KYOKU, SECOND, TSUMO, {"type": "error", "message": "late"})
    assert [round_.name for round_ in game.rounds] == ["East 1-0"]
    assert game.incomplete == "line 7: error: late; the record stops in East 2-0"


def test_messages_that_are_no_part_of_a_game_are_skipped() -> None:
    greeting: list[Event] = [{"type": "hello", "protocol": "mjsonp"}, {"type": "join", "name": "a"}]
    plain = read(START_GAME, start_kyoku(), TSUMO, DRAW, END_GAME)
    think: Event = {"type": "think_time", "ms": 3}
    game = read(think, *greeting, START_GAME, start_kyoku(), think, TSUMO, DRAW, END_GAME, think)
    assert game.rounds == plain.rounds
    assert game.notes == ("events of unknown types passed over: think_time",)


@pytest.mark.parametrize("indent", [None, 0, 2])
@pytest.mark.parametrize("is_record", [False, True])
def test_a_file_may_hold_its_events_as_an_array(indent: int | None, is_record: bool) -> None:
    rounds = [[start_kyoku(), TSUMO, DRAW], [start_kyoku("E", 2), {**TSUMO, "actor": 1}, DRAW]]
    events = [START_GAME, *rounds[0], *rounds[1], END_GAME]

    def printed(events: list[Event]) -> str:
        return json.dumps({"record": events} if is_record else events, indent=indent) + "\n"

    expected = read(*events).rounds
    assert is_mjai(printed(events))
    for content in (printed(events), printed(events).strip(), printed(events) * 2):
        for game in all_readable(mjai_games(content, "file")):
            assert (game.rounds, game.lost, game.incomplete) == (expected, (), None)
    faulty = printed([START_GAME, rounds[0][0], {"type": "tsumo", "actor": 9}, *events[3:]])
    (game,) = all_readable(mjai_games(faulty, "file"))
    line = faulty[: faulty.index('"tsumo"')].count("\n") + 1 - (indent is not None)
    assert (game.rounds, game.lost[0].problem[:13]) == (expected[1:], f"line {line}: tsumo"[:13])


@pytest.mark.parametrize("cut", ["tsumo", "start_kyoku", "kyoku"])
def test_an_array_that_is_cut_off_keeps_its_whole_rounds(cut: str) -> None:
    events = [START_GAME, start_kyoku(), TSUMO, DRAW, start_kyoku("E", 2), {**TSUMO, "actor": 1}]
    text_ = json.dumps({"record": events}, indent=1)
    (game,) = all_readable(mjai_games(text_[: text_.rindex(cut)], "file"))
    assert (len(game.rounds), game.lost) == (1, ()) and game.incomplete is not None


def test_scores_missing_from_start_kyoku_follow_from_the_rounds_before() -> None:
    accepted = {
        "type": "reach_accepted",
        "actor": 0,
        "deltas": [-1000, 0, 0, 0],
        "scores": [24000, 25000, 25000, 25000],
    }
    draw = {**DRAW, "deltas": [1000, 1000, 1000, -3000], "scores": [25000, 26000, 26000, 22000]}
    starts = [without(without(without(start_kyoku(kyoku=k), "scores"), "kyotaku"), "oya") for k in (1, 2)]
    end = {**END_GAME, "scores": [24000, 27000, 26000, 22000]}
    game = read(START_GAME, starts[0], accepted, draw, END_KYOKU, starts[1], RON, END_KYOKU, end)
    first, second = (round_.events[0] for round_ in game.rounds)
    assert (first["scores"], first["kyotaku"], first["oya"]) == ([25000] * 4, 0, 0)
    assert (second["scores"], second["kyotaku"], second["oya"]) == ([25000, 26000, 26000, 22000], 1, 1)
    assert game.lost == ()


def test_payments_follow_from_the_scores_where_only_scores_are_recorded() -> None:
    accepted = {"type": "reach_accepted", "actor": 1}
    rons = [
        {**without(RON, "deltas"), "scores": [24000, 26000, 25000, 25000]},
        {**without(RON, "deltas"), "actor": 2, "scores": [16000, 26000, 33000, 25000]},
    ]
    found = read_round(accepted, *rons)[-2:]
    assert [event["deltas"] for event in found] == [[-1000, 2000, 0, 0], [-8000, 0, 8000, 0]]
    (drawn,) = read_round({**without(DRAW, "deltas"), "scores": [26500, 26500, 23500, 23500]})[1:]
    assert drawn["deltas"] == DRAW["deltas"]


@pytest.mark.parametrize(
    ("stated", "style"),
    [({"kyoku_first": 4}, 0), ({"kyoku_first": 0}, 1), ({"gametype": "tonpu"}, 0), ({"gametype": "tonnan"}, 1)],
)
def test_the_length_that_start_game_states_is_used(stated: Event, style: int) -> None:
    for last in (start_kyoku("E", 2), start_kyoku("S", 1), start_kyoku("S", 4)):
        assert read({**START_GAME, **stated}, last, DRAW, END_GAME).style == style


def test_a_game_without_red_fives_is_refused_with_the_reason() -> None:
    with pytest.raises(ValueError, match="without red fives .*: this rule variant is not supported"):
        read({**START_GAME, "aka_flag": False}, start_kyoku(), DRAW, END_GAME)
    assert read({**START_GAME, "aka_flag": True}, start_kyoku(), DRAW, END_GAME).rounds
    fives = [{**TSUMO, "pai": "5m"}] * 4
    with pytest.raises(ValueError, match="without red fives: this rule variant is not supported"):
        read(START_GAME, start_kyoku(), *fives[:3], DRAW, start_kyoku("E", 2), *fives, DRAW, END_GAME)
    # a fault, and rounds that happen to show no red five
    assert read(START_GAME, start_kyoku(), *fives, DRAW, start_kyoku("E", 2), TSUMO, DRAW, END_GAME).rounds
    assert read(START_GAME, start_kyoku(), *fives[:3], DRAW, END_GAME).rounds


def test_discards_may_lack_tsumogiri() -> None:
    draws = [{"type": "tsumo", "actor": 1, "pai": "3s"}, {"type": "dahai", "actor": 1, "pai": "3s"}]
    other = [{"type": "tsumo", "actor": 2, "pai": "3s"}, {"type": "dahai", "actor": 2, "pai": "1m"}]
    riichi = [{"type": "tsumo", "actor": 3, "pai": "3s"}, {"type": "reach", "actor": 3}]
    riichi += [{"type": "dahai", "actor": 3, "pai": "3s"}, {"type": "reach_accepted", "actor": 3}]
    found = read_round(TSUMO, DAHAI, *draws, *other, *riichi, DRAW)
    assert [event["tsumogiri"] for event in found if event["type"] == "dahai"] == [False, True, False, True]


@pytest.mark.parametrize("has_line", [True, False])
def test_a_fault_in_the_first_round_of_three_players_costs_that_round_only(has_line: bool) -> None:
    lines = [json.dumps(event) for event in events_of(0, vocabulary=THREE_PLAYERS)]
    assert '"start_kyoku"' in lines[1]
    lines[1:2] = [lines[1][:40]] if has_line else []
    (whole,) = all_readable(mjai_games(text(*events_of(0, vocabulary=THREE_PLAYERS)), "file"))
    (game,) = all_readable(mjai_games("\n".join(lines) + "\n", "file"))
    assert game.vocabulary is THREE_PLAYERS
    assert game.rounds == whole.rounds[1:] and [lost.place for lost in game.lost] == [0]
