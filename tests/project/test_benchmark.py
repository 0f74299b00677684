"""The ids of the games of the benchmark."""

import hashlib
from pathlib import Path

import pytest

from kanachan.evaluation.benchmark import games_in, tables_of
from tests.support.paths import ROOT

BENCHMARK = ROOT / "docs" / "benchmark"
FOLDER = BENCHMARK / "houou-4p-2021"
HASHES = {
    "train": "12ab53f66abb9c700476f510be800fbdbb23ae1d16ffda352768d5e2df6f2e59",
    "validation": "0dc3cb16a8ad64350e6f7c61d436cd7fc04df5068d9f97851d6561f28b6b2dc8",
    "test": "0fc68621dd4aacc6bf7b977556a2a92a392017d6871a17249c0f3e096b2c88a8",
}


def test_the_splits_are_the_ones_that_the_results_were_measured_on() -> None:
    games = games_in(FOLDER)
    assert {split: len(ids) for split, ids in games.items()} == {"train": 962, "validation": 30, "test": 30}
    assert all(ids == sorted(ids) for ids in games.values())
    for split, expected in HASHES.items():
        assert hashlib.sha256((FOLDER / f"{split}.txt").read_bytes()).hexdigest() == expected


@pytest.mark.parametrize("path", sorted(BENCHMARK.glob("*/*.txt")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_file_of_the_benchmark_names_distinct_games_of_its_kind_and_year(path: Path) -> None:
    games = path.read_text().splitlines()
    assert games == sorted(set(games))
    kind, year = path.parent.name.rsplit("-", 1)
    players = "three" if "3p" in kind else "four"
    for table in tables_of(games):
        assert f"{players} players" in table.table, table
        assert "south" in table.table or "hanchan" not in kind, table
        assert table.date is not None and (table.date.startswith(year) or "train" in path.stem), table


def test_no_game_is_in_two_files_of_the_benchmark() -> None:
    games = [game for path in BENCHMARK.glob("*/*.txt") for game in path.read_text().splitlines()]
    assert len(games) == len(set(games))


def test_tables_and_dates_are_read_from_the_ids() -> None:
    ids = ["2020010200gm-00e1-0000-00112233", "2020010123gm-00a9-0000-00112233", "2020010122gm-00a9-0000-00112234", "x"]
    assert tables_of(ids) == [
        ("unknown", None, 1),
        ("Tenhou Houou, four players, south", "2020-01-01", 2),
        ("Tenhou Houou, four players, east, fast", "2020-01-02", 1),
    ]
