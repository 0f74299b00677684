"""What happened between decisions, all hands at each, and how rounds ended."""

from collections import Counter
from typing import Any

import pytest

from annotate.game.record import Game
from annotate.replay.replay import ReplayResult, annotate_game, annotation_of
from kanachan.review.board import table_of
from kanachan.review.course import Course
from kanachan.review.danger import Danger
from kanachan.review.rounds import ReviewedRound, rounds_of
from tests.support.rare_rounds import ROUNDS
from tests.support.rounds import V, options, play_round
from tests.support.writers.majsoul_made import simulated

UNKNOWN = Danger([None] * 64, [None] * 4)


@pytest.fixture(scope="module")
def replayed() -> tuple[Game, ReplayResult]:
    game = simulated(3).game
    return game, annotate_game(game)


def decisions_of(found: ReviewedRound, seat: int) -> list[dict[str, Any]]:
    own = found.own(seat)
    return found.decisions(seat, [UNKNOWN._replace(deal_in=[None] * len(a.actions)) for a in own])


def test_the_own_hand_is_that_of_the_annotation_at_every_decision(replayed: tuple[Game, ReplayResult]) -> None:
    count = 0
    for found in rounds_of(*replayed):
        for seat in range(4):
            for decision in decisions_of(found, seat):
                table, hands = decision["table"], decision["hands"]
                assert hands[seat] == {"tiles": table["hand"], "drawn": table["drawn"]}
                assert [len(hand["tiles"]) % 3 for hand in hands].count(1) >= 3
                assert all(hand["drawn"] is None for other, hand in enumerate(hands) if other != seat)
                count += 1
    assert count == len(replayed[1].annotations)


def test_the_events_between_decisions_are_all_events_once(replayed: tuple[Game, ReplayResult]) -> None:
    for found in rounds_of(*replayed):
        whole = found.course.between(1, found.course.end)
        for seat in range(4):
            parts = [decision["since"] for decision in decisions_of(found, seat)]
            assert [event for part in parts for event in part] + found.described(seat, 0)["after"] == whole
        kinds = Counter(event["type"] for event in whole)
        recorded = Counter(event["type"] for event in found.recorded.events)
        assert (kinds["draw"], kinds["discard"], kinds["riichi"]) == (
            recorded["tsumo"],
            recorded["dahai"],
            recorded["reach_accepted"],
        )
        assert sum(event.get("riichi", False) for event in whole) == recorded["reach"]


def test_events_since_the_last_decision_start_with_the_own_action(replayed: tuple[Game, ReplayResult]) -> None:
    found = next(found for found in rounds_of(*replayed) if len(found.own(0)) > 4)
    first, second, *_ = decisions_of(found, 0)
    assert first["since"][-1] == {"type": "draw", "seat": 0, "tile": first["table"]["drawn"]}
    assert (second["since"][0]["type"], second["since"][0]["seat"]) == ("discard", 0)


def test_scores_hands_and_yaku_of_the_end_add_up(replayed: tuple[Game, ReplayResult]) -> None:
    num_wins = 0
    for found in rounds_of(*replayed):
        end = found.ending
        assert end["scores_after"] == [a + b for a, b in zip(end["scores_before"], end["deltas"], strict=True)]
        assert (end["type"] == "win") == bool(end["wins"]) == (end["reason"] is None)
        for win in end["wins"]:
            assert sum(yaku["han"] for yaku in win["yaku"]) == win["han"]
            assert len(win["hand"]) + 3 * len(win["melds"]) == 13
            num_wins += 1
        for hand in end["hands"]:
            assert len(hand["tiles"]) + 3 * len(hand["melds"]) in (13, 14)
    assert num_wins > 2


@pytest.mark.parametrize("name", ROUNDS)
def test_rare_rounds_have_a_place_for_every_decision_and_an_end(name: str) -> None:
    script, hands, wall = ROUNDS[name]
    played = play_round(script, hands, **wall)
    course = Course(played.round, V)
    for decision in played.decisions:
        annotation = annotation_of("g", decision, [(0,) * 5] * 4, [(0,) * 7] * 4)
        table, moment = table_of(annotation, V), course.moment(course.place_of(annotation))
        assert (moment.concealed[decision.seat], moment.drawn[decision.seat]) == (table.hand, table.drawn)
    assert course.between(1, course.end)[-1]["type"] in ("win", "end")


def test_a_robbed_kan_is_won_with_its_tile() -> None:
    script, hands, wall = ROUNDS["a robbed kan"]
    played = play_round(script, hands, **wall)
    course = Course(played.round, V)
    assert course.between(1, course.end)[-1] == {"type": "win", "seat": 3, "source": 1, "tile": "3p"}


def test_a_tile_let_pass_makes_furiten_until_the_next_draw() -> None:
    tenpai = "234m567m678s66s45p"
    played = play_round("0 discard 3p; 2 skip", ["3p", "", tenpai, ""], draws="7z5z5z5z")
    course = Course(played.round, V)
    waited_for = 11  # 3p
    places = [place for place, event in enumerate(played.events) if event["type"] == "tsumo" and event["actor"] == 2]
    offered = next(decision for decision in played.of(2) if "ron" in options(decision))
    annotation = annotation_of("g", offered, [(0,) * 5] * 4, [(0,) * 7] * 4)
    assert waited_for not in course.moment(course.place_of(annotation)).furiten_kinds[2]
    assert waited_for in course.moment(places[0]).furiten_kinds[2]
    assert waited_for not in course.moment(places[0] + 1).furiten_kinds[2]
