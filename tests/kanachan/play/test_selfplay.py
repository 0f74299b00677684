"""The settings of self-play, and what follows from them for each game."""

from collections import Counter

import pytest

from kanachan.play.selfplay import SelfPlay

MIXED = SelfPlay(players=("rule", "random", "rule:bold"), shares=(0.6, 0.3, 0.1), seed=3)


def test_each_seat_is_given_a_player_by_the_shares() -> None:
    drawn = Counter(letter for number in range(2000) for letter in MIXED.seats(number))
    assert [round(drawn[letter] / 8000, 1) for letter in "ABC"] == [0.6, 0.3, 0.1]


def test_a_game_depends_on_the_seed_and_its_number() -> None:
    assert MIXED.setup(7) == MIXED.setup(7)
    other = SelfPlay(players=MIXED.players, shares=MIXED.shares, seed=4)
    seeds = {settings.setup(number).table_seed for settings in (MIXED, other) for number in range(50)}
    ids = {settings.setup(number).id for settings in (MIXED, other) for number in range(50)}
    assert len(seeds) == len(ids) == 100


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"players": ("reference",), "explore": 0.1}, "reference: takes the action of the highest score"),
        ({"explore": 1.5}, "--explore must be a share in 0 ... 1, not 1.5"),
        ({"explore": float("nan")}, "--explore must be a share"),
        ({"grades": (1, 2)}, "--grades 1,2"),
        ({"players": ("rule",) * 27, "shares": (1 / 27,) * 27}, "27 players: at most 26"),
    ],
)
def test_invalid_settings_are_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError) as error:
        SelfPlay(**{"players": ("rule",), "shares": (1.0,), **settings})  # type: ignore[arg-type]
    assert words in str(error.value)


def test_players_with_a_temperature_and_those_without_a_network_may_explore() -> None:
    assert SelfPlay(players=("reference@0.7", "rule"), shares=(0.5, 0.5), explore=0.1).explore == 0.1
