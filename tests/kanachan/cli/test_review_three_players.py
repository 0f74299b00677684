"""kanachan-review: games of three players, of every format."""

from pathlib import Path
from typing import Any

import pytest

from annotate.vocabulary import TILE_NAMES, tile_of
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


def test_tiles_that_are_not_used_are_never_waited_for(review: Any) -> None:
    used = {TILE_NAMES[tile_of(kind)] for kind in V3.kinds}
    shown = {
        entry["tile"]
        for decision in decisions(review)
        for entries in [decision["waits"], *(candidate["ukeire_tiles"] or [] for candidate in decision["candidates"])]
        for entry in entries
    }
    assert {"1m", "9m"} < shown <= used


def test_danger_is_left_out(review: Any) -> None:
    assert review["estimates_danger"] is False
    assert all(candidate["danger"] is None for one in decisions(review) for candidate in one["candidates"])


def test_han_of_a_win_are_those_of_its_yaku_dora_and_norths(review: Any) -> None:
    wins = [(win, found["end"]) for found in review["reviews"][0]["rounds"] for win in found["end"]["wins"]]
    norths = 0
    for win, end in wins:
        assert sum(yaku["han"] for yaku in win["yaku"]) == win["han"]
        aside = [yaku["han"] for yaku in win["yaku"] if yaku["name"] == "Nuki Dora"]
        assert sum(aside) == end["hands"][win["seat"]]["norths"]
        norths += sum(aside)
    assert norths > 0


@pytest.mark.parametrize("format_", ["mjlog", "tenhou.net/6", "Mahjong Soul", "Mahjong Soul as JSON"])
def test_every_format_gives_the_decisions_of_mjai(
    format_: str, made: MadeGame, weights: list[str], tmp_path: Path
) -> None:
    game = simulated(5, vocabulary=V3) if format_.startswith("Mahjong Soul") else made
    parts = []
    for writer in (format_, "mjai"):
        record = tmp_path / f"{TENHOU_LOG}.record"
        record.write_bytes(WRITERS[writer](game))
        found = reviewed(record, weights[:1], tmp_path, 1, "--force")[1]
        parts.append([{**decision, "link": None} for decision in found["decisions"]])
    assert parts[0] == parts[1]
