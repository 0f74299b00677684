"""Rounds derived from decisions: those of the game records, whatever order and share of the decisions is known."""

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annotate.annotation import Annotation
from annotate.game.record import Game
from annotate.records.reading import games_of, records_of
from annotate.replay.replay import annotate_game
from annotate.simulation.simulate import simulate
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.data.columns import columns_of_annotations, game_key, splitmix64
from kanachan.data.round_columns import RoundColumns
from kanachan.data.round_derivation import reduced, rounds_of
from tests.support.plain_rounds import as_plain, rounds_of_annotations, rounds_of_records
from tests.support.random_annotations import altered, seat_of
from tests.support.real_records import real_records

V = FOUR_PLAYERS
ROOM, GRADES = 3, (12, 11, 10, 9)


def games_in(paths: Iterable[Path]) -> list[Game]:
    games = [game for record in records_of(map(str, paths)) for game in games_of(record)]
    assert all(isinstance(game, Game) for game in games)
    return [game for game in games if isinstance(game, Game)]


def annotated(games: Iterable[Game]) -> list[Annotation]:
    return [annotation for game in games for annotation in annotate_game(game, ROOM, GRADES).annotations]


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> list[Game]:
    folder = tmp_path_factory.mktemp("games")
    for style, seed in (("east", "5"), ("south", "6")):
        assert simulate(["-n", "4", "--seed", seed, "--style", style, "-o", str(folder / style)]) == 0
    return games_in(sorted(folder.glob("*/*")))


@pytest.fixture(scope="module")
def annotations(games: list[Game]) -> list[Annotation]:
    return annotated(games)


def derived(annotations: list[Annotation]) -> tuple[RoundColumns, int]:
    content_B = splitmix64(np.arange(len(annotations), dtype=np.uint64))
    return rounds_of(reduced(columns_of_annotations(annotations, V), content_B, V))


def place_of(row: dict[str, Any]) -> tuple[int, ...]:
    return tuple(row[name] for name in ("game", "wind", "dealer", "honba"))


def test_they_are_the_rounds_of_the_records(games: list[Game], annotations: list[Annotation]) -> None:
    rounds, left_out = derived(annotations)
    assert as_plain(rounds) == rounds_of_records(games, ROOM, GRADES)
    assert rounds.is_whole.all() and left_out == 0


@pytest.mark.records
@pytest.mark.parametrize("folder", ["tenhou/houou-4p-2020", "tenhou/houou-4p-2021", "majsoul"])
def test_they_are_the_rounds_of_real_records(folder: str) -> None:
    paths = real_records(folder)
    games = games_in([path for path in paths if "200610" not in path.name][::60])
    rounds, left_out = derived(annotated(games))
    expected = rounds_of_records(games, ROOM, GRADES)
    assert as_plain(rounds) == expected
    assert rounds.is_whole.all() and left_out == 0
    for game in set(rounds.game.tolist()):  # all that was won and lost, and the deposits that were left
        of_game = rounds.take(rounds.game == game)
        change = of_game.final_score[0] - of_game.score[0] - of_game.delta.sum(axis=0)
        assert change[of_game.rank[0] > 0].tolist() == [0] * 3 and change.sum() >= 0


def test_the_order_of_the_decisions_and_repetitions_change_nothing(annotations: list[Annotation]) -> None:
    mixed = random.Random(0).sample(annotations + annotations[:500], len(annotations) + 500)
    assert as_plain(derived(mixed)[0]) == as_plain(derived(annotations)[0])


@pytest.mark.parametrize("share", [0.5, 0.05, 0.005])
def test_what_a_sample_of_the_decisions_shows_is_kept(annotations: list[Annotation], share: float) -> None:
    """Later decisions of a round have other scores, as sticks were paid since."""
    rng = random.Random(1)
    sample = [annotation for annotation in annotations if rng.random() < share]
    rounds, left_out = derived(sample)
    expected, partly_known = rounds_of_annotations(sample)
    known = [row for row in expected if row["game"] not in partly_known]
    assert [row for row in as_plain(rounds) if row["game"] not in partly_known] == known
    whole = {place_of(row): row for row in as_plain(derived(annotations)[0])}
    for row in as_plain(rounds):
        assert {**row, "number": 0} == {**whole[place_of(row)], "number": 0}
    assert len({row["game"] for row in expected}) - len(np.unique(rounds.game)) == left_out


@pytest.mark.parametrize("absent", [{0}, {3}, {0, 1}, {1, 2, 3}])
def test_the_end_for_seats_without_decisions_is_computed(annotations: list[Annotation], absent: set[int]) -> None:
    present = [annotation for annotation in annotations if seat_of(annotation) not in absent]
    rounds, left_out = derived(present)
    expected = as_plain(derived(annotations)[0])
    assert left_out == 0
    places = {place_of(row) for row in as_plain(rounds)}
    known = [row for row in expected if place_of(row) in places]
    assert len(known) > 0.9 * len(expected)
    assert [{**row, "number": 0} for row in as_plain(rounds)] == [{**row, "number": 0} for row in known]


def test_games_of_one_decision_are_left_out_and_counted_but_for_those_it_is_enough_for(
    annotations: list[Annotation],
) -> None:
    first = {annotation.game: annotation for annotation in reversed(annotations)}
    rounds, left_out = derived([*first.values()])
    assert (len(rounds), left_out) == (0, len(first))
    last = {annotation.game: annotation for annotation in annotations}
    rounds, left_out = derived([*last.values()])
    assert left_out == 0 and rounds.is_last.all() and rounds.is_whole.all()


def test_one_game_left_out_does_not_cost_the_others(annotations: list[Annotation]) -> None:
    name = annotations[0].game
    rest = [annotation for annotation in annotations if annotation.game != name]
    rounds, left_out = derived([annotations[0], *rest])
    assert left_out == 1
    assert as_plain(rounds) == as_plain(derived(rest)[0])


def test_a_game_of_more_rounds_than_there_can_be_is_left_out(annotations: list[Annotation]) -> None:
    name = annotations[0].game
    of_game = [annotation for annotation in annotations if annotation.game == name]
    for num_rounds, expected in ((200, 0), (300, 1)):
        further = [altered(of_game[0], numeric=(10 + honba, *of_game[0].numeric[1:])) for honba in range(num_rounds)]
        rounds, left_out = derived([*of_game, *further])
        assert left_out == expected and (game_key(name) in rounds.game) == (not expected)


def test_numbers_that_no_game_has_are_kept_as_they_are(annotations: list[Annotation]) -> None:
    numeric = (-5, 2**31 - 1, -(2**31), 0, 2**31 - 1, 7)
    strange = [altered(a, numeric=numeric) for a in annotations if a.game == annotations[0].game]
    rounds, _ = derived([a for a in strange if len(a.progression) < 3])
    assert set(rounds.honba.tolist()) == {-5} and set(map(tuple, rounds.score.tolist())) == {numeric[2:]}


def test_of_no_decisions_there_are_no_rounds() -> None:
    rounds, left_out = rounds_of(reduced(columns_of_annotations([], V), np.zeros(0, np.uint64), V))
    assert (len(rounds), left_out) == (0, 0)
