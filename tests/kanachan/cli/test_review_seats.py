"""kanachan-review: the seats under review by number, name or all."""

from dataclasses import replace

import pytest

from annotate.game.origin import Origin, Player
from annotate.game.record import Game
from kanachan.cli.review import chosen_seats
from tests.support.rounds import V3
from tests.support.writers.majsoul_made import simulated


def game(*names: str) -> Game:
    return replace(simulated(0).game, origin=Origin(players=tuple(map(Player, names))))


def test_a_seat_is_named_by_number_name_or_all() -> None:
    played = game("Alice", "Bob", "0", "ALICE")
    assert chosen_seats("3", played, "r") == [3]
    assert chosen_seats("Alice", played, "r") == [0]
    assert chosen_seats("bob", played, "r") == [1]
    assert chosen_seats("0", played, "r") == [0]
    assert chosen_seats("all", played, "r") == chosen_seats(None, played, "r") == [0, 1, 2, 3]


def test_games_of_three_players_have_no_fourth_seat() -> None:
    played = simulated(0, vocabulary=V3).game
    assert chosen_seats("all", played, "r") == [0, 1, 2]
    with pytest.raises(ValueError, match="r: --seat 3: not a seat, .*: 0, 1, 2, all"):
        chosen_seats("3", played, "r")


@pytest.mark.parametrize(("given", "problem"), [("carol", "no player has this name"), ("Alice", "several")])
def test_an_unknown_or_ambiguous_name_is_refused_with_the_seats(given: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f"r: .*{problem}.*: 0 Alice, 1 Bob, 2 Alice, 3 Dave, all"):
        chosen_seats(given, game("Alice", "Bob", "Alice", "Dave"), "r")


def test_seats_without_names_are_listed_by_number() -> None:
    with pytest.raises(ValueError, match="r: --seat 4: not a seat, .*: 0, 1, 2, 3, all"):
        chosen_seats("4", game(), "r")
