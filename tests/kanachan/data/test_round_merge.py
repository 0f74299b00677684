"""Shards have the rounds of the records, whatever is merged."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from annotate.game.record import Game
from annotate.records.reading import games_of, records_of
from kanachan.cli import annotate, pack
from kanachan.cli.simulate import main as simulate
from kanachan.config import SPLITS
from kanachan.data.round_shards import open_rounds
from kanachan.data.shard_folder import splits_in
from kanachan.data.shards import open_shards
from tests.support.plain_rounds import Plain, as_plain, rounds_of_records
from tests.support.real_records import real_records

ROOM, GRADES = 3, (12, 11, 10, 9)
OPTIONS = ("--room", str(ROOM), "--grades", ",".join(map(str, GRADES)), "-j", "1")
SPLIT = ("--fractions", "0.5,0.25,0.25")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("games")
    for style, seed in (("east", "8"), ("south", "9")):
        assert simulate(["-n", "3", "--seed", seed, "--style", style, "-o", str(folder / style)]) == 0
    return sorted(folder.glob("*/*"))


@pytest.fixture(scope="module")
def shards(records: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All games in one folder, in small files."""
    return annotated(tmp_path_factory.mktemp("shards") / "all", records, "--rows-per-shard", "5")


@pytest.fixture(scope="module")
def parts(records: list[Path], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two folders that share two games."""
    folder = tmp_path_factory.mktemp("parts")
    return [str(annotated(folder / "some", records[:4])), str(annotated(folder / "others", records[2:]))]


def annotated(folder: Path, records: list[Path], *more: str) -> Path:
    assert annotate.main([*map(str, records), "--pack", str(folder), *OPTIONS, *SPLIT, *more]) == 0
    return folder


def rounds_in(folder: Path, split: str) -> Plain:
    return as_plain(open_rounds(folder, split, verify=True))


def of_records(records: list[Path]) -> Plain:
    games = [game for record in records_of(map(str, records)) for game in games_of(record)]
    return rounds_of_records([game for game in games if isinstance(game, Game)], ROOM, GRADES)


def test_shards_have_the_rounds_of_the_records_in_the_splits_of_the_decisions(
    records: list[Path], shards: Path
) -> None:
    found = {split: rounds_in(shards, split) for split in SPLITS}
    rows = sorted((row for rows in found.values() for row in rows), key=lambda row: (row["game"], row["number"]))
    assert rows == of_records(records)
    for split in SPLITS:
        assert open_rounds(shards, split).is_whole.all()
        opened = open_shards(shards, split)
        assert {row["game"] for row in found[split]} == set(opened.games(np.arange(len(opened))).tolist())
    assert any(len(files) > 1 for files in splits_in(shards / "rounds").values())


@pytest.mark.records
@pytest.mark.parametrize("folder", ["tenhou/houou-4p-2020", "tenhou/houou-4p-2021", "majsoul"])
def test_shards_have_the_rounds_of_real_records(folder: str, tmp_path: Path) -> None:
    paths = [path for path in real_records(folder) if "200610" not in path.name][::60]
    annotated(tmp_path / "shards", paths, "--fractions", "1,0,0")
    assert rounds_in(tmp_path / "shards", "train") == of_records(paths)


@pytest.mark.parametrize("keeps", [True, False])
def test_rounds_of_merged_folders_are_copied_and_once_if_a_game_is_in_two_folders(
    records: list[Path], parts: list[str], shards: Path, tmp_path: Path, keeps: bool
) -> None:
    options = ["--keep-splits"] if keeps else ["--fractions", "0.25,0.25,0.5"]
    assert pack.main([*parts, "-o", str(tmp_path / "found"), *options]) == 0
    expected = shards if keeps else annotated(tmp_path / "expected", records, *options)
    for split in splits_in(expected):
        assert rounds_in(tmp_path / "found", split) == rounds_in(expected, split)


def test_games_with_other_rounds_in_another_folder_are_counted(
    records: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(b"".join(gzip.decompress(records[0].read_bytes()).splitlines(keepends=True)[:-60]))
    whole = annotated(tmp_path / "whole", records[:3])
    parts = [str(whole), str(annotated(tmp_path / "part", [cut, records[1]], "--keep-incomplete")), str(whole)]
    capsys.readouterr()
    assert pack.main([*parts, "-o", str(tmp_path / "found"), "--keep-splits"]) == 0
    assert "warning: 1 games have other rounds in one folder than in another" in capsys.readouterr().err
    assert [rounds_in(tmp_path / "found", split) for split in splits_in(whole)] == [
        rounds_in(whole, split) for split in splits_in(whole)
    ]


def test_games_without_rounds_are_counted_if_others_have_them(
    records: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, whole = tmp_path / "a.txt", annotated(tmp_path / "whole", records[:3])
    assert annotate.main([*map(str, records[2:5]), "-o", str(lines), *OPTIONS]) == 0
    assert pack.main([str(whole), str(lines), "-o", str(tmp_path / "found")]) == 0
    assert "warning: 2 games have no rounds, unlike the others" in capsys.readouterr().err


def test_shards_of_lines_have_no_rounds_and_opening_them_says_how_to_make_some(
    records: list[Path], tmp_path: Path
) -> None:
    lines, folder = tmp_path / "a.txt", tmp_path / "shards"
    assert annotate.main([*map(str, records[:2]), "-o", str(lines), *OPTIONS]) == 0
    assert pack.main([str(lines), "-o", str(folder), "--fractions", "1,0,0"]) == 0
    with pytest.raises(ValueError, match="holds no rounds of the split 'train'; kanachan-annotate RECORDS --pack NEW"):
        open_rounds(folder, "train")
    assert not (folder / "rounds").exists() and "Rounds" not in (folder / "README.md").read_text()


def test_damaged_rounds_are_not_packed_again(
    records: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = annotated(tmp_path / "shards", records[:2], "--fractions", "1,0,0")
    path = folder / "rounds" / "train-00000.arrow"
    path.write_bytes(path.read_bytes()[:-40])
    assert pack.main([str(folder), "-o", str(tmp_path / "found")]) == 1
    assert f"{path}: " in capsys.readouterr().err and not (tmp_path / "found").exists()


def test_rounds_are_replaced_together_with_the_decisions(records: list[Path], tmp_path: Path) -> None:
    folder = annotated(tmp_path / "shards", records[:4], "--rows-per-shard", "5")
    assert len(list((folder / "rounds").iterdir())) >= 3
    annotated(folder, records[:4], "--fractions", "1,0,0", "--force")
    assert [path.name for path in (folder / "rounds").iterdir()] == ["train-00000.arrow"]
