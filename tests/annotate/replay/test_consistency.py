"""A table that takes a record's events, compared with the slow way: the engine's own log, event by event."""

from dataclasses import replace
from typing import Any

import pytest

from annotate.game.decisions import Choice, play
from annotate.game.engine.table import Table, Turn
from annotate.game.record import Event, Round, Rules
from annotate.game.results import round_delta, round_part
from annotate.game.winning import wins_of
from annotate.records.reading import read_games
from annotate.replay.consistency import Disagreement, agreed_events
from annotate.replay.replay import Replayed, annotate_game, replay_round
from annotate.replay.script import Script
from annotate.replay.walls import wall_of
from annotate.simulation.simulate import simulate_game
from tests.support.rare_rounds import ROUNDS, events_of
from tests.support.real_records import real_records
from tests.support.rounds import DULL, V, game_of_events, play_round, start_of_round, writer_of

_FRAME = ("start_game", "start_kyoku", "end_kyoku", "end_game")
_COMPARED = ("type", "actor", "target", "pai", "dora_marker", "deltas", "reason")


def logged(recorded: Round, rules: Rules) -> tuple[Replayed, list[Event]]:
    """Replays the round on a table that logs, by the choices of a table that does not; also returns the log."""
    table = Table.of_round(rules, recorded.events[0], wall_of(recorded, V), V, logs_events=True)
    driven = Table.of_round(rules, recorded.events[0], wall_of(recorded, V), V)
    script = Script(recorded, driven)

    def choose(turns: list[Turn]) -> dict[int, Choice]:
        choices = script.choose(turns)
        assert table.progression == driven.progression
        driven.step({seat: choice.move for seat, choice in choices.items()})
        return choices

    played = play(table, writer_of(), choose)
    events = [event for event in table.log() if event["type"] not in _FRAME]
    results = round_part([recorded.events[0], *events])
    return Replayed(played, results, wins_of(table)), events


def essence(events: list[Event]) -> list[dict[str, Any]]:
    found = [{key: event[key] for key in _COMPARED if event.get(key) is not None} for event in events]
    for event in found:
        if event["type"] in ("hora", "ankan"):  # not in every dialect
            event.pop("pai", None)
    return found


@pytest.mark.records
@pytest.mark.parametrize("folder", ["tenhou/corner-cases", "tenhou/houou-4p-2021"])
def test_real_rounds_agree_with_the_engines_log_event_by_event(folder: str) -> None:
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
    assert replay_round(Round((*events, win)), "mjsoul", writer_of()).play.decisions
    without = [event for event in events if event["type"] != "reach_accepted"]
    deltas = [win["deltas"][0] - 1000, *win["deltas"][1:]]  # its stick, which would have come back
    with pytest.raises(Disagreement, match=r"riichi paid for by: record \[\], engine \[0\]"):
        replay_round(Round((*without, {**win, "deltas": deltas})), "mjsoul", writer_of())


ENDINGS = ("riichi and tsumo with ura", "a riichi that is ronned", "two winners", "riichi, to the end")


def without_payments(events: tuple[Event, ...], *, keeps_first: bool = False) -> tuple[Event, ...]:
    """Replaces the payments with the scores after the round; of several winners, the first may keep its payments."""
    start, ending = events[0], events[-1]
    scores = [score + change for score, change in zip(start["scores"], round_delta(events, 4), strict=True)]
    before = [
        event if keeps_first and event["type"] == "hora" else {k: v for k, v in event.items() if k != "deltas"}
        for event in events[:-1]
    ]
    return (*before, {**{k: v for k, v in ending.items() if k != "deltas"}, "scores": scores})


def agreed(recorded: Round) -> list[Event]:
    table = Table.of_round("mjsoul", recorded.events[0], wall_of(recorded, V), V)
    script = Script(recorded, table)
    play(table, writer_of(), script.choose)
    return agreed_events(recorded.events, script.abort, table)


@pytest.mark.parametrize("name", ENDINGS)
@pytest.mark.parametrize("keeps_first", [False, True])
def test_missing_payments_follow_from_the_scores_after_the_round(name: str, keeps_first: bool) -> None:
    script, hands, wall = ROUNDS[name]
    full = play_round(script, hands, start=start_of_round(honba=2, kyotaku=3), **wall).round
    reduced = Round(without_payments(full.events, keeps_first=keeps_first))

    events = agreed(reduced)

    if keeps_first:  # else the last of several winners has the sum
        assert events[-1]["deltas"] == full.events[-1]["deltas"]
    assert round_delta(events, 4) == round_delta(full.events, 4) != [0] * 4
    assert replay_round(reduced, "mjsoul", writer_of()) == replay_round(full, "mjsoul", writer_of())


def test_scores_without_payments_must_agree_with_the_engine() -> None:
    *events, ending = without_payments(tuple(events_of("two winners", "mjsoul")[0]))
    scores = [ending["scores"][0] - 100, ending["scores"][1] + 100, *ending["scores"][2:]]
    with pytest.raises(Disagreement, match="change of the scores: record"):
        replay_round(Round((*events, {**ending, "scores": scores})), "mjsoul", writer_of())


def test_a_game_without_payments_gives_the_same_annotations() -> None:
    game = game_of_events(simulate_game(V, 3, style=0, annotated=False).events)
    reduced = tuple(replace(recorded, events=without_payments(recorded.events)) for recorded in game.rounds)

    for scores in (game.final_scores, None):  # without final scores, the scores after the last round count
        full = annotate_game(replace(game, final_scores=scores))
        assert annotate_game(replace(game, final_scores=scores, rounds=reduced)) == full
        assert full.num_rounds == len(game.rounds)
