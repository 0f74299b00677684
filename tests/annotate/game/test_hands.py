"""Hands followed through the events of a round."""

from annotate.game.hands import tenpai_at_end
from tests.support.writers.majsoul_made import simulated


def test_payments_of_a_draw_show_the_same_seats_as_tenpai() -> None:
    count = 0
    for seed in range(4):
        for events in simulated(seed).rounds:
            if events[-1].get("reason") == "exhaustive_draw" and any(events[-1]["deltas"]):
                assert tenpai_at_end(events) == [delta > 0 for delta in events[-1]["deltas"]]
                count += 1
    assert count > 0
