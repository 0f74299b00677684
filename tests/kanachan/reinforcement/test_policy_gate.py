"""How far the gate goes along an update of a policy."""

from collections.abc import Mapping

import pytest

from kanachan.evaluation.bootstrap import FEWEST_GAMES
from kanachan.reinforcement.policy_gate import Gate

TOO_FAR: dict[str, object] = {"gain": None, "unit": "ranks"}


def reported(value: float, games: int = 100) -> dict[str, object]:
    """A report of this gain in all games and in the half that chooses; in the other half the gain is 0.001."""
    gain = {"value": value, "low": value - 0.02, "high": value + 0.02}
    reporting = {"gain": {"value": 0.001, "low": -0.002, "high": 0.004}}
    return {"gain": gain, "unit": "ranks", "choosing": {"gain": gain, "games": games}, "reporting": reporting}


def searched(reports: Mapping[float, Mapping[str, object]]) -> Gate:
    """Returns the gate at the end of a search that finds these reports."""
    gate = Gate({})
    while (share := gate.next_share) is not None:
        assert share not in gate.reports
        gate = Gate({**gate.reports, share: reports[share]})
    return gate


BETTER = {1.0: reported(0.01), 2.0: reported(0.02)}
WORSE = reported(-0.01)
SMALL = {0.5: reported(-0.002), 0.25: reported(0.001)}


@pytest.mark.parametrize(
    ("reports", "measured", "chosen"),
    [
        ({**BETTER, 4.0: reported(0.015)}, [1, 2, 4], 2),  # doubled as long as that gains more
        ({1.0: reported(0.01), 2.0: reported(0.009)}, [1, 2], 1),
        ({**BETTER, 4.0: reported(0.04)}, [1, 2, 4], 4),  # at most four times the update
        ({**BETTER, 4.0: TOO_FAR, 3.0: reported(0.028)}, [1, 2, 4, 3], 3),  # the middle, if that is too far
        ({**BETTER, 4.0: TOO_FAR, 3.0: TOO_FAR}, [1, 2, 4, 3], 2),
        ({1.0: WORSE, 0.5: reported(0.012)}, [1, 0.5], 0.5),  # halved until it gains
        ({1.0: TOO_FAR, 0.5: reported(0.012)}, [1, 0.5], 0.5),
        ({1.0: WORSE, **SMALL}, [1, 0.5, 0.25], 0.25),
        ({1.0: TOO_FAR, **SMALL}, [1, 0.5, 0.25], 0.25),
    ],
)
def test_the_share_with_the_highest_gain_is_searched_for(
    reports: Mapping[float, Mapping[str, object]], measured: list[float], chosen: float
) -> None:
    gate = searched(reports)
    assert (list(gate.reports), gate.chosen) == (measured, chosen)


def test_the_reported_gain_is_from_games_that_did_not_choose_the_share() -> None:
    gate = searched({1.0: reported(0.01), 2.0: reported(0.009)})
    assert gate.gain == {"value": 0.001, "low": -0.002, "high": 0.004}
    assert gate.in_words() == (
        "gate: 100% of the update is taken: +0.0010 [-0.0020, +0.0040] ranks a game in the games that did not choose it"
    )


def test_the_policy_stays_if_no_share_gains() -> None:
    gate = searched(dict.fromkeys((1.0, 0.5, 0.25), reported(-0.001)))
    assert (list(gate.reports), gate.chosen) == ([1, 0.5, 0.25], None)
    assert gate.in_words() == (
        "gate: no share of the update gains in the 100 games that choose, of which 6 are needed (25% of it, in all "
        "games: -0.0010 [-0.0210, +0.0190] ranks a game): the policy stays"
    )


def test_a_share_is_not_taken_if_its_gain_is_from_too_few_games() -> None:
    assert searched(dict.fromkeys((1.0, 0.5, 0.25), reported(0.02, games=FEWEST_GAMES - 1))).chosen is None
