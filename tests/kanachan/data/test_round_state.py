"""The state of a game at rounds and at decisions."""

import numpy as np

from annotate.vocabulary import FOUR_PLAYERS, NUM_GRADES
from kanachan.data.columns import columns_of_annotations
from kanachan.data.round_state import RoundState, grades
from tests.support.random_annotations import random_annotations
from tests.support.random_rounds import random_rounds

COLUMNS = columns_of_annotations(random_annotations(200, seed=1), FOUR_PLAYERS)


def test_a_state_at_a_decision_has_the_numbers_of_its_annotation() -> None:
    state = RoundState.of_observations(COLUMNS, FOUR_PLAYERS)
    numeric = [state.honba_X[:, None], state.deposits_X[:, None], state.score_XS]
    assert np.concatenate(numeric, axis=1).tolist() == COLUMNS.numeric.tolist()
    described = [FOUR_PLAYERS.sparse.describe(token) for token in COLUMNS.sparse.rows(7, 8).values.tolist()]
    of_table = {name: value for name, value in described if name in ("wind", "round", "room", "style")}
    found = (state.wind_X, state.dealer_X, state.room_X, state.style_X)
    assert [int(column[7]) for column in found] == [
        next(iter(of_table[name].values())) for name in ("wind", "round", "room", "style")
    ]


def test_grades_are_in_the_order_of_the_seats() -> None:
    described = [FOUR_PLAYERS.sparse.describe(token) for token in COLUMNS.sparse.rows(3, 4).values.tolist()]
    standing = [tuple(value.values()) for name, value in described if name == "standing"]
    expected = [grade for _, grade in sorted(standing) if grade < NUM_GRADES]
    assert grades(COLUMNS, FOUR_PLAYERS)[3].tolist() == expected


def test_a_state_at_a_round_has_the_columns_of_the_round() -> None:
    rounds = random_rounds(games=2, seed=0)
    state = RoundState.of_rounds(rounds)
    assert state.score_XS.tolist() == rounds.score.tolist() and state.grade_XS.tolist() == rounds.grade.tolist()
    for name in ("wind", "dealer", "honba", "deposits", "room", "style"):
        assert getattr(state, f"{name}_X").tolist() == getattr(rounds, name).tolist()
