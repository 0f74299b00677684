"""Conversion of records: which games are written and which are left out, such as games that are cut off."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from annotate.pipeline.convert import Conversion
from annotate.pipeline.outputs import TextOutput
from annotate.runtime.journal import Journal
from kanachan.cli.annotate import main as annotate
from kanachan.cli.simulate import main as simulate


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The lines of a simulated game."""
    folder = tmp_path_factory.mktemp("games")
    assert simulate(["-n", "1", "--seed", "5", "--style", "east", "-o", str(folder), "--processes", "1"]) == 0
    (path,) = folder.glob("*.gz")
    return gzip.decompress(path.read_bytes()).decode().splitlines(keepends=True)


def id_of(game: list[str]) -> str:
    return json.loads(game[0])["kanachan"]["id"]


def cut(game: list[str], num_rounds: int = 2) -> list[str]:
    """Returns the lines of a game up to the end of a round."""
    ends = [number for number, line in enumerate(game) if '"end_kyoku"' in line]
    return game[: ends[num_rounds - 1] + 1]


def write(path: Path, *games: list[str]) -> str:
    path.write_text("".join(line for game in games for line in game))
    return str(path)


def written(folder: Path, *arguments: str) -> list[str]:
    """Returns the annotation lines of records."""
    assert annotate([*arguments, "-o", str(folder / "lines.txt"), "-j", "1", "--force"]) == 0
    return (folder / "lines.txt").read_text().splitlines()


def test_only_the_unreadable_games_of_a_file_are_left_out_and_named(
    game: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = [line.replace('"tehais"', '"hands"') for line in game]
    path = write(tmp_path / "games.jsonl", bad, game, bad)

    assert written(tmp_path, path) == written(tmp_path, write(tmp_path / "alone.jsonl", game))

    report = capsys.readouterr().err
    assert "2 left out" in report
    assert all(f"{path}: line {number}: start_kyoku" in report for number in (2, 2 * len(game) + 2))


def test_a_game_that_is_cut_off_is_left_out_and_the_report_names_the_option(
    game: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "cut.jsonl", cut(game))

    assert annotate([path, "-o", str(tmp_path / "lines.txt")]) == 1

    report = capsys.readouterr().err
    assert f"{path}: the whole game {id_of(game)}: there is no end_game" in report
    assert "1 games: left out, as their end is not recorded (--keep-incomplete keeps their recorded rounds)" in report
    assert not (tmp_path / "lines.txt").exists()


def test_a_game_that_is_cut_off_is_kept_on_request_up_to_its_last_whole_round(game: list[str], tmp_path: Path) -> None:
    whole = written(tmp_path, write(tmp_path / "whole.jsonl", game))
    kept = written(tmp_path, write(tmp_path / "cut.jsonl", cut(game)), "--keep-incomplete")

    assert 0 < len(kept) < len(whole)
    for cut_line, whole_line in zip(kept, whole, strict=False):
        *fields, results = cut_line.split("\t")
        assert fields == whole_line.split("\t")[:6]
        assert results.split(",")[:5] == whole_line.split("\t")[6].split(",")[:5]  # the results of the round


def of_no_round(game: list[str]) -> list[str]:
    """Returns a copy in which no round can be replayed."""
    return [re.sub('"honba": ?0', '"honba":7', line) for line in game]


@pytest.mark.parametrize("copy", [cut, of_no_round])
def test_a_damaged_copy_does_not_replace_the_whole_game(
    copy: Callable[[list[str]], list[str]], game: list[str], tmp_path: Path
) -> None:
    first, second = write(tmp_path / "1.jsonl", copy(game)), write(tmp_path / "2.jsonl", game)
    assert copy(game) != game and written(tmp_path, first, second) == written(tmp_path, second)


def test_keep_incomplete_must_not_change_when_a_run_is_resumed(
    game: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "whole.jsonl", game)
    journal = tmp_path / ".lines.txt.journal"
    Journal(journal, Conversion([path], 4, (14,)).settings(TextOutput(str(tmp_path / "lines.txt")))).close()

    assert annotate([path, "-o", str(tmp_path / "lines.txt"), "--keep-incomplete"]) == 1

    assert "keep incomplete: False, now True" in capsys.readouterr().err
