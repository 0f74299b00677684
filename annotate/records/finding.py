"""Finds files of game records lazily in sorted order: memory holds the names in one folder, not all names."""

import glob
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

from annotate.runtime.disk_dict import DiskDict
from annotate.runtime.files import COMPRESSIONS, MISSING

_RECORD_SUFFIXES = (".xml", ".mjlog", ".json", ".jsonl", ".mjson", ".bin", ".pb")
SUFFIXES = (*_RECORD_SUFFIXES, *COMPRESSIONS, ".zip", ".tar", ".tgz", ".tzst")
"""suffixes of records in folders and archives; a file that is named explicitly may have any suffix"""
SECOND_SUFFIX = ".data"
"""suffix of the second file of a Mahjong Soul record, which is read together with the first file of the same name"""
IN_ARCHIVE = "!"
LINKED_FOLDER = "links to folders"
"""name under which skipped links to folders are counted; they are skipped as they could lead in circles"""


class Shard(NamedTuple):
    """Every `of`-th record, from number `number`, counted from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def choices(self) -> Iterator[bool]:
        """Yields for the first, second, … record whether it belongs to this shard."""
        return (i % self.of == self.number - 1 for i in count())


def check_paths(paths: Sequence[str]) -> None:
    """Raises ValueError if one of `paths` matches nothing."""
    for path in paths:
        matches = _matches(path)
        if not matches:
            raise ValueError(f"{path}: {MISSING}, and as a pattern it matches nothing")
        if not any(next(_files_of(match, Counter()), None) for match in matches):
            raise ValueError(f"{path}: no file here ends in {', '.join(SUFFIXES)}; name others by a pattern")


def find_files(paths: Sequence[str], passed_over: Counter[str] | None = None) -> Iterator[str]:
    """Yields the files that `paths` name: files, folders (with everything below), glob patterns, archive members.

    Each file is yielded once, in the order of `paths`, sorted within a folder or pattern. In folders only files with
    one of `SUFFIXES` are found, none whose name or folder starts with a dot, and none below linked folders;
    `passed_over` counts skipped files by suffix, and linked folders as LINKED_FOLDER. An unreadable folder is yielded
    itself. A member is named as in reports, "archive.zip!folder/game.mjlog". Matches of a pattern are held in memory.
    """
    found, passed_over = DiskDict(), Counter() if passed_over is None else passed_over
    for path in paths:
        for match in _matches(path):
            for file, real in _files_of(match, passed_over):
                if found.get(real) is None:
                    found[real] = file
                    yield file


def is_record_name(name: str) -> bool:
    """Returns whether a file in a folder or archive is a record by its suffix; hidden files are not."""
    return name.lower().endswith(SUFFIXES) and not _is_hidden(name)


def note_passed_over(name: str, passed_over: Counter[str]) -> None:
    """Counts a skipped file by its suffix, unless it is hidden or the second file of a record."""
    if not (_is_hidden(name) or name.endswith(SECOND_SUFFIX)):
        passed_over[os.path.splitext(name)[1].lower() or "no suffix"] += 1


def _is_hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in name.split("/") if part not in (".", ".."))


def names_one_record(path: str) -> bool:
    """Returns whether a name belongs to a single record and not to an archive, so that it need not be opened."""
    name = path.lower()
    for suffix in COMPRESSIONS:
        name = name.removesuffix(suffix)
    return name.endswith(_RECORD_SUFFIXES)


def archive_of(path: str) -> tuple[str, str | None]:
    """Splits a path into its file and, if it names a member of an archive, the member's name."""
    if IN_ARCHIVE in path and not os.path.exists(path):
        for place in (place for place, character in enumerate(path) if character == IN_ARCHIVE):
            if os.path.isfile(path[:place]):
                return path[:place], path[place + 1 :]
    return path, None


def _matches(path: str) -> list[str]:
    is_there = os.path.exists(path) or archive_of(path)[1] is not None
    return [path] if is_there else sorted(glob.glob(path, recursive=True))


def _files_of(match: str, passed_over: Counter[str]) -> Iterator[tuple[str, str]]:
    """Yields the records of a folder or the file itself, each with its real path."""
    if os.path.isdir(match):
        yield from _below(match, os.path.realpath(match), passed_over)
    else:
        yield match, os.path.realpath(match)


def _below(folder: str, real: str, passed_over: Counter[str]) -> Iterator[tuple[str, str]]:
    """Yields the records in `folder`, sorted by their whole paths."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(_wanted(entries, passed_over))
    except OSError:
        yield folder, real  # reading it as a record reports the problem
        return
    for name, is_link in names:
        path = os.path.join(folder, name)
        if name.endswith("/"):
            yield from _below(path[:-1], os.path.join(real, name[:-1]), passed_over)
        else:
            yield path, os.path.realpath(path) if is_link else os.path.join(real, name)


def _wanted(entries: Iterable[os.DirEntry[str]], passed_over: Counter[str]) -> Iterator[tuple[str, bool]]:
    """Yields records and, with a slash, folders, and whether each is a link; counts the files that are skipped."""
    for entry in entries:
        name, is_link = entry.name, entry.is_symlink()
        if not _is_folder(entry):
            if is_record_name(name):
                yield name, is_link
            else:
                note_passed_over(name, passed_over)
        elif not name.startswith("."):
            if is_link:
                passed_over[LINKED_FOLDER] += 1
            else:
                yield f"{name}/", is_link  # as in the paths of the files below, so that both sort alike


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself or to an inaccessible file; reading it as a record reports the problem
        return False
