"""kanachan-bot at tables of three players."""

from pathlib import Path

import pytest

from annotate.game.record import Event
from annotate.simulation.simulate import rounds_of, simulate_game
from tests.support.bots import END_OF_ROUND, START, answers, bot_of
from tests.support.mjai_table import V, hidden_from
from tests.support.rounds import V3
from tests.support.tiny_weights import written


@pytest.fixture(scope="module")
def of_four(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("weights"))


@pytest.fixture(scope="module")
def of_three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Imitation for three players."""
    return written(tmp_path_factory.mktemp("weights"), vocabulary=V3)


@pytest.fixture(scope="module")
def rounds_of_three() -> list[list[Event]]:
    return rounds_of(simulate_game(V3, 5, 0, style=0, annotated=False).events)


@pytest.fixture(scope="module")
def rounds() -> list[list[Event]]:
    return rounds_of(simulate_game(V, 5, 0, style=0, annotated=False).events)


def with_a_fourth_seat(event: Event) -> Event:
    """Returns an event as programs write it that have four seats, with their word for a North set aside."""
    empty = {"names": "", "scores": 0, "tehais": ["?"] * 13, "deltas": 0}
    padded = {name: [*event[name], empty[name]] for name in empty.keys() & event.keys()}
    return {**event, **padded, "type": "nukidora" if event["type"] == "kita" else event["type"]}


def test_norths_are_set_aside_at_a_table_of_three(of_three: Path, rounds_of_three: list[list[Event]]) -> None:
    lines = [START, *(hidden_from(0, event) for events in rounds_of_three for event in [*events, END_OF_ROUND])]
    found = answers(bot_of(of_three, 0, sampling=5.0), lines)
    assert "error" not in {answer["type"] for answer in found}
    norths = [answer for answer in found if answer["type"] == "kita"]
    assert norths and all((answer["actor"], answer["pai"]) == (0, "N") for answer in norths)
    assert all(answer["meta"]["mask_bits"] >> 40 & 1 for answer in norths)


def test_an_empty_fourth_seat_and_nukidora_change_nothing(of_three: Path, rounds_of_three: list[list[Event]]) -> None:
    start = {"type": "start_game", "names": ["a", "b", "c"]}
    lines = [start, *(hidden_from(1, event) for events in rounds_of_three for event in [*events, END_OF_ROUND])]
    assert any(line["type"] == "kita" for line in lines)
    plain, padded = (
        [{**answer, "meta": answer.get("meta", {}).get("q_values")} for answer in answers(bot_of(of_three, 1), events)]
        for events in (lines, list(map(with_a_fourth_seat, lines)))
    )
    assert plain == padded


def test_a_table_of_another_number_of_players_is_refused(
    of_four: Path, of_three: Path, rounds: list[list[Event]], rounds_of_three: list[list[Event]]
) -> None:
    (*_, at_four) = answers(bot_of(of_three, 0), [START, hidden_from(0, rounds[0][0])])
    assert at_four["message"] == "start_kyoku: a game of 4 players: these weights play games of 3"
    (*_, at_three) = answers(bot_of(of_four, 0), [START, hidden_from(0, rounds_of_three[0][0])])
    assert at_three["message"] == "start_kyoku: a game of 3 players: these weights play games of 4"
    kita = {"type": "kita", "actor": 0, "pai": "N"}
    (*_, north) = answers(bot_of(of_four, 0), [START, hidden_from(0, rounds[0][0]), kita])
    assert north["message"] == "kita: not possible with 4 players"
