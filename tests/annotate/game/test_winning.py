"""Yaku, han, fu and points of wins, compared with the payments of the round."""

import pytest

from annotate.game.record import Game
from annotate.game.winning import Win, Yaku
from annotate.replay.replay import annotate_game
from tests.support.rounds import V3, V
from tests.support.writers.majsoul_made import simulated


@pytest.fixture(scope="module", params=[V, V3], ids=lambda vocabulary: vocabulary.name)
def games(request: pytest.FixtureRequest) -> list[Game]:
    return [simulated(seed, vocabulary=request.param).game for seed in range(3)]


def test_a_winner_gets_the_points_of_the_hand_the_honba_and_the_deposits(games: list[Game]) -> None:
    count = 0
    for game in games:
        for place, _, wins in annotate_game(game).rounds:
            recorded = game.rounds[place]
            start, horas = recorded.events[0], [event for event in recorded.events if event["type"] == "hora"]
            assert bool(wins) == bool(horas)
            if len(horas) != 1:
                continue
            (win,), (hora,) = wins, horas
            sticks = start["kyotaku"] + sum(event["type"] == "reach_accepted" for event in recorded.events)
            is_dealer, is_tsumo = win.seat == start["oya"], hora["target"] == win.seat
            points = win.points(is_dealer=is_dealer, is_tsumo=is_tsumo, num_seats=len(start["scores"]))
            honba = 100 * (len(start["scores"]) - 1) * start["honba"]
            assert hora["deltas"][win.seat] == points + honba + 1000 * sticks
            assert win.seat == hora["actor"] and win.yaku
            count += 1
    assert count > 10


def test_open_hands_have_fewer_han_and_the_hidden_dora_are_the_remaining_han() -> None:
    yaku = (Yaku(27, "Honitsu", ""), Yaku(31, "Dora", ""), Yaku(32, "Aka Dora", ""))
    win = Win(0, yaku, 5, 30, False)
    assert win.han_of_yaku(is_open=True, dora=2, red=1, norths=0) == [2, 2, 1]
    kita = Win(0, (*yaku, Yaku(34, "Nuki Dora", "")), 8, 30, False)
    assert kita.han_of_yaku(is_open=True, dora=2, red=1, norths=3) == [2, 2, 1, 3]
    riichi = Win(0, (Yaku(2, "Riichi", ""), Yaku(33, "Ura Dora", ""), Yaku(31, "Dora", "")), 4, 40, False)
    assert riichi.han_of_yaku(is_open=False, dora=1, red=0, norths=0) == [1, 2, 1]


def test_thirteen_or_more_han_are_paid_as_one_yakuman_and_two_yakuman_as_two() -> None:
    counted = Win(0, (Yaku(29, "Chinitsu", ""),), 14, 30, False)
    assert counted.num_yakuman == 0 and counted.points(is_dealer=False, is_tsumo=False, num_seats=4) == 32000
    double = Win(0, (Yaku(37, "Dai Sangen", ""), Yaku(39, "Tsuu iisou", "")), 26, 0, True)
    assert double.num_yakuman == 2 and double.points(is_dealer=True, is_tsumo=False, num_seats=4) == 96000
    assert double.han_of_yaku(is_open=True, dora=0, red=0, norths=0) == [13, 13]
