"""Hands followed through the events of a round."""

from annotate.game.hands import Hands, tenpai_at_end
from tests.support.rare_rounds import ROUNDS
from tests.support.rounds import play_round
from tests.support.writers.majsoul_made import simulated


def test_a_kan_of_a_pon_is_one_meld() -> None:
    script, hands, wall = ROUNDS["the second of two kans not robbed"]
    events = play_round(script, hands, **wall).events
    held = Hands(events[0])
    for event in events:
        held.follow(event)
    assert [(meld.kind, meld.called, meld.added) for meld in held.melds[1]] == [
        ("kakan", "3p", "3p"),
        ("kakan", "7p", "7p"),
    ]


def test_payments_of_a_draw_show_the_same_seats_as_tenpai() -> None:
    count = 0
    for seed in range(4):
        for events in simulated(seed).rounds:
            if events[-1].get("reason") == "exhaustive_draw" and any(events[-1]["deltas"]):
                assert tenpai_at_end(events) == [delta > 0 for delta in events[-1]["deltas"]]
                count += 1
    assert count > 0
