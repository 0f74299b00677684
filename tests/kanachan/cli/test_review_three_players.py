"""kanachan-review: games of three players, of every format."""

from typing import Any

import pytest

from tests.support.review_page import reviewed
from tests.support.rounds import V3
from tests.support.tiny_weights import written
from tests.support.writers.all_formats import WRITERS, of_tenhou
from tests.support.writers.majsoul_made import MadeGame, simulated

NUM_SEATS = V3.num_seats
TENHOU_LOG = "2021070100gm-00b9-0000-0123abcd"


@pytest.fixture(scope="module")
def made() -> MadeGame:
    return of_tenhou(simulated(5, rules="tenhou", vocabulary=V3))


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("weights")
    imitation = written(folder / "imitation", vocabulary=V3)
    return [str(imitation), str(written(folder / "rank", "rank", vocabulary=V3, rank_points=(1.0, 0.0, -1.0)))]


@pytest.fixture(scope="module")
def review(made: MadeGame, weights: list[str], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The review of all seats of a game as Tenhou records it."""
    folder = tmp_path_factory.mktemp("review")
    record = folder / f"{TENHOU_LOG}.mjlog"
    record.write_bytes(WRITERS["mjlog"](made))
    return reviewed(record, weights, folder, "all")[1]


def decisions(review: Any) -> list[Any]:
    return [decision for part in review["reviews"] for decision in part["decisions"]]


def test_three_seats_have_scores_ranks_and_rivers(review: Any) -> None:
    assert [part["seat"] for part in review["reviews"]] == [0, 1, 2]
    assert len(review["players"]) == NUM_SEATS
    for decision in decisions(review):
        table = decision["table"]
        assert [len(table[key]) for key in ("scores", "rivers", "melds", "norths", "grades")] == [NUM_SEATS] * 5
        assert sorted(table["ranks"]) == [0, 1, 2]
        assert len(decision["opponents"]) == 2
    for part in review["reviews"]:
        assert sorted(part["final"]["ranks"]) == [0, 1, 2]
        for found in part["rounds"]:
            assert len(found["end"]["hands"]) == len(found["deltas"]) == NUM_SEATS


def test_setting_a_north_aside_has_its_probability_and_is_in_the_summary(review: Any) -> None:
    found = 0
    for decision in decisions(review):
        kinds = [candidate["kind"] for candidate in decision["candidates"]]
        if "kita" not in kinds:
            continue
        place = kinds.index("kita")
        assert 0 < decision["answers"][0]["shown"][place] < 1
        assert len(decision["answers"][1]["rank_probability"][place]) == NUM_SEATS
        assert "kita" in decision["kinds"]
        found += 1
    assert found > 5
    kinds = {row["kind"] for part in review["reviews"] for row in part["models"][0]["summary"]}
    assert "kita" in kinds and "chi" not in kinds
