"""Outputs of annotations, written one game at a time and resumable after an interruption."""

import gzip
import math
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import zstandard

from annotate.annotation import Annotation, format_line
from annotate.game.results import GameSummary
from annotate.runtime.files import compression_by_suffix
from annotate.runtime.journal import RESTART

Encode = Callable[[Sequence[Annotation], GameSummary | None], bytes]
"""encodes the annotations of one game, and its rounds, for `Output.write`; must be picklable, as other processes call
it"""
_SECONDS_BETWEEN_SAVES = 2.0


class Output(ABC):
    """An output of kanachan-annotate, by default not resumable. The JSON values that its methods return are passed back
    to it, possibly in a later process.

    A resumable output goes through these states:

    - new: nothing on the disk.
    - begun (`begin`): temporary files with the games of the last save, without those written after it.
    - saved (`save`, repeatedly): temporary files with all games written so far. The journal stores the returned value.
    - published (`publish`): the finished output at its name.
    - discarded (`discard`, after the journal is removed): no temporary files.
    """

    name: str
    encode: Encode
    journal: Path | None = None
    """file for the journal of the run; None: the run cannot be resumed"""
    left_out: Path | None = None
    """file for a long list of left-out rounds, games and records"""
    settings: dict[str, Any] = {}
    """JSON values on which the output depends, apart from the annotations"""
    seconds_between_saves = math.inf

    def begin(self, saved: dict[str, Any] | None) -> None:  # noqa: B027
        """Prepares for writing. With the value of an earlier `save`, goes back to the state at that time. Raises
        ValueError if the file written until then is missing."""

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Writes the next game, as encoded by `encode`."""

    @abstractmethod
    def save(self) -> dict[str, Any]:
        """Stores the written data durably and returns the value with which `begin` finds it."""

    def publish(self, saved: dict[str, Any]) -> None:  # noqa: B027
        """Completes the output from the saved data and moves it to its name. May be called again if interrupted."""

    def discard(self) -> None:  # noqa: B027
        """Removes all temporary files except the journal."""

    def report(self) -> None:  # noqa: B027
        """Prints what was published, after everything else is done."""

    def close(self) -> None:  # noqa: B027
        """Closes open files and keeps the saved data."""


def encode_text(annotations: Sequence[Annotation], summary: GameSummary | None) -> bytes:
    return "".join([f"{format_line(annotation)}\n" for annotation in annotations]).encode()


def encode_gzip(annotations: Sequence[Annotation], summary: GameSummary | None) -> bytes:
    """Encodes annotations as lines in a gzip member whose bytes depend only on the annotations."""
    return gzip.compress(encode_text(annotations, summary), compresslevel=6, mtime=0)


def encode_zstd(annotations: Sequence[Annotation], summary: GameSummary | None) -> bytes:
    return zstandard.ZstdCompressor(level=3, write_checksum=True).compress(encode_text(annotations, summary))


_ENCODERS: dict[str | None, Encode] = {None: encode_text, "gzip": encode_gzip, "zstd": encode_zstd}


class TextOutput(Output):
    """A file of annotation lines, compressed according to its suffix. Each game is a frame or gzip member, so that all
    processes compress, and the file may be cut after any game."""

    seconds_between_saves = _SECONDS_BETWEEN_SAVES

    def __init__(self, name: str) -> None:
        self.name = name
        self.encode: Encode = _ENCODERS[compression_by_suffix(name)]
        self.settings: dict[str, Any] = {"output": self.encode.__name__}
        path = Path(name)
        if path.exists() and not path.is_file():
            raise ValueError(f"{name}: not a regular file; `-o - > {name}` writes into it")
        path = Path(os.path.realpath(path)) if path.is_symlink() else path  # keeps the link
        self._path = path
        self._temporary = path.with_name(f".{path.name}.part")
        self._file: IO[bytes] | None = None
        self.journal: Path = path.with_name(f".{path.name}.journal")
        self.left_out: Path = path.with_name(f"{path.name}.left-out.txt")

    def begin(self, saved: dict[str, Any] | None) -> None:
        size = saved["size"] if saved else 0
        if saved and (not self._temporary.exists() or self._temporary.stat().st_size < size):
            raise ValueError(
                f"{self._temporary}: what the interrupted run has written is not there any more; {RESTART}"
            )
        self._file = open(self._temporary, "ab")
        self._file.truncate(size)
        self._file.seek(size)  # `tell` would still be behind what was cut off

    def write(self, data: bytes) -> None:
        assert self._file is not None
        self._file.write(data)

    def save(self) -> dict[str, Any]:
        assert self._file is not None
        self._file.flush()
        os.fsync(self._file.fileno())
        return {"size": self._file.tell()}

    def publish(self, saved: dict[str, Any]) -> None:
        if not self._temporary.exists() and self._path.exists():  # an interrupted call has already moved it
            return
        self.close()
        self.begin(saved)
        if saved["size"] == 0:
            self.write(self.encode([], None))
        self.close()
        self._temporary.replace(self._path)

    def discard(self) -> None:
        self.close()
        self._temporary.unlink(missing_ok=True)

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()


class StandardOutput(Output):
    """Annotation lines on standard output, which cannot be resumed."""

    name = "standard output"
    encode = staticmethod(encode_text)
    seconds_between_saves = _SECONDS_BETWEEN_SAVES

    def write(self, data: bytes) -> None:
        sys.stdout.write(data.decode())

    def save(self) -> dict[str, Any]:
        sys.stdout.flush()
        return {}
