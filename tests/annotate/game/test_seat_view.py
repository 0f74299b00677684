"""The table as one seat sees it agrees with the full record: the same turns, options and tokens."""

from pathlib import Path

import pytest

from annotate.game.engine.table import Table
from annotate.game.features import ObservationEncoder
from annotate.game.mjai_actions import choice_of_event, events_of_option, token_of_event
from annotate.game.record import Event, Game, Round, Rules
from annotate.game.seat_view import SeatTable
from annotate.records.mjai.events import seen_event
from annotate.records.reading import read_games
from annotate.replay.script import Script
from annotate.replay.walls import wall_of
from annotate.simulation.simulate import rounds_of, simulate_game
from annotate.vocabulary import Vocabulary
from tests.support.mjai_table import V, as_decided, at_the_table, turns
from tests.support.rare_rounds import ROUNDS, ROUNDS_OF_THREE, TENPAI, events_of
from tests.support.real_records import real_records
from tests.support.rounds import DULL, V3, play_round, play_three, words, writer_of

SEATS = range(V.num_seats)


@pytest.mark.parametrize("rules", ["mjsoul", "tenhou"])
@pytest.mark.parametrize("name", ROUNDS)
def test_a_seats_view_gives_the_same_decisions_as_the_full_record(name: str, rules: Rules) -> None:
    events, decisions = events_of(name, rules)
    for seat in SEATS:
        assert at_the_table(seat, events, writer_of(), rules) == as_decided(seat, decisions)


@pytest.mark.parametrize("rules", ["mjsoul", "tenhou"])
@pytest.mark.parametrize("name", ROUNDS_OF_THREE)
def test_a_seats_view_among_three_players_gives_the_same_decisions_as_the_full_record(name: str, rules: Rules) -> None:
    script, hands, more = ROUNDS_OF_THREE[name]
    played = play_three(script, hands, rules=rules, **more)
    for seat in range(V3.num_seats):
        found = at_the_table(seat, played.events, writer_of(vocabulary=V3), rules)
        assert found == as_decided(seat, played.decisions, V3)


@pytest.mark.parametrize("rules", ["mjsoul", "tenhou"])
@pytest.mark.parametrize(("vocabulary", "numbers"), [(V, (0, 1)), (V3, (0, 1, 2, 3))])
def test_a_seats_view_of_a_game_gives_the_tokens_that_were_written_during_play(
    vocabulary: Vocabulary, numbers: tuple[int, ...], rules: Rules
) -> None:
    grades = (6, 7, 8, 8)[: vocabulary.num_seats]
    for number in numbers[rules == "tenhou" :: 2]:
        game = simulate_game(vocabulary, 11, number, rules=rules, room=2, grades=grades)
        for seat in range(vocabulary.num_seats):
            writer = ObservationEncoder(vocabulary, 2, 1, grades)
            found = [s for events in rounds_of(game.events) for s in at_the_table(seat, events, writer, rules)]
            assert found == as_decided(seat, game.annotations, vocabulary)


@pytest.mark.parametrize("name", ROUNDS)
def test_every_option_can_be_written_as_mjai_and_read_back(name: str) -> None:
    events, _ = events_of(name, "mjsoul")
    for seat in SEATS:
        for _, event, turn in turns(seat, events):
            for token in turn.options:
                *reach, said = events_of_option(turn, token, V)
                is_riichi = bool(reach) or event["type"] == "reach"
                assert choice_of_event(turn, seen_as_record(said), V, is_riichi).token == token


def test_an_action_that_games_of_three_players_lack_is_refused() -> None:
    name = next(iter(ROUNDS))
    _, _, turn = next(turns(0, events_of(name, "mjsoul")[0]))
    with pytest.raises(ValueError, match="there is no chi in games of 3 players"):
        token_of_event(turn, {"type": "chi", "pai": "3m", "consumed": ["1m", "2m"]}, V3)


def seen_as_record(said: Event) -> Event:
    """The event as another seat sees it."""
    return said if said["type"] in ("none", "ryukyoku") else seen_event(said, V.num_seats)


def test_a_seats_view_ignores_the_concealed_tiles_of_other_seats() -> None:
    (events, *_) = rounds_of(simulate_game(V, 11, 2, style=0, annotated=False).events)
    masked = at_the_table(1, events, writer_of())
    table = SeatTable.of_start("mjsoul", events[0], 1, V)
    found = [table.follow(event) for event in events[1:]]
    assert [tuple(turn.options) for turn in found if turn is not None and len(turn.options) > 1] == [
        options for *_, options in masked
    ]


def test_after_its_own_reach_a_seat_may_only_discard_a_tile_that_leaves_it_tenpai() -> None:
    events, _ = events_of("riichi, to the end", "mjsoul")
    (declared,) = [turn for _, event, turn in turns(0, events) if event["type"] == "reach"]
    assert {words(token) for token in declared.options} >= {"riichi 8m"}
    assert all(words(token).startswith("riichi") for token in declared.options)


def test_a_seat_that_has_passed_a_win_is_furiten_until_its_next_discard() -> None:
    events, _ = events_of("a win passed, and another", "mjsoul")
    furiten = [(event["type"], event["actor"], table.is_furiten) for table, event, _ in turns(1, events[:7])]
    assert furiten == [("dahai", 0, False), ("tsumo", 1, True), ("dahai", 2, False)]


def test_a_seat_that_waits_for_a_tile_it_has_discarded_is_furiten() -> None:
    played = play_round("0 discard 1z", [TENPAI, *DULL[1:]], "1z")
    drawn = [table.is_furiten for table, event, _ in turns(0, played.events) if event["type"] == "tsumo"]
    assert drawn[:3] == [False, True, True]


def some_round() -> list[Event]:
    return rounds_of(simulate_game(V, 11, 3, style=0, annotated=False).events)[1]


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda events: events[:1] + events[2:], "not its turn"),
        (lambda events: events[:2] + events[1:], "cannot draw"),
        (lambda events: events[:3] + events[2:], "not its turn"),
        (lambda events: [*events, events[1]], "after the end"),
    ],
)
def test_an_event_that_is_impossible_at_that_point_is_refused(change, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(turns(0, change(some_round())))


def test_a_seats_own_draw_must_not_be_hidden() -> None:
    events = some_round()
    seat = events[1]["actor"]
    with pytest.raises(ValueError, match="is not a tile that can be seen"):
        list(turns(seat, [events[0], {**events[1], "pai": "?"}]))


def played_again(recorded: Round, rules: Rules, writer: ObservationEncoder) -> list[list[tuple]]:
    """By seat, its decisions where the whole record is seen; with the decisions that the record does not show."""
    vocabulary = writer.vocabulary
    table = Table.of_round(rules, recorded.events[0], wall_of(recorded, vocabulary), vocabulary, is_wall_true=False)
    script = Script(recorded, table)
    decided: list[list[tuple]] = [[] for _ in range(vocabulary.num_seats)]
    while not table.done:
        chosen = script.choose(table.turns)
        for turn in table.turns:
            if len(turn.options) > 1:
                decided[turn.seat].append(writer.observation(turn, table.progression))
        table.step({seat: choice.move for seat, choice in chosen.items()})
    return decided


def assert_same(game: Game) -> int:
    """Returns the number of decisions."""
    writer = writer_of(style=game.style, vocabulary=game.vocabulary)
    num_decisions = 0
    for recorded in game.rounds:
        decided = played_again(recorded, game.rules[0], writer)
        for seat in range(game.vocabulary.num_seats):
            assert at_the_table(seat, recorded.events, writer, game.rules[0]) == decided[seat], recorded.name
        num_decisions += sum(map(len, decided))
    return num_decisions


def games_of(paths: list[Path]) -> list[Game]:
    return [game for path in paths for game in read_games(str(path)) if game.incomplete is None]


@pytest.mark.records
def test_real_games_give_the_same_tokens_from_the_record_and_at_the_table() -> None:
    assert sum(map(assert_same, games_of(real_records("tenhou/houou-4p-2021")[:3]))) > 1000
    assert sum(map(assert_same, games_of(real_records("tenhou/houou-3p-2020")[:5]))) > 1000


@pytest.mark.slow
@pytest.mark.records
def test_a_hundred_real_games_give_the_same_tokens_from_the_record_and_at_the_table() -> None:
    paths = [*real_records("tenhou/houou-4p-2021")[100:170], *real_records("tenhou/houou-4p-2020")[::24]]
    assert sum(map(assert_same, games_of(paths))) > 40_000
