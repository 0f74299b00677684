"""The journal of a run, from which the same command resumes it after an interruption: JSON lines, first the settings,
then what was done since the line before."""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import IO, Any

from annotate.runtime.files import lock

RESTART = "--restart discards what it has done and starts from scratch"


class Journal:
    """A journal to which one process at a time adds entries. Once `add` has returned, no interruption loses an entry.
    Raises ValueError: the journal is damaged, in use, or of a run with other settings.

    Args:
        path: None: a temporary file, for a run that cannot be resumed.
        settings: JSON values; all that the output depends on, except for its input.
        restart: discard the entries of an interrupted run.
    """

    def __init__(self, path: Path | None, settings: dict[str, Any], *, restart: bool = False) -> None:
        self._path = path
        self._file: IO[bytes]
        if path is None:
            self._file = tempfile.TemporaryFile()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "a+b")
        try:
            lock(self._file, f"{path}: another process is at work on this output")
            if restart:
                self._file.truncate(0)
            self._file.seek(0)
            self._size = sum(len(line) for line in self._file if line.endswith(b"\n"))
            """bytes of whole lines; one may follow that was cut off"""
            if self._size:
                self._check(next(self._entries()), settings)
            else:
                self.add(settings)
        except BaseException:
            self._file.close()
            raise

    def _check(self, before: dict[str, Any], settings: dict[str, Any]) -> None:
        now = json.loads(json.dumps(settings))
        names = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
        if names:
            differences = "; ".join(f"{name}: {before.get(name)}, now {now.get(name)}" for name in names)
            raise ValueError(
                f"{self._path}: an interrupted run had other settings ({differences}). Repeat the command that "
                f"started it to resume it; {RESTART}"
            )

    def _entries(self) -> Iterator[dict[str, Any]]:
        self._file.seek(0)
        for line in self._file:
            if not line.endswith(b"\n"):
                return
            try:
                yield dict(json.loads(line))
            except (ValueError, TypeError) as error:
                raise ValueError(
                    f"{self._path}: this journal of an interrupted run is damaged ({error}); {RESTART}"
                ) from None

    def entries(self) -> Iterator[dict[str, Any]]:
        """Yields the entries so far, of the interrupted run too."""
        return islice(self._entries(), 1, None)

    def add(self, entry: dict[str, Any]) -> None:
        """Adds JSON values, durably. May be called again after an OSError, as on a full disk."""
        self._file.seek(self._size)
        self._file.truncate()
        self._file.write(json.dumps(entry).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._size = self._file.tell()

    def close(self) -> None:
        """Leaves the journal to a later run."""
        with suppress(OSError):  # of a full disk: what could not be added
            self._file.close()

    def remove(self) -> None:
        """Ends the run."""
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
