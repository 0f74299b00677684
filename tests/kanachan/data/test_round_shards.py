"""Shards of rounds: what is written is read again, by `datasets` too; and files that do not belong together."""

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
def test_what_is_written_is_read_again(tmp_path: Path, num_files: int) -> None:
    cuts = [len(ROUNDS) * i // num_files for i in range(num_files + 1)]
    for number in range(num_files):
        part = ROUNDS.rows(cuts[number], cuts[number + 1])
        path = write_rounds(tmp_path, "test", number, num_files, part, FOUR_PLAYERS, MADE)
        assert path == tmp_path / "rounds" / f"test-{number:05}.arrow"
    assert_equal_rounds(open_rounds(tmp_path, "test", verify=True), ROUNDS)


def test_no_rounds_can_be_written_and_read(tmp_path: Path) -> None:
    write_rounds(tmp_path, "test", 0, 1, ROUNDS.rows(0, 0), FOUR_PLAYERS, MADE)
    found = open_rounds(tmp_path, "test", verify=True)
    assert (len(found), found.num_seats) == (0, 4)
    assert len(found.is_whole) == 0


def test_a_shard_of_rounds_is_a_data_set_of_hugging_face(tmp_path: Path) -> None:
    from datasets import Dataset

    rows = Dataset.from_file(str(write_rounds(tmp_path, "test", 0, 1, ROUNDS, FOUR_PLAYERS, MADE)))
    assert rows["game"][:] == ROUNDS.game.tolist()
    assert rows[5]["delta"] == ROUNDS.delta[5].tolist()


def test_a_folder_without_rounds_is_refused_with_what_makes_them(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"{tmp_path}: holds no rounds of the split 'test'; kanachan-annotate RECORDS"):
        open_rounds(tmp_path, "test")


def test_rounds_of_another_packing_than_the_decisions_are_refused(tmp_path: Path) -> None:
    folder = packed(tmp_path / "shards", train=10)
    (folder / "rounds").mkdir()
    write_rounds(folder, "train", 0, 1, ROUNDS, FOUR_PLAYERS, MADE)
    with pytest.raises(ValueError, match="was not packed together with .*train-00000.arrow"):
        open_rounds(folder, "train")


def test_a_missing_file_is_noticed(tmp_path: Path) -> None:
    write_rounds(tmp_path, "train", 0, 2, ROUNDS, FOUR_PLAYERS, MADE)
    with pytest.raises(ValueError, match="is one of 2 shards that were packed together, but the folder contains 1"):
        open_rounds(tmp_path, "train")


def test_damage_is_found_on_request(tmp_path: Path) -> None:
    path = write_rounds(tmp_path, "train", 0, 1, ROUNDS, FOUR_PLAYERS, MADE)
    data = bytearray(path.read_bytes())
    place = data.index(ROUNDS.score.tobytes())
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match="differ from their checksum"):
        open_rounds(tmp_path, "train", verify=True)


def test_the_splits_that_there_are_are_named(tmp_path: Path) -> None:
    write_rounds(tmp_path, "train", 0, 1, ROUNDS, FOUR_PLAYERS, MADE)
    with pytest.raises(ValueError, match="holds no rounds of the split 'test'; there are: train: name another with"):
        open_rounds(tmp_path, "test")
