"""A dict in a temporary file."""

import os
import sqlite3


class DiskDict:
    """Texts by text, such as paths, so many that they should not be in memory."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("CREATE TABLE entries (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")
        self._database.execute("BEGIN")

    def get(self, key: str) -> str | None:
        row = self._database.execute("SELECT value FROM entries WHERE key = ?", (os.fsencode(key),)).fetchone()
        return None if row is None else os.fsdecode(row[0])

    def __setitem__(self, key: str, value: str) -> None:
        self._database.execute("REPLACE INTO entries VALUES (?, ?)", (os.fsencode(key), os.fsencode(value)))
