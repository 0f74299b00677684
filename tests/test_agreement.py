"""A record told to a table without a log, against the slow way: the engine's own log, event by event."""

from typing import Any

import pytest
from real_records import real_records
from rounds import DULL, V, play_round, writer_of

from annotate.agreement import Disagreement
from annotate.decisions import Choice, play
from annotate.engine import Table, Turn
from annotate.records.reading import read_games
from annotate.records.record import Event, Round, Rules
from annotate.replay import Replayed, replay_round, round_part
from annotate.script import Script
from annotate.walls import wall_of

_FRAME = ("start_game", "start_kyoku", "end_kyoku", "end_game")
_COMPARED = ("type", "actor", "target", "pai", "dora_marker", "deltas", "reason")


def logged(recorded: Round, rules: Rules) -> tuple[Replayed, list[Event]]:
    """The round played again on a table that logs, by the choices of one that does not; and the log."""
    table = Table.of_round(rules, recorded.events[0], wall_of(recorded), V)
    told = Table.of_round(rules, recorded.events[0], wall_of(recorded), V, is_told=True)
    script = Script(recorded, told)

    def choose(turns: list[Turn]) -> dict[int, Choice]:
        choices = script.choose(turns)
        assert table.progression == told.progression
        told.step({seat: choice.move for seat, choice in choices.items()})
        return choices

    decisions, num_unknown = play(table, writer_of(), choose)
    events = [event for event in table.log() if event["type"] not in _FRAME]
    results = round_part([recorded.events[0], *events])
    return Replayed(decisions, results, num_unknown, script.differences), events


def essence(events: list[Event]) -> list[dict[str, Any]]:
    found = [{key: event[key] for key in _COMPARED if event.get(key) is not None} for event in events]
    for event in found:
        if event["type"] in ("hora", "ankan"):  # not every dialect tells
            event.pop("pai", None)
    return found


@pytest.mark.parametrize("folder", ["tenhou/corner-cases", "tenhou/houou-4p-2021"])
def test_real_rounds_are_those_of_the_engines_log_event_by_event(folder: str) -> None:
    num_rounds = 0
    for path in real_records(folder)[:8]:
        (game,) = read_games(str(path))
        for recorded in game.rounds:
            slow, events = logged(recorded, "tenhou")
            assert replay_round(recorded, "tenhou", writer_of()) == slow
            assert essence(events) == essence([event for event in recorded.events if event["type"] not in _FRAME])
            num_rounds += 1
    assert num_rounds > 40


def test_a_riichi_that_was_not_paid_is_noticed_even_if_the_scores_do_not_show_it() -> None:
    hands = ["123m456p789s1122z", *DULL[1:]]
    *events, win = play_round("0 riichi 8m; 0 tsumo", hands, "8m...1z", ura="9m").events
    assert replay_round(Round((*events, win)), "mjsoul", writer_of()).decisions
    without = [event for event in events if event["type"] != "reach_accepted"]
    deltas = [win["deltas"][0] - 1000, *win["deltas"][1:]]  # its stick, which would have come back
    with pytest.raises(Disagreement, match=r"riichi paid for by: record \[\], engine \[0\]"):
        replay_round(Round((*without, {**win, "deltas": deltas})), "mjsoul", writer_of())


def test_a_riichi_whose_discard_is_won_is_not_paid() -> None:
    hands = ["123m456p789s1122z", "67m234p567p345s88s", *DULL[2:]]
    played = play_round("0 riichi 8m; 1 ron", hands, "8m")
    assert played.all("reach") and not played.all("reach_accepted")
    assert replay_round(played.round, "mjsoul", writer_of()).decisions
