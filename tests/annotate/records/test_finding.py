"""Finding the files of records: lazily, in sorted order, and shared out over the processes of a cluster."""

import os
import random
import zipfile
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from annotate.records.finding import LINKED_FOLDER, Shard, find_files, is_record_name
from annotate.records.reading import records_of


def plainly_found(folder: Path) -> list[str]:
    """All at once, in the order of the whole paths."""
    files = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [os.path.join(parent, name) for name in names if is_record_name(name)]
    return sorted(files)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """300 files in folders whose names sort differently by themselves than in whole paths."""
    rng = random.Random(0)
    for number in range(300):
        path = tmp_path / "tree"
        for _ in range(rng.randrange(4)):
            path /= rng.choice(["a", "a-b", "a.b", "a0", "b", ".hidden", "é", "x.json"])
        path.mkdir(parents=True, exist_ok=True)
        name = f"{rng.choice(['a', 'a-', 'a.', 'a0', ''])}{number}{rng.choice(['.json', '.xml', '.txt'])}"
        (path / name).touch()
    return tmp_path / "tree"


def test_files_come_in_the_order_of_their_whole_paths(tree: Path) -> None:
    assert list(find_files([str(tree)])) == plainly_found(tree)


def test_a_link_to_a_file_that_is_also_found_adds_no_second_file(tree: Path) -> None:
    real = plainly_found(tree)[0]
    (tree / "雀.json").symlink_to(real)
    assert list(find_files([str(tree), real])) == plainly_found(tree)[:-1]


def test_folders_behind_links_are_counted_and_not_entered(tree: Path) -> None:
    (tree / "loop").symlink_to(tree)
    passed_over = Counter[str]()
    assert list(find_files([str(tree)], passed_over)) == plainly_found(tree)
    assert passed_over[LINKED_FOLDER] == 1


def test_a_link_to_itself_is_a_record_that_cannot_be_read_and_hides_no_other_record(tree: Path) -> None:
    found = plainly_found(tree)
    (tree / "0.json").symlink_to("0.json")
    problems = {record.name: record.problem for record in records_of(find_files([str(tree)]))}
    assert sorted(problems) == sorted([*found, str(tree / "0.json")])
    assert problems[str(tree / "0.json")] == "cannot be read: Too many levels of symbolic links"


def test_a_folder_that_vanishes_is_a_record_with_a_problem(tree: Path) -> None:
    (tree / "gone").mkdir()
    (tree / "gone" / "1.json").touch()
    records = records_of(find_files([str(tree)]))
    before = list(islice(records, len([path for path in plainly_found(tree) if path < str(tree / "gone")])))
    (tree / "gone" / "1.json").unlink()
    (tree / "gone").rmdir()
    assert before and next(records).problem == "cannot be read: No such file or directory"


@pytest.mark.parametrize("of", [1, 2, 3, 5])
def test_every_record_is_in_one_shard_and_members_of_archives_count_one_by_one(tree: Path, of: int) -> None:
    with zipfile.ZipFile(tree / "m.zip", "w") as archive:
        for number in range(11):
            archive.writestr(f"{number}.json", "{}")
    files = list(find_files([str(tree)]))
    names = [record.name for record in records_of(files)]
    shards = [[record.name for record in records_of(files, Shard(i + 1, of))] for i in range(of)]
    assert len(names) == len(files) + 10
    assert shards == [names[i::of] for i in range(of)]


def test_a_file_of_another_shard_that_is_named_like_a_record_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "1.mjlog").touch()
    os.mkfifo(tmp_path / "0.json.gz")  # opening it would wait for ever
    assert [os.path.basename(r.name) for r in records_of(find_files([str(tmp_path)]), Shard(2, 2))] == ["1.mjlog"]


def test_skipped_files_are_counted_by_suffix_unless_hidden(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    names = "a.mjlog b.mjlog c.json n.TXT README .hidden.txt sub/d.txt sub/e.xml sub/f.pdf"
    for name in names.split():
        (tmp_path / name).touch()
    with zipfile.ZipFile(tmp_path / "g.zip", "w") as archive:
        for name in ("h.mjlog", "i.txt", "folder/", ".j.txt"):
            archive.writestr(name, "")
    passed_over = Counter[str]()
    records = list(records_of(find_files([str(tmp_path)], passed_over), passed_over=passed_over))
    assert len(records) == 5
    assert passed_over == {".txt": 3, "no suffix": 1, ".pdf": 1}
