"""What is written of a record, and what is left out."""

import gzip
from pathlib import Path

import pytest

from annotate.cli import annotate
from annotate.simulate import simulate


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The lines of a simulated game."""
    folder = tmp_path_factory.mktemp("games")
    assert simulate(["-n", "1", "--seed", "5", "--style", "east", "-o", str(folder), "--jobs", "1"]) == 0
    (path,) = folder.glob("*.gz")
    return gzip.decompress(path.read_bytes()).decode().splitlines(keepends=True)


def write(path: Path, *games: list[str]) -> str:
    path.write_text("".join(line for game in games for line in game))
    return str(path)


def written(folder: Path, *arguments: str) -> list[str]:
    """The annotation lines that come of records."""
    assert annotate([*arguments, "-o", str(folder / "lines.txt"), "-j", "1"]) == 0
    return (folder / "lines.txt").read_text().splitlines()


def test_a_copy_of_which_no_round_replays_does_not_displace_the_whole_game(game: list[str], tmp_path: Path) -> None:
    broken = [line.replace('"honba": 0', '"honba": 7').replace('"honba":0', '"honba":7') for line in game]
    assert broken != game
    first, second = write(tmp_path / "1.jsonl", broken), write(tmp_path / "2.jsonl", game)
    assert written(tmp_path, first, second) == written(tmp_path, second)
