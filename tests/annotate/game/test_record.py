"""Events that a record states wrongly are corrected, so that all code that follows a round can follow them."""

import pytest

import annotate.replay.continuity as continuity
from annotate.game.hands import Hands
from annotate.game.record import Round
from annotate.replay.replay import annotate_game
from tests.support.rounds import DULL, game_of, play_round


@pytest.mark.parametrize("script", ["0 discard 1m", "0 riichi 5z"])
def test_a_dealers_first_discard_that_is_wrongly_marked_as_drawn_is_from_the_hand(script: str) -> None:
    hands = ["123m456p789s1125z" if "riichi" in script else DULL[0], *DULL[1:]]
    recorded = play_round(script, hands, "2z" if "riichi" in script else "5z").round
    place = next(i for i, event in enumerate(recorded.events) if event["type"] == "dahai")
    wrong = list(recorded.events)
    wrong[place] = {**wrong[place], "tsumogiri": True}
    assert wrong[place]["pai"] != wrong[1]["pai"]
    assert Round(tuple(wrong)).events == recorded.events
    hands_after = Hands(recorded.events[0])
    for event in Round(tuple(wrong)).events:
        hands_after.follow(event)


def test_a_drawn_round_with_nobody_tenpai_is_read_in_spite_of_such_a_mark() -> None:
    recorded = play_round("", DULL, "5z").round
    wrong = [*recorded.events]
    wrong[2] = {**wrong[2], "pai": "1m", "tsumogiri": True}
    plain = [*recorded.events]
    plain[2] = {**plain[2], "pai": "1m", "tsumogiri": False}
    found = [annotate_game(game_of(Round(tuple(events)))) for events in (wrong, plain)]
    assert found[0] == found[1]


def test_a_fault_of_this_program_leaves_out_the_round_and_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = play_round("0 kyushu", ["19m19p19s1234z258p"], "5m").round

    def fail(*arguments: object) -> None:
        raise AssertionError("made up")

    monkeypatch.setattr(continuity, "start_after", fail)
    report = annotate_game(game_of(recorded))
    assert report.num_rounds == 0
    (text,) = report.faults
    assert text in report.left_out
    assert text.startswith("East 1-0: a fault of this program") and text.endswith("AssertionError: made up")


def test_a_game_with_its_hands_in_another_order_is_the_same_play() -> None:
    start, *rest = play_round("", DULL).round.events
    hands = start["tehais"]
    reversed_hands = [hand[::-1] for hand in hands]
    plays = [game_of(Round(({**start, "tehais": each}, *rest))).play for each in (hands, reversed_hands, hands[::-1])]
    assert plays[0] == plays[1] != plays[2]
