"""Legal actions, the progression and the wall, on rounds made up for one rule each.

Bare integers come from the specification: progression 5 + seat * 148 + tile * 4 + a * 2 + b and so on.
"""

import random

import pytest

from annotate.game.tiles import IDS_OF_TILE
from tests.support.rare_rounds import FOUR_KANS, KAKAN, KOKUSHI, TENPAI, TO_FOUR_KANS, events_of
from tests.support.rounds import (
    DULL,
    FIRST_LIVE,
    V3,
    choice,
    dora_of,
    left_of,
    options,
    play_round,
    play_three,
    play_wall,
    situation,
    start_of_round,
    wall_of_deal,
    writer_of,
)


def test_riichi_is_one_decision_with_its_discard() -> None:
    played = play_round("0 riichi 8m", [TENPAI, *DULL[1:]], "8m")

    first, *later = played.of(0)
    assert {"discard 8m", "riichi 8m"} < options(first)
    assert choice(first) == "riichi 8m"
    assert all("riichi 8m" not in options(decision) for decision in later)


def test_riichi_with_the_drawn_tile_and_with_an_equal_tile_of_the_hand_are_two_actions() -> None:
    played = play_round("0 discard 9m", ["123m456p789s1122z", "", "", ""], "9m...1z")
    assert {"riichi 1z", "riichi-cut 1z", "riichi 2z"} <= options(played.when(0, "riichi-cut 1z"))


def test_riichi_is_possible_a_turn_after_a_closed_kan() -> None:
    played = play_round("0 ankan 1m; 0 cut; 0 riichi 5m", ["1111m456p789s22z5m"], "5z...2z", rinshan="6z")
    assert {word for word in options(played.when(0, "riichi 5m")) if "riichi" in word} == {"riichi 5m", "riichi 5z"}


@pytest.mark.parametrize("hand, is_possible", [("111m456p789s2233z", True), ("1112m456p789s222z", False)])
def test_a_closed_kan_in_riichi_must_not_change_the_waits(hand: str, is_possible: bool) -> None:
    played = play_round("0 riichi 4m", [hand], "4m...1m")
    turns = [options(d) for d in played.of(0) if "cut 1m" in options(d)]
    assert turns == ([{"ankan 1m", "cut 1m"}] if is_possible else [])


def test_the_drawn_tile_and_an_equal_tile_of_the_hand_are_two_discards() -> None:
    played = play_round("", DULL, "9p1s")
    assert {"cut 1s", "discard 1s"} < options(played.of(1)[0])


def test_a_red_five_and_an_ordinary_one_are_two_discards() -> None:
    played = play_round("", ["05m", *DULL[1:]])
    assert {"discard 0m", "discard 5m"} < options(played.of(0)[0])


def test_pons_with_and_without_a_red_five_are_one_action_that_uses_the_red_five() -> None:
    played = play_round("0 discard 5p; 1 pon", ["5p", "055p", "", ""])

    decision = played.when(1, "pon")
    assert [token for token in decision.observation.actions if 312 <= token <= 422] == [312 + 2 * 37 + 15]
    assert sorted(played.all("pon")[0]["consumed"]) == ["5p", "5pr"]


def test_chis_with_and_without_a_red_five_are_two_actions() -> None:
    played = play_round("0 discard 4m; 1 chi 06m", ["4m", "056m", "", ""])
    assert {"chi 56m", "chi 06m"} < options(played.when(1, "chi 06m"))
    assert played.all("chi")[0]["consumed"] in (["5mr", "6m"], ["6m", "5mr"])


@pytest.mark.parametrize(
    "hand, tile, call, forbidden",
    [
        ("5647m", "4m", "chi 56m", {"4m", "7m"}),
        ("4636m", "5m", "chi 46m", {"5m"}),
        ("46055m", "5m", "chi 46m", {"0m", "5m"}),
        ("4536m", "3m", "chi 45m", {"3m", "6m"}),
        ("3425m", "5m", "chi 34m", {"2m", "5m"}),
        ("550m", "5m", "pon", {"0m", "5m"}),
    ],
)
def test_a_discard_that_swaps_the_called_tile_is_not_offered(
    hand: str, tile: str, call: str, forbidden: set[str]
) -> None:
    played = play_round(f"0 discard {tile}; 1 {call}", [tile, hand, "", ""])

    after = played.of(1)[1]
    discards = {word.split()[1] for word in options(after)}
    kept = {f"{digit}m" for digit in hand[:-1]} - forbidden - {f"{digit}m" for digit in call.split()[-1][:-1]}
    assert not discards & forbidden
    assert kept <= discards


def test_a_call_that_would_leave_no_discard_is_not_offered() -> None:
    script = "0 discard 1z; 1 pon; 1 discard 1s; 0 discard 2z; 1 pon; 1 discard 9p; 0 discard 3z; 1 pon; 1 discard 9p"
    hands = ["123z4m", "11z22z33z4567m99p1s", "3p6s", "3s6s"]
    played = play_round(f"{script}; 0 discard 4m", hands, "5p")
    at_4m = [d for d in played.of(1) if d.observation.progression[-1] == 5 + 4 * 4]
    assert options(at_4m[0]) == {"ron", "skip"}  # with 5m 6m called, 4m and 7m remain


def test_nobody_calls_the_last_discard() -> None:
    draws = "." * 68 + "6z5z"
    played = play_round("", [DULL[0], DULL[1], "369m147p258s5566z", "147m258p369s2223z"], draws)

    claims = [(left_of(decision), options(decision)) for decision in played.of(2) if "skip" in options(decision)]
    assert (1, {"pon", "skip"}) in claims
    assert not [claim for claim in claims if claim[0] == 0]


@pytest.mark.parametrize("answer", ["ron", "skip"])
def test_an_added_kan_may_be_robbed_after_its_token(answer: str) -> None:
    script = f"0 discard 3p; 1 pon; 1 discard 9m; 1 kakan 3p; 3 {answer}"
    played = play_round(script, ["3p", "33p9m", DULL[2], "234m567m678s66s45p"], "5z2z3z4z3p")

    (robbing,) = (d for d in played.of(3) if d.observation.progression[-1] == 1981 + 37 + 13)
    assert robbing.observation.actions == (221, 535)  # skip, or win from across
    assert bool(played.all("hora")) == (answer == "ron")


def test_thirteen_orphans_may_rob_a_closed_kan_only_on_mahjong_soul() -> None:
    played = play_round("0 ankan 1z; 2 ron", KOKUSHI, "1z")
    robbing = played.of(2)[0]
    assert robbing.observation.progression == (0, 1845 + 27)
    assert options(robbing) == {"ron", "skip"}
    assert [event["type"] for event in played.events[-2:]] == ["ankan", "hora"]

    tenhou = play_round("0 ankan 1z", KOKUSHI, "1z", rules="tenhou")
    assert "ron" not in options(tenhou.of(2)[0])


@pytest.mark.parametrize("rules", ["mjsoul", "tenhou"])
def test_the_discard_after_four_kans_of_several_seats_can_only_be_ronned(rules) -> None:
    played = play_round(f"{TO_FOUR_KANS}; 3 skip", FOUR_KANS, "2p1z", rinshan="6z6z5m1z", rules=rules)

    assert options(played.of(3)[-1]) == {"ron", "skip"}  # no pon of 7z
    assert played.events[-1]["reason"] == "suukansansen"


@pytest.mark.parametrize("name, reason", [("four equal winds", "sufuurenta"), ("four riichis", "suucha_riichi")])
def test_four_equal_winds_and_four_riichis_abort_the_round(name: str, reason: str) -> None:
    events, _ = events_of(name, "mjsoul")
    assert events[-1] == {"type": "ryukyoku", "reason": reason, "deltas": [0, 0, 0, 0]}
    assert sum(event["type"] == "dahai" for event in events) == 4


@pytest.mark.parametrize("points, is_possible", [(900, False), (1000, True)])
def test_riichi_needs_a_stick(points: int, is_possible: bool) -> None:
    start = start_of_round(scores=(points, 30000, 30000, 40000 - points))
    played = play_round("", [TENPAI, *DULL[1:]], "8m", start=start)
    assert ("riichi 8m" in options(played.of(0)[0])) == is_possible


def test_riichi_needs_a_draw_to_come() -> None:
    played = play_round("", [TENPAI, *DULL[1:]], "8m")
    lefts = {left_of(d) for d in played.of(0) if any("riichi" in word for word in options(d))}
    assert min(lefts) == 5  # seat 0 is to draw at 69, 65 ... 5, 1


def test_a_closed_kans_dora_is_turned_at_once() -> None:
    played = play_round("0 ankan 1m", ["1111m"], dora="3z4z", rinshan="6z")
    assert [dora_of(decision) for decision in played.of(0)[:2]] == [["3z"], ["3z", "4z"]]


def test_an_added_kans_dora_is_turned_after_the_next_discard() -> None:
    played = play_round(
        "0 discard 3p; 1 pon; 1 discard 9m; 1 kakan 3p; 1 cut", KAKAN, "5z2z1z4z3p", dora="3z4z", rinshan="5z"
    )
    kakan = next(i for i, decision in enumerate(played.of(1)) if choice(decision) == "kakan 3p")
    assert [dora_of(decision) for decision in played.of(1)[kakan : kakan + 2]] == [["3z"], ["3z"]]
    assert dora_of(played.decisions[-1]) == ["3z", "4z"]


def test_the_progression_holds_discards_and_calls_in_order_and_nothing_else() -> None:
    script = "0 discard 3p; 1 pon; 1 discard 9m; 2 chi 78m; 2 discard 1z; 3 kan"
    played = play_round(script, ["3p", "33p9m", "78m1z", "111z"], rinshan="5z", dora="9s9p")

    events = [
        0,
        5 + 13 * 4,  # seat 0 discards 3p
        957 + 111 + 2 * 37 + 13,  # seat 1 calls it, from the left
        5 + 148 + 9 * 4,
        597 + 2 * 90 + 29,  # seat 2 makes 7m 8m 9m
        5 + 2 * 148 + 30 * 4,
        1401 + 3 * 111 + 2 * 37 + 30,
    ]
    assert played.when(3, "kan").observation.progression == tuple(events[:-1])
    assert played.of(3)[1].observation.progression == tuple(events)


@pytest.mark.parametrize("seed", range(3))
def test_which_of_four_equal_tiles_is_dealt_does_not_matter(seed: int) -> None:
    script = "0 ankan 1m; 0 cut; 1 riichi 9m"
    wall = wall_of_deal(["1111m05p", "234m456p789s1122z", "055m1122s", "5577z"], ".9m")
    other = {}
    for ids in IDS_OF_TILE:
        other |= dict(zip(ids, random.Random(seed).sample(ids, len(ids)), strict=True))

    one, two = (play_wall(script, w, "mjsoul", start_of_round(), writer_of()) for w in (wall, [other[i] for i in wall]))
    assert one == two


@pytest.mark.parametrize("seed", range(3))
def test_decisions_do_not_depend_on_hidden_tiles_of_the_wall(seed: int) -> None:
    script, num_draws = "0 cut; 1 cut; 2 cut; 3 cut; 0 riichi 8m", 12
    wall = wall_of_deal([TENPAI, *DULL[1:]], "5z5z6z6z8m", dora="3z", rinshan="7z")
    indicator, first_hidden = 131, FIRST_LIVE + num_draws
    hidden = [place for place in range(first_hidden, 136) if place != indicator]
    changed = list(wall)
    for place, new in zip(hidden, random.Random(seed).sample(hidden, len(hidden)), strict=True):
        changed[place] = wall[new]

    one, two = (play_wall(script, w, "mjsoul", start_of_round(), writer_of()).decisions for w in (wall, changed))
    seen = [situation(decision) for decision in one if left_of(decision) > 69 - num_draws]
    assert len(seen) >= num_draws - 2
    assert [situation(decision) for decision in two[: len(seen)]] == seen


NORTH = "4z19m147p258s1235z"
WAITS_FOR_NORTH = "123p456p789s22z44z"
DULL_OF_THREE = "19m369p369s13467z"


def test_a_north_is_set_aside_and_replaced_from_the_dead_wall() -> None:
    played = play_three("0 kita; 0 cut", [NORTH], "6z", rinshan="9p")
    first, second = played.of(0)[:2]
    assert choice(first, V3) == "kita"
    assert second.observation.progression == (0, V3.progression["kita"].token(0))
    assert "cut 9p" in options(second, V3)


def test_several_norths_are_one_option() -> None:
    decision = play_three("0 discard 6z", ["444z19m147p258s56z"], "6z").of(0)[0]
    assert sorted(option for option in options(decision, V3) if "kita" in option) == ["kita"]


def test_a_north_may_be_discarded_and_called() -> None:
    played = play_three("0 discard 4z; 1 pon", [NORTH, "44z19m147p258s123z"], "6z")
    assert [event["pai"] for event in played.all("pon")] == ["N"]
    assert "kita" not in options(played.of(1)[1], V3)  # without a drawn tile


def test_after_riichi_only_a_drawn_north_is_set_aside() -> None:
    draws = "6z1m7z7z4z"
    played = play_three("1 riichi 1m; 1 kita", ["", WAITS_FOR_NORTH.replace("44z", "33z"), DULL_OF_THREE], draws)
    assert options(played.of(1)[1], V3) == {"kita", "cut 4z"}


def test_a_north_makes_no_yaku() -> None:
    played = play_three("0 discard 4z", [NORTH, WAITS_FOR_NORTH, DULL_OF_THREE], "6z")
    assert "ron" not in options(played.of(1)[0], V3)


def test_noten_payments_are_two_thousand_points_in_all() -> None:
    played = play_three("1 riichi 1m", ["", WAITS_FOR_NORTH.replace("44z", "33z"), DULL_OF_THREE], "6z1m7z")
    (draw,) = played.all("ryukyoku")
    assert sorted(draw["deltas"]) == [-1000, -1000, 2000]
