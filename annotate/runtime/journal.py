"""The journal of a run, with which the same command resumes it after an interruption. JSON lines: first the settings,
then entries with the work since the previous line."""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import IO, Any

from annotate.runtime.files import lock, name_where_disk_is_full

RESTART = "--restart discards its results and starts from scratch"


class Journal:
    """A journal to which one process at a time adds entries. Once `add` has returned, no interruption loses the entry.
    Raises ValueError if the journal is damaged, in use, or from a run with other settings.

    On the disk, a journal is:

    - new: the settings; if `is_light`, an empty file or the discarded lines, until the first entry.
    - added to: the settings, then a line per entry; behind them perhaps a line that an interruption cut off, which the
      next entry overwrites.
    - closed: the same, for a later run, or no file if it was empty.
    - removed: no file.

    Args:
        path: the journal's file; None: a temporary file, for a run that cannot be resumed.
        settings: JSON values on which the output depends, apart from its input.
        restart: discard the entries of an interrupted run.
        advice: tells the user how to do so.
        is_light: for many entries per second that are the only output of a run. Until the first new entry, the file
            keeps the entries that `restart` discards. A crash of the machine may lose the last entries.
    """

    def __init__(
        self,
        path: Path | None,
        settings: dict[str, Any],
        *,
        restart: bool = False,
        advice: str = RESTART,
        is_light: bool = False,
    ) -> None:
        self._path, self._settings, self._advice, self._is_light = path, settings, advice, is_light
        self._file: IO[bytes]
        if path is None:
            self._file = tempfile.TemporaryFile()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "a+b")
        try:
            lock(self._file, f"{path}: another process is at work on this output")
            self._file.seek(0)
            lines = [] if restart else [len(line) for line in self._file if line.endswith(b"\n")]
            self._size = 0 if is_light and len(lines) == 1 else sum(lines)
            """bytes of the valid lines; discarded lines, or a line that was cut off, may follow"""
            if self._size:
                self._check(next(self._lines()), settings)
            elif not is_light:
                self._write(settings)
        except BaseException:
            self._file.close()
            raise

    def _check(self, before: dict[str, Any], settings: dict[str, Any]) -> None:
        now = json.loads(json.dumps(settings))
        names = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
        if names:
            differences = "; ".join(f"{name}: {before.get(name)}, now {now.get(name)}" for name in names)
            raise ValueError(
                f"{self._path}: an earlier run had other settings ({differences}). Repeat the command that "
                f"started it to resume it; {self._advice}"
            )

    def _lines(self) -> Iterator[dict[str, Any]]:
        self._file.seek(0)
        for line in self._file:
            if not line.endswith(b"\n"):
                return
            try:
                yield dict(json.loads(line))
            except (ValueError, TypeError) as error:
                raise ValueError(
                    f"{self._path}: this journal of an interrupted run is damaged ({error}); {self._advice}"
                ) from None

    def entries(self) -> Iterator[dict[str, Any]]:
        """Yields the entries so far, including the entries of the interrupted run."""
        return islice(self._lines(), 1, None) if self._size else iter(())

    def add(self, entry: dict[str, Any]) -> None:
        """Adds an entry of JSON values. May be called again after an OSError, such as a full disk."""
        self._write(*([] if self._size else [self._settings]), entry)

    def _write(self, *lines: dict[str, Any]) -> None:
        self._file.seek(self._size)
        self._file.truncate()
        try:
            self._file.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
            self._file.flush()
            if not self._is_light:
                os.fsync(self._file.fileno())
        except OSError as error:
            name_where_disk_is_full(error, str(self._path))
            raise
        self._size = self._file.tell()

    def close(self) -> None:
        """Closes the journal and keeps it for a later run."""
        with suppress(OSError):  # from a full disk: an entry could not be added
            if not self._size and self._path is not None and not self._path.stat().st_size:
                self._path.unlink()
            self._file.close()

    def remove(self) -> None:
        """Removes the journal at the end of the run."""
        if self._path is not None:
            self._path.unlink()
        self.close()


def hash_of_sources(paths: Iterable[Path]) -> str:
    """Returns a hash of these files' contents and of their paths below their common folder: 12 hexadecimal digits."""
    found = sorted(paths)
    folder = os.path.commonpath([path.parent for path in found])
    digest = sha256()
    for path in found:
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]
