"""The journal of a run, on the disk, from which the same command resumes an interrupted run: which records were read,
which games they held, what was left out, and how far the output was written. Without a name it is a temporary file
for the one run; in either case memory does not grow with the number of records.
"""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

RESTART = "--restart discards what it has done and starts from scratch"
_TABLES = """
CREATE TABLE run (settings TEXT NOT NULL, state TEXT NOT NULL);
CREATE TABLE records (number INTEGER PRIMARY KEY, name BLOB NOT NULL, size INTEGER, modified INTEGER);
CREATE TABLE games (id BLOB PRIMARY KEY, record INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE left_out (number INTEGER PRIMARY KEY, text BLOB NOT NULL);
"""


class Journal:
    """A journal of which entries since the last `commit` are lost if the process is killed; earlier ones never are."""

    def __init__(self, path: Path | None, settings: dict[str, Any]) -> None:
        """Opens the journal of an interrupted run, or creates one.

        Args:
            settings: JSON values; all that the output depends on, except for the records.

        Raises:
            ValueError: the journal is damaged, in use, or of a run with other settings.
            OSError: it cannot be written.
        """
        self.path = path
        self.state: dict[str, Any] | None = None
        """of the interrupted run, as given to `commit`; None: a new run"""
        self._num_records = 0
        with self._explaining(), ExitStack() as after_error:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path or "", isolation_level=None, timeout=0)
            after_error.callback(self.close)
            self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._database.execute("BEGIN EXCLUSIVE")
            if self._database.execute("SELECT 1 FROM sqlite_master").fetchone():
                self._read(settings)
            else:
                for statement in _TABLES.split(";"):
                    self._database.execute(statement)
                self._database.execute("INSERT INTO run VALUES (?, ?)", (json.dumps(settings), "null"))
                self.commit(None)
            after_error.pop_all()

    def _read(self, settings: dict[str, Any]) -> None:
        try:
            before, state = map(json.loads, self._database.execute("SELECT settings, state FROM run").fetchone())
        except (TypeError, ValueError):  # no row, or no JSON
            raise sqlite3.DatabaseError("the state of the run is missing") from None
        wanted = json.loads(json.dumps(settings))
        if before != wanted:
            names = sorted(name for name in {*before, *wanted} if before.get(name) != wanted.get(name))
            differences = "; ".join(f"{name}: {before.get(name)}, now {wanted.get(name)}" for name in names)
            raise ValueError(
                f"{self.path}: an interrupted run had other settings ({differences}). Repeat the command that "
                f"started it to resume it; {RESTART}"
            )
        self.state = state

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if _is_busy(error):
                raise ValueError(_in_use(self.path)) from None
            if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:  # no such table
                raise self._damaged(error) from None
            raise OSError(f"{self.path or 'temporary file'}: {error}") from None
        except sqlite3.DatabaseError as error:
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> ValueError:
        return ValueError(f"{self.path}: this journal of an interrupted run is damaged ({error}); {RESTART}")

    def has_read(self, name: str, size: int, modified: int) -> bool:
        """Returns whether the interrupted run has processed the record that comes next in this one.

        Raises:
            ValueError: it has processed another record in this place, or other content.
        """
        with self._explaining():
            row = self._database.execute(
                "SELECT name, size, modified FROM records WHERE number = ?", (self._num_records,)
            ).fetchone()
            if row is None:
                return False
            self._num_records += 1
            before = os.fsdecode(row[0])
        if before != name:
            raise ValueError(
                f"{self.path}: where the interrupted run read {before} there is {name} now: files were added, removed "
                f"or named otherwise. Put them back, or {RESTART}"
            )
        if tuple(row[1:]) != (size, modified):
            raise ValueError(f"{name} has changed since the interrupted run read it. Put it back, or {RESTART}")
        return True

    def check_all_read(self) -> None:
        """Raises ValueError if the interrupted run has processed more records than there are now."""
        with self._explaining():
            row = self._database.execute("SELECT name FROM records WHERE number = ?", (self._num_records,)).fetchone()
        if row is not None:
            raise ValueError(
                f"{self.path}: the interrupted run has read {os.fsdecode(row[0])}, which is not among the files now. "
                f"Put it back, or {RESTART}"
            )

    def add_record(self, name: str, size: int, modified: int) -> None:
        with self._explaining():
            row = (self._num_records, os.fsencode(name), size, modified)
            self._database.execute("INSERT INTO records VALUES (?, ?, ?, ?)", row)
        self._num_records += 1

    def add_game(self, *ids: str) -> str | None:
        """Adds a game of the record added last, each of whose `ids` distinguishes it from others; returns the name of
        the record that has a game with one of them already, or None."""
        keys = [blake2b(id_.encode("utf-8", "surrogatepass"), digest_size=16).digest() for id_ in ids]
        with self._explaining():
            for key in keys:
                found = self._database.execute(
                    "SELECT name FROM records, games WHERE games.id = ? AND records.number = games.record", (key,)
                ).fetchone()
                if found is not None:
                    return os.fsdecode(found[0])
            self._database.executemany(
                "INSERT INTO games VALUES (?, ?)", [(key, self._num_records - 1) for key in keys]
            )
        return None

    def leave_out(self, text: str) -> None:
        with self._explaining():
            self._database.execute("INSERT INTO left_out (text) VALUES (?)", (text.encode("utf-8", "surrogateescape"),))

    def left_out(self) -> Iterator[str]:
        """Yields the texts given to `leave_out`, in their order."""
        for (text,) in self._database.execute("SELECT text FROM left_out ORDER BY number"):
            yield text.decode("utf-8", "surrogateescape")

    def commit(self, state: dict[str, Any] | None) -> None:
        """Makes all entries so far durable, with `state` (JSON values)."""
        with self._explaining():
            self._database.execute("UPDATE run SET state = ?", (json.dumps(state),))
            self._database.execute("COMMIT")
            self._database.execute("BEGIN")

    def close(self) -> None:
        """Closes the file; drops entries since the last commit."""
        self._database.close()

    def remove(self) -> None:
        self.close()
        if self.path is not None:
            _remove(self.path)


def discard_journal(path: Path) -> None:
    """Removes the journal of an interrupted run, if there is one, in whatever state.

    Raises:
        ValueError: the run is not interrupted: another process is at work.
    """
    if not path.exists():
        return
    with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as database:
        try:
            database.execute("BEGIN EXCLUSIVE")
        except sqlite3.DatabaseError as error:  # damaged, if it is not in use
            if _is_busy(error):
                raise ValueError(_in_use(path)) from None
        _remove(path)


def _is_busy(error: sqlite3.DatabaseError) -> bool:
    return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


def _in_use(path: Path | None) -> str:
    return f"{path}: another process is at work on this output"


def hash_of_sources(paths: Iterable[Path]) -> str:
    """Returns a hash of these files' contents and of their paths below their common folder: 12 hexadecimal digits."""
    found = sorted(paths)
    folder = os.path.commonpath([path.parent for path in found])
    digest = sha256()
    for path in found:
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.with_name(f"{path.name}-journal").unlink(missing_ok=True)
