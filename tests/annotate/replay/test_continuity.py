"""Rounds of a game follow from one another; one that does not is skipped and reported with the expected values."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from annotate.game.record import Event, Game, Round, Rules
from annotate.game.results import with_leftovers
from annotate.game.round_start import start_after, start_of
from annotate.replay.consistency import Disagreement
from annotate.replay.continuity import RoundSequence
from annotate.replay.replay import annotate_game
from annotate.simulation.simulate import simulate_game
from annotate.vocabulary import FOUR_PLAYERS
from tests.support.rare_rounds import THREE_WINNERS
from tests.support.rounds import game_of_events, play_round, start_of_round

WHOLE = 3  # the seed of a game with draws, repeated rounds, and sticks that lie for several rounds


@cache
def simulated(seed: int = WHOLE, rules: Rules = "mjsoul", style: int = 1) -> Game:
    return game_of_events(simulate_game(FOUR_PLAYERS, seed, style=style, rules=rules, annotated=False).events)


def problems(rounds: Sequence[Round], style: int = 1) -> dict[int, str]:
    """Why rounds do not follow, by their place; none of them is replayed."""
    course, found = RoundSequence(rounds, style), {}
    for place in range(len(rounds)):
        try:
            with course.through(place):
                pass
        except Disagreement as error:
            found[place] = str(error)
    return found | {-1 - place: text for place, text in enumerate(course.missing)}


def started(game: Game, place: int, **changes: Any) -> tuple[Round, ...]:
    """The game's rounds, but one of them starts differently."""
    start, *rest = game.rounds[place].events
    other = replace(game.rounds[place], events=({**start, **changes}, *rest), wall=None)
    return (*game.rounds[:place], other, *game.rounds[place + 1 :])


def begin(game: Game, place: int) -> Event:
    return game.rounds[place].events[0]


def moved(scores: list[int], points: int = 1000) -> list[int]:
    return [scores[0] - points, scores[1] + points, *scores[2:]]


@pytest.mark.parametrize("rules, style", [("mjsoul", 0), ("mjsoul", 1), ("tenhou", 1)])
def test_rounds_of_simulated_games_follow_from_one_another_to_the_end(rules: Rules, style: int) -> None:
    for seed in range(6):
        game = simulated(seed, rules, style)
        assert problems(game.rounds) == {}
        last = game.rounds[-1].events
        assert game.final_scores == with_leftovers(*start_after(start_of(last), last)[3:1:-1])


@pytest.mark.parametrize("place", [1, 2, 5])
def test_only_the_round_that_begins_with_other_scores_is_left_out(place: int) -> None:
    game = simulated()
    right = begin(game, place)["scores"]
    wrong = moved(right, 300)
    before = game.rounds[place - 1].name
    assert problems(started(game, place, scores=wrong)) == {
        place: f"it does not follow from {before}: scores {wrong}, {right} expected"
    }


@pytest.mark.parametrize("change", [1, 2, -1])
def test_only_the_round_with_another_number_of_counters_is_left_out(change: int) -> None:
    game = simulated()
    place = next(i for i in range(2, len(game.rounds)) if begin(game, i)["honba"] >= 1)
    right = begin(game, place)["honba"]
    text = f"honba {right + change}, {right} expected"
    found = problems(started(game, place, honba=right + change))
    assert list(found) == [place] and found[place].endswith(text)


def test_only_the_round_of_another_wind_is_left_out() -> None:
    game = simulated()
    last = len(game.rounds) - 1
    for place, wind in ((2, "S"), (last - 1, "E"), (last - 1, "W"), (last, "W")):
        found = problems(started(game, place, bakaze=wind))
        assert list(found) == [place]
        assert " expected" in found[place] and "round " in found[place]


def test_the_second_copy_of_a_round_is_left_out() -> None:
    rounds = simulated().rounds
    assert list(problems((*rounds[:3], replace(rounds[2]), *rounds[3:]))) == [3]


@pytest.mark.parametrize("missing", [slice(2, 3), slice(1, 4), slice(5, -1)])
def test_missing_rounds_are_reported_and_the_others_are_kept(missing: slice) -> None:
    rounds = simulated().rounds
    before, after = rounds[missing.start - 1], rounds[missing.stop]
    rest = rounds[: missing.start] + rounds[missing.stop :]
    assert problems(rest) == {-1: f"rounds are missing between {before.name} and {after.name}"}


def test_points_that_are_lost_where_rounds_are_missing_are_noticed() -> None:
    game = simulated()
    rounds = started(game, 3, scores=[score - 100 for score in begin(game, 3)["scores"]])
    assert "scores [" in problems(rounds[:2] + rounds[3:])[2]


def test_after_a_round_whose_payments_are_wrong_the_next_one_is_kept() -> None:
    game = simulated()
    place = next(i for i, recorded in enumerate(game.rounds) if recorded.events[-1]["type"] == "hora")
    *events, win = game.rounds[place].events
    other = replace(game.rounds[place], events=(*events, {**win, "deltas": moved(win["deltas"], 500)}))
    report = annotate_game(replace(game, rounds=(*game.rounds[:place], other, *game.rounds[place + 1 :])))

    assert [text.split(":")[0] for text in report.left_out] == [other.name]
    assert report.num_rounds == len(game.rounds) - 1


def test_after_a_round_that_does_not_replay_a_round_of_an_earlier_place_is_left_out() -> None:
    game = simulated()
    broken = replace(game.rounds[3], events=(*game.rounds[3].events[:-1], {"type": "ryukyoku", "deltas": [0] * 4}))
    rounds = (*game.rounds[:3], broken, game.rounds[1], *game.rounds[4:])
    texts = annotate_game(replace(game, rounds=rounds)).left_out
    assert texts[1] == f"{game.rounds[1].name}: it cannot come after {broken.name}"


def test_a_game_whose_final_scores_differ_from_its_last_round_is_left_out() -> None:
    game = simulated()
    assert game.final_scores is not None
    wrong = tuple(reversed(game.final_scores))
    report = annotate_game(replace(game, final_scores=wrong))
    assert (report.annotations, report.num_rounds) == ([], 0)
    name, right = game.rounds[-1].name, list(game.final_scores)
    assert report.left_out == [f"the whole game: the final scores are {list(wrong)}, but {right} after {name}"]


def test_rounds_missing_at_the_end_are_reported_and_the_others_are_kept() -> None:
    game = simulated()
    report = annotate_game(replace(game, rounds=game.rounds[:3]))
    assert report.num_rounds == 3
    (text,) = report.left_out
    assert text.startswith(f"rounds are missing: after {game.rounds[2].name} the scores are [")


def test_the_last_round_that_is_kept_gives_the_final_scores_of_a_game_without_an_end() -> None:
    game = simulated()
    place = len(game.rounds) - 1
    rounds = started(game, place, scores=moved(begin(game, place)["scores"]))
    found = annotate_game(replace(game, rounds=rounds))
    assert (found.num_rounds, len(found.left_out)) == (place, 1)

    unended = annotate_game(replace(game, rounds=rounds, final_scores=None))
    whole = annotate_game(replace(game, rounds=game.rounds[:-1], final_scores=None))
    assert unended.annotations == whole.annotations != []


def test_points_that_no_game_reaches_are_noticed_in_a_single_round() -> None:
    for scores, deposits in (((25000, 25000, 25000, 25100), 0), ((25000,) * 4, 1), ((25050, 24950, 25000, 25000), 0)):
        played = play_round("0 discard 3p; 1 ron", THREE_WINNERS, start=start_of_round(kyotaku=deposits, scores=scores))
        (found,) = problems([played.round]).values()
        assert found.startswith(f"no game comes to the scores {list(scores)}")


def test_a_round_that_a_game_of_that_length_cannot_reach_is_noticed() -> None:
    for wind, scores, is_possible in (
        ("E", (31000, 23000, 23000, 23000), True),
        ("S", (25000,) * 4, True),
        ("S", (31000, 23000, 23000, 23000), False),
        ("W", (25000,) * 4, True),
        ("W", (31000, 23000, 23000, 23000), False),
    ):
        played = play_round("0 discard 3p; 1 ron", THREE_WINNERS, start=start_of_round(wind=wind, scores=scores))
        problem = "a game of this length does not come to such a round with the scores"
        assert [text.startswith(problem) for text in problems([played.round], style=0).values()] == [True] * (
            not is_possible
        )
        assert wind == "W" or problems([played.round], style=1) == {}
