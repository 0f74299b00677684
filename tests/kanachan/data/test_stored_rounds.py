"""Packing folders of shards again: which of their rounds are copied and which are derived."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from annotate.annotation import Annotation
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.cli.pack import main
from kanachan.config import SPLITS
from kanachan.data.columns import game_key
from kanachan.data.round_shards import open_rounds, write_rounds
from kanachan.data.shard_file import open_shard_file
from kanachan.data.shard_folder import splits_in
from tests.support.packed import write_lines
from tests.support.plain_rounds import as_plain
from tests.support.random_annotations import random_annotations

ANNOTATIONS = random_annotations(400, seed=0, games=20)
SPLIT = ("--fractions", "0.5,0.25,0.25")


def packed(folder: Path, annotations: Sequence[Annotation], *options: str) -> Path:
    text = write_lines(folder.with_suffix(".txt"), annotations)
    assert main([text, "-o", str(folder), *(options or SPLIT)]) == 0
    return folder


def halves(folder: Path) -> list[Path]:
    """Folders of the games of even and of odd keys."""
    parts = [[a for a in ANNOTATIONS if game_key(a.game) % 2 == odd] for odd in (0, 1)]
    return [packed(folder / name, part) for name, part in zip(("even", "odd"), parts, strict=True)]


def mark(folder: Path) -> None:
    """Makes the rounds of a folder recognisable: other grading points than their decisions have."""
    for split, paths in splits_in(folder / "rounds").items():
        made = open_shard_file(paths[0])[0]["made"]
        rounds = open_rounds(folder, split)
        rounds = replace(rounds, grading_delta=rounds.grading_delta + 1000)
        write_rounds(folder, split, 0, 1, rounds, FOUR_PLAYERS, made)


def is_marked(folder: Path) -> dict[int, bool]:
    """Whether the rounds of a game are marked."""
    found = [open_rounds(folder, split, verify=True) for split in splits_in(folder / "rounds")]
    return {
        game: bool(points > 500)
        for rounds in found
        for game, points in zip(rounds.game.tolist(), rounds.grading_delta.min(axis=1), strict=True)
    }


@pytest.mark.parametrize("options", [(), ("--rows-per-shard", "50"), ("--keep-splits",)])
def test_folders_packed_together_have_the_rounds_of_all_decisions(tmp_path: Path, options: tuple[str, ...]) -> None:
    size = options if "--rows-per-shard" in options else ()
    expected = packed(tmp_path / "all", ANNOTATIONS, *SPLIT, *size)
    parts = map(str, halves(tmp_path))
    assert main([*parts, "-o", str(tmp_path / "found"), *SPLIT, *options]) == 0
    for split, paths in splits_in(expected / "rounds").items():
        assert as_plain(open_rounds(tmp_path / "found", split)) == as_plain(open_rounds(expected, split))
        assert len(paths) == len(splits_in(tmp_path / "found" / "rounds")[split])


def test_rounds_that_a_folder_holds_are_copied_into_the_splits_of_their_games(tmp_path: Path) -> None:
    even, odd = halves(tmp_path)
    mark(even)
    assert main([str(even), str(odd), "-o", str(tmp_path / "found"), "--fractions", "0.25,0.25,0.5"]) == 0
    found = is_marked(tmp_path / "found")
    assert found and all(marked == (game % 2 == 0) for game, marked in found.items())
    assert set(found) == set(is_marked(even)) | set(is_marked(odd))
    for split in SPLITS:
        assert np.all(np.diff(open_rounds(tmp_path / "found", split).game.astype(np.float64)) >= 0)


def test_a_game_from_two_sources_has_rounds_of_all_its_decisions(tmp_path: Path) -> None:
    folders = [packed(tmp_path / str(part), ANNOTATIONS[part::2]) for part in (0, 1)]
    for folder in folders:
        mark(folder)
    assert main([*map(str, folders), "-o", str(tmp_path / "found"), *SPLIT]) == 0
    assert not any(is_marked(tmp_path / "found").values())
    expected = packed(tmp_path / "all", ANNOTATIONS)
    for split in SPLITS:
        assert as_plain(open_rounds(tmp_path / "found", split)) == as_plain(open_rounds(expected, split))


def test_damaged_rounds_are_derived_anew(tmp_path: Path) -> None:
    folder = packed(tmp_path / "shards", ANNOTATIONS, "--fractions", "1,0,0")
    before = as_plain(open_rounds(folder, "train"))
    path = folder / "rounds" / "train-00000.arrow"
    path.write_bytes(path.read_bytes()[:-40])
    assert main([str(folder), "-o", str(tmp_path / "found"), "--fractions", "1,0,0"]) == 0
    assert as_plain(open_rounds(tmp_path / "found", "train")) == before
