"""The events between decisions, all hands at each decision, and the ends of rounds."""

from collections import Counter
from typing import Any

import pytest

from annotate.annotation import Annotation
from annotate.game.decisions import Decision, annotation_of
from annotate.game.record import Game
from annotate.replay.replay import ReplayResult, annotate_game
from annotate.vocabulary import NUM_TILES34, Vocabulary
from kanachan.review.board import candidate_of, table_of
from kanachan.review.choices import choices_of
from kanachan.review.course import Course
from kanachan.review.danger import DecisionDanger
from kanachan.review.hand_shape import HandShape
from kanachan.review.rounds import ReviewedRound, reviewed_rounds
from tests.support.rare_rounds import ROUNDS, ROUNDS_OF_THREE
from tests.support.rounds import V3, Played, V, options, play_round, play_three
from tests.support.writers.majsoul_made import simulated

RARE = [(V, name) for name in ROUNDS] + [(V3, name) for name in ROUNDS_OF_THREE]


@pytest.fixture(scope="module", params=[V, V3], ids=lambda vocabulary: vocabulary.name)
def replayed(request: pytest.FixtureRequest) -> tuple[Game, ReplayResult]:
    game = simulated(3, vocabulary=request.param).game
    return game, annotate_game(game)


def decisions_of(found: ReviewedRound, seat: int) -> list[dict[str, Any]]:
    nobody: list[float | None] = [None] * found.game.vocabulary.num_seats
    choices = [choices_of(annotation, found.game.vocabulary) for annotation in found.own(seat)]
    return found.decisions(seat, choices, [DecisionDanger([None] * NUM_TILES34, nobody, nobody)] * len(choices))


def played_rare(name: str, vocabulary: Vocabulary) -> Played:
    script, hands, wall = (ROUNDS if vocabulary is V else ROUNDS_OF_THREE)[name]
    return (play_round if vocabulary is V else play_three)(script, hands, **wall)


def annotated(decision: Decision, vocabulary: Vocabulary) -> Annotation:
    num_seats = vocabulary.num_seats
    return annotation_of("g", decision, [(0,) * (num_seats + 1)] * num_seats, [(0,) * (num_seats + 3)] * num_seats)


def test_the_own_hand_equals_the_annotation_at_every_decision(replayed: tuple[Game, ReplayResult]) -> None:
    count = 0
    num_seats = replayed[0].vocabulary.num_seats
    for found in reviewed_rounds(*replayed):
        for seat in range(num_seats):
            for decision in decisions_of(found, seat):
                table, hands = decision["table"], decision["hands"]
                assert hands[seat] == {"tiles": table["hand"], "drawn": table["drawn"]}
                assert [len(hand["tiles"]) % 3 for hand in hands].count(1) >= num_seats - 1
                assert all(hand["drawn"] is None for other, hand in enumerate(hands) if other != seat)
                count += 1
    assert count == len(replayed[1].annotations)


def test_every_event_appears_exactly_once_between_decisions(replayed: tuple[Game, ReplayResult]) -> None:
    for found in reviewed_rounds(*replayed):
        whole = found.course.between(1, found.course.end)
        for seat in range(replayed[0].vocabulary.num_seats):
            parts = [decision["since"] for decision in decisions_of(found, seat)]
            after = found.described(seat, 0)["after"]
            assert all(event.pop("reason") == found.ending["reason"] for event in after if event["type"] == "end")
            assert [event for part in parts for event in part] + after == whole
        kinds = Counter(event["type"] for event in whole)
        recorded = Counter(event["type"] for event in found.recorded.events)
        assert (kinds["draw"], kinds["discard"], kinds["riichi"]) == (
            recorded["tsumo"],
            recorded["dahai"],
            recorded["reach_accepted"],
        )
        assert kinds["kita"] == recorded["kita"] == sum(hand["norths"] for hand in found.ending["hands"])
        assert sum(event.get("riichi", False) for event in whole) == recorded["reach"]


def test_events_since_the_last_decision_start_with_the_own_action(replayed: tuple[Game, ReplayResult]) -> None:
    found = next(found for found in reviewed_rounds(*replayed) if len(found.own(0)) > 4)
    first, second, *_ = decisions_of(found, 0)
    assert first["since"][-1] == {"type": "draw", "seat": 0, "tile": first["table"]["drawn"]}
    assert (second["since"][0]["type"], second["since"][0]["seat"]) == ("discard", 0)


def test_scores_hands_and_yaku_at_the_end_of_a_round_add_up(replayed: tuple[Game, ReplayResult]) -> None:
    num_wins = 0
    for found in reviewed_rounds(*replayed):
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


@pytest.mark.parametrize("vocabulary, name", RARE, ids=[name for _, name in RARE])
def test_rare_rounds_have_a_place_for_every_decision_and_an_end(vocabulary: Vocabulary, name: str) -> None:
    played = played_rare(name, vocabulary)
    course = Course(played.round, vocabulary)
    for decision in played.decisions:
        annotation = annotated(decision, vocabulary)
        moment = course.moment(course.place_of(annotation))
        table = table_of(annotation, moment, vocabulary)
        assert (moment.concealed[decision.seat], moment.drawn[decision.seat]) == (table.hand, table.drawn)
    assert course.between(1, course.end)[-1]["type"] in ("win", "end")


def test_a_robbed_kan_is_won_with_its_tile() -> None:
    course = Course(played_rare("a robbed kan", V).round, V)
    assert course.between(1, course.end)[-1] == {"type": "win", "seat": 3, "source": 1, "tile": "3p"}


def test_a_passed_winning_tile_makes_furiten_until_the_next_draw() -> None:
    tenpai = "234m567m678s66s45p"
    played = play_round("0 discard 3p; 2 skip", ["3p", "", tenpai, ""], draws="7z5z5z5z")
    course = Course(played.round, V)
    waited_for = 11  # 3p
    places = [place for place, event in enumerate(played.events) if event["type"] == "tsumo" and event["actor"] == 2]
    offered = next(decision for decision in played.of(2) if "ron" in options(decision))
    assert waited_for not in course.moment(course.place_of(annotated(offered, V))).furiten_kinds[2]
    assert waited_for in course.moment(places[0]).furiten_kinds[2]
    assert waited_for not in course.moment(places[0] + 1).furiten_kinds[2]


def test_only_tiles_that_a_hand_waited_for_make_furiten_when_they_pass() -> None:
    tenpai = "234m567m678s66s45p"  # waits for 3p and 6p
    played = play_round("0 discard 3p; 2 skip; 0 discard 9m", ["3p9m", "", tenpai, ""], draws="7z5z5z5z")
    course = Course(played.round, V)
    drawn = next(place for place, e in enumerate(played.events) if e["type"] == "tsumo" and e["actor"] == 2)
    passed = [course.moment(place).furiten_kinds for place in range(2, drawn + 1)]
    assert {kinds[2] for kinds in passed} == {frozenset(), frozenset({11})}
    assert not any(11 in kinds[seat] for kinds in passed for seat in (1, 3))


def test_a_tile_that_passed_before_a_call_makes_no_furiten() -> None:
    # seat 2 lets 3p pass, which it waits for after its pon, but not before
    played = play_round(
        "0 discard 3p; 1 discard 1z; 2 pon; 2 discard 9m", ["3p", "1z", "11z234m678s66s45p9m", ""], draws="7z5z"
    )
    course = Course(played.round, V)
    decision = next(one for one in played.of(2) if "discard 9m" in options(one))
    annotation = annotated(decision, V)
    moment = course.moment(course.place_of(annotation))
    assert moment.furiten_kinds[2] == frozenset()
    shape = HandShape(table_of(annotation, moment, V), moment.furiten_kinds[2], V)
    after = shape.after_action("discard", ["9m"])
    assert after is not None and after[0].shanten == 0 and not shape.is_furiten_after("9m", after[0])


def test_a_north_set_aside_is_no_meld_but_a_called_north_is() -> None:
    played = played_rare("a North set aside, and one called", V3)
    course, annotation = Course(played.round, V3), annotated(played.of(2)[-1], V3)
    table = table_of(annotation, course.moment(course.place_of(annotation)), V3)
    assert table.norths == [1, 0, 0]
    assert [(meld.kind, meld.called) for meld in table.melds[2]] == [("pon", "4z")]
    assert course.moment(course.end).norths == [1, 0, 0]
    events = course.between(1, course.end)
    assert [event for event in events if event["type"] == "kita"] == [{"type": "kita", "seat": 0, "tile": "4z"}]


def test_setting_a_north_aside_is_a_candidate_with_its_tile() -> None:
    candidate = candidate_of(V3.action["kita"].token(), V3)
    assert (candidate["kind"], candidate["words"], candidate["tiles"]) == ("kita", "kita", ["4z"])


def test_a_north_set_aside_can_be_won_and_makes_furiten_if_it_passes() -> None:
    north = 30
    for name, last in (("a North won", "win"), ("a North let pass", "end")):
        played = played_rare(name, V3)
        offered = annotated(next(one for one in played.of(1) if "ron" in options(one, V3)), V3)
        course = Course(played.round, V3)
        place = course.place_of(offered)
        table = table_of(offered, course.moment(place), V3)
        assert (table.last_seat, table.last_kind, table.norths) == (0, "kita", [1, 0, 0])
        assert north not in course.moment(place).furiten_kinds[1]
        assert (north in course.moment(place + 1).furiten_kinds[1]) == (last == "end")
        assert course.between(1, course.end)[-1]["type"] == last
    won = Course(played_rare("a North won", V3).round, V3)
    assert won.between(1, won.end)[-1] == {"type": "win", "seat": 1, "source": 0, "tile": "4z"}
