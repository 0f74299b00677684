"""The wall that a recorded round is played on."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from annotate.game.record import Round
from annotate.game.tiles import MJAI_NAMES, TILE_OF_ID
from annotate.replay.replay import annotate_game
from annotate.replay.walls import wall_of
from tests.support.rounds import DULL, Played, V, game_of, play_round, wall_of_deal

# two riichi, a closed kan, a win with hidden indicators
SCRIPT = "0 riichi 8m; 1 riichi 9s; 0 ankan 1m; 0 tsumo"
HANDS = ["111m456p789s2233z", "234m678p345s778p9s"]
DRAWS = "8m8p5z6z1m"
MORE = {"rinshan": "2z", "dora": "9p9p", "ura": "9m1z"}


@pytest.fixture(scope="module")
def played() -> Played:
    return play_round(SCRIPT, HANDS, DRAWS, **MORE)


def names(wall: Sequence[int]) -> tuple[str, ...]:
    return tuple(MJAI_NAMES[TILE_OF_ID[tile]] for tile in wall)


def with_wall(played: Played, wall: Sequence[str]) -> Round:
    return replace(played.round, wall=tuple(wall))


def exchanged(wall: Sequence[str], one: int, other: int) -> list[str]:
    changed = list(wall)
    changed[one], changed[other] = changed[other], changed[one]
    return changed


def test_the_records_own_wall_is_played(played: Played) -> None:
    true = names(wall_of_deal(HANDS, DRAWS, **MORE))
    assert names(wall_of(with_wall(played, true), V)) == true
    assert sorted(wall_of(with_wall(played, true), V)) == list(range(136))


def test_without_a_recorded_wall_the_wall_has_the_tiles_that_the_round_shows(played: Played) -> None:
    true, made = names(wall_of_deal(HANDS, DRAWS, **MORE)), names(wall_of(played.round, V))
    shown = [*range(52, 57), 135, 131, 130, 129, 128]
    assert [made[place] for place in shown] == [true[place] for place in shown]
    assert sorted(made) == sorted(true)


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (52, 90, "where the round shows 8m"),  # a draw
        (135, 90, "where the round shows S"),  # after the kan
        (131, 90, "where the round shows 9p"),  # an indicator
        (129, 90, "where the round shows 9p"),  # the indicator of the kan
        (128, 90, "where the round shows E"),  # a hidden indicator
        (0, 4, "deals seat 0 another hand"),
    ],
)
def test_a_wall_that_does_not_fit_the_events_is_refused(played: Played, one: int, other: int, message: str) -> None:
    true = names(wall_of_deal(HANDS, DRAWS, **MORE))
    assert true[one] != true[other]
    with pytest.raises(ValueError) as caught:
        wall_of(with_wall(played, exchanged(true, one, other)), V)
    assert message in str(caught.value)

    report = annotate_game(game_of(with_wall(played, exchanged(true, one, other))))
    assert report.annotations == [] and message in report.left_out[0]


def test_a_round_that_shows_five_equal_tiles_has_no_wall() -> None:
    events = [dict(event) for event in play_round("", DULL).events]
    events[0] = events[0] | {"tehais": [["1m"] * 13, *events[0]["tehais"][1:]]}
    with pytest.raises(ValueError, match="more 1m than there are"):
        wall_of(Round(tuple(events)), V)
