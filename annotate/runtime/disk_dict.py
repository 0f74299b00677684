"""A dict in a temporary file."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


class DiskDict:
    """Maps texts to texts, such as paths, that are too many to be held in memory. Raises OSError if the temporary
    folder is full."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("CREATE TABLE entries (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")
        self._database.execute("BEGIN")

    def get(self, key: str) -> str | None:
        with _naming_folder():
            row = self._database.execute("SELECT value FROM entries WHERE key = ?", (os.fsencode(key),)).fetchone()
        return None if row is None else os.fsdecode(row[0])

    def __setitem__(self, key: str, value: str) -> None:
        with _naming_folder():
            self._database.execute("REPLACE INTO entries VALUES (?, ?)", (os.fsencode(key), os.fsencode(value)))


@contextmanager
def _naming_folder() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise OSError(f"the temporary folder ($SQLITE_TMPDIR, $TMPDIR or /var/tmp): {error}") from None
