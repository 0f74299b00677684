"""Shards of rounds are read as they were written; damage and files that do not belong together are refused."""

from pathlib import Path

import pytest

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.data.round_columns import RoundColumns
from kanachan.data.round_shards import open_rounds, write_rounds
from tests.support.packed import packed
from tests.support.random_rounds import random_rounds

ROUNDS = random_rounds(games=9, seed=0)
MADE = {"sources": ["made up"], "seed": 0}


def assert_equal_rounds(found: RoundColumns, expected: RoundColumns) -> None:
    for name in RoundColumns.__slots__:
        left, right = getattr(found, name), getattr(expected, name)
        assert (left.dtype, left.tolist()) == (right.dtype, right.tolist()), name


@pytest.mark.parametrize("num_files", [1, 3])
def test_rounds_are_read_as_they_were_written(tmp_path: Path, num_files: int) -> None:
    cuts = [len(ROUNDS) * i // num_files for i in range(num_files + 1)]
    for number in range(num_files):
        part = ROUNDS.rows(cuts[number], cuts[number + 1])
        path = write_rounds(tmp_path, "test", number, num_files, part, FOUR_PLAYERS, MADE)
        assert path == tmp_path / "rounds" / f"test-{number:05}.arrow"
    assert_equal_rounds(open_rounds(tmp_path, "test", verify=True), ROUNDS)


def test_rounds_that_were_not_packed_with_the_decisions_are_refused(tmp_path: Path) -> None:
    folder = packed(tmp_path / "shards", train=10)
    (folder / "rounds").mkdir()
    write_rounds(folder, "train", 0, 1, ROUNDS, FOUR_PLAYERS, MADE)
    with pytest.raises(ValueError, match="was not packed together with .*train-00000.arrow"):
        open_rounds(folder, "train")


def test_damage_is_found_on_request(tmp_path: Path) -> None:
    path = write_rounds(tmp_path, "train", 0, 1, ROUNDS, FOUR_PLAYERS, MADE)
    data = bytearray(path.read_bytes())
    place = data.index(ROUNDS.score.tobytes())
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match="differ from their checksum"):
        open_rounds(tmp_path, "train", verify=True)
