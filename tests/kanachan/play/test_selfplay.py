"""The settings of self-play, and the setup of each game that follows from them."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from annotate.game.settings import table_seed
from annotate.vocabulary import FOUR_PLAYERS, THREE_PLAYERS, VOCABULARIES, Vocabulary
from kanachan.play.agent import GameKey
from kanachan.play.match import Match
from kanachan.play.selfplay import SelfPlay

V = FOUR_PLAYERS
MIXED = SelfPlay(vocabulary=V, players=("rule", "random", "rule:bold"), shares=(0.6, 0.3, 0.1), seed=3)


def test_each_seat_is_given_a_player_by_the_shares() -> None:
    drawn = Counter(letter for number in range(2000) for letter in MIXED.seats(number))
    assert [round(drawn[letter] / 8000, 1) for letter in "ABC"] == [0.6, 0.3, 0.1]


def test_a_game_depends_on_the_seed_and_its_number() -> None:
    assert MIXED.begin(GameKey(7, 0)).setup == MIXED.begin(GameKey(7, 0)).setup
    other = SelfPlay(vocabulary=V, players=MIXED.players, shares=MIXED.shares, seed=4)
    seeds = {settings.begin(GameKey(number, 0)).setup.table_seed for settings in (MIXED, other) for number in range(50)}
    ids = {settings.begin(GameKey(number, 0)).setup.id for settings in (MIXED, other) for number in range(50)}
    assert len(seeds) == len(ids) == 100


def test_self_play_the_arena_and_simulated_games_use_different_walls() -> None:
    match = Match(players=("rule", "random"), seed=MIXED.seed)
    of_arena = {match.begin(GameKey(number, 0)).setup.table_seed for number in range(50)}
    of_selfplay = {MIXED.begin(GameKey(number, 0)).setup.table_seed for number in range(50)}
    assert len({table_seed(MIXED.seed, number) for number in range(50)} | of_arena | of_selfplay) == 150


def test_three_players_have_three_seats_and_ids_of_their_own() -> None:
    of_three = replace(MIXED, vocabulary=THREE_PLAYERS)
    setup = of_three.begin(GameKey(0, 0)).setup
    assert (len(setup.seats), setup.grades, setup.vocabulary) == (3, (14,) * 3, THREE_PLAYERS)
    assert setup.id != MIXED.begin(GameKey(0, 0)).setup.id


@pytest.mark.parametrize("vocabulary", VOCABULARIES.values(), ids=lambda vocabulary: vocabulary.name)
def test_settings_are_read_back(vocabulary: Vocabulary) -> None:
    settings = replace(MIXED, vocabulary=vocabulary, grades=tuple(range(vocabulary.num_seats)))
    values = json.loads(json.dumps(settings.as_json()))
    assert SelfPlay.of_json({**values, "games": 5}, vocabulary) == settings
    del values["explore"]
    with pytest.raises(ValueError, match="the settings of self-play lack explore"):
        SelfPlay.of_json(values, vocabulary)
