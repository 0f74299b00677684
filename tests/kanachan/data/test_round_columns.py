"""Rounds as columns: which rounds follow each other, and to which round a decision belongs."""

import numpy as np
import pytest

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.data.columns import columns_of_annotations, token_value
from kanachan.data.round_columns import RoundIndex
from tests.support.random_annotations import random_annotations
from tests.support.random_rounds import random_rounds, rounds_of

ROUNDS = random_rounds(games=30, seed=0)


def test_the_last_round_of_each_game_is_known() -> None:
    (last,) = np.nonzero(ROUNDS.is_last)
    assert len(last) == 30 and last[-1] == len(ROUNDS) - 1
    assert (ROUNDS.game[last[:-1]] != ROUNDS.game[last[:-1] + 1]).all()


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_round_before_a_missing_one_is_not_whole(place: str) -> None:
    first, last = (int(row) for row in np.nonzero(ROUNDS.game == ROUNDS.game[40])[0][[0, -1]])
    missing = {"first": first, "middle": (first + last) // 2, "last": last}[place]
    assert (ROUNDS.delta[missing] != 0).any()
    is_whole = ROUNDS.take(np.arange(len(ROUNDS)) != missing).is_whole
    assert np.nonzero(~is_whole)[0].tolist() == ([] if place == "first" else [missing - 1])


def test_a_missing_draw_without_payments_is_noticed_by_the_honba() -> None:
    row = {name: getattr(ROUNDS, name)[0].tolist() for name in type(ROUNDS).__slots__}
    row |= {"game": 1, "delta": [0] * 4, "deposits": 0, "score": [25_000] * 4, "final_score": [25_000] * 4}
    rows = [{**row, "number": honba, "honba": honba} for honba in (0, 1, 3)]
    assert rounds_of(rows).is_whole.tolist() == [True, False, True]


def test_each_decision_finds_the_round_of_its_game_wind_dealer_and_honba() -> None:
    columns = columns_of_annotations(random_annotations(300, seed=1), FOUR_PLAYERS)
    wind, dealer = (token_value(columns.sparse, FOUR_PLAYERS, name) for name in ("wind", "round"))
    keys = list(zip(columns.game.tolist(), wind.tolist(), dealer.tolist(), columns.numeric[:, 0].tolist(), strict=True))
    row = {name: getattr(ROUNDS, name)[0].tolist() for name in type(ROUNDS).__slots__}
    known = sorted(set(keys))[::2]
    rounds = rounds_of([{**row, "game": g, "wind": w, "dealer": d, "honba": h} for g, w, d, h in known])

    found = RoundIndex(rounds).rows_of(columns, FOUR_PLAYERS)

    assert found.tolist() == [known.index(key) if key in known else -1 for key in keys]
    assert -1 in found and len(set(found.tolist())) > 20
