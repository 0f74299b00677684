"""The ids of the games of the benchmark."""

import hashlib
import re
from pathlib import Path

import pytest

from annotate.records.tenhou.xml_reader import SOUTH, THREE_PLAYERS
from tests.support.paths import ROOT

BENCHMARK = ROOT / "docs" / "benchmark"
HASHES = {
    "train": "12ab53f66abb9c700476f510be800fbdbb23ae1d16ffda352768d5e2df6f2e59",
    "validation": "0dc3cb16a8ad64350e6f7c61d436cd7fc04df5068d9f97851d6561f28b6b2dc8",
    "test": "0fc68621dd4aacc6bf7b977556a2a92a392017d6871a17249c0f3e096b2c88a8",
}


@pytest.mark.parametrize("split", HASHES)
def test_the_splits_are_the_ones_that_the_results_were_measured_on(split: str) -> None:
    file = BENCHMARK / "houou-4p-2021" / f"{split}.txt"
    assert hashlib.sha256(file.read_bytes()).hexdigest() == HASHES[split]


@pytest.mark.parametrize("path", sorted(BENCHMARK.glob("*/*.txt")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_file_of_the_benchmark_names_distinct_games_of_its_kind_and_year(path: Path) -> None:
    games = path.read_text().splitlines()
    assert games == sorted(set(games))
    kind, year = path.parent.name.rsplit("-", 1)
    for game in games:
        match = re.fullmatch(r"(\d{4})\d{6}gm-([0-9a-f]{4})-\w+-[0-9a-zA-Z]{8}", game)
        assert match is not None, game
        assert match[1] == year or "train" in path.stem, game
        rules = int(match[2], 16)
        assert bool(rules & THREE_PLAYERS) == ("3p" in kind), game
        assert rules & SOUTH or "hanchan" not in kind, game


def test_no_game_is_in_two_files_of_the_benchmark() -> None:
    games = [game for path in BENCHMARK.glob("*/*.txt") for game in path.read_text().splitlines()]
    assert len(games) == len(set(games))
