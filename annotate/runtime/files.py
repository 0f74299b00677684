"""Text files, plain or compressed, and output files that get their name only when complete."""

import errno
import fcntl
import gzip
import io
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

import zstandard

_CHUNK = 1 << 16
_LARGEST_WINDOW = 1 << 31
"""of `zstd --ultra --long=31`, the largest that there is"""
_SMALL_CHUNK = 1 << 10  # for zstandard, where each byte may stand for 32 KiB
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
"""compressions that are written, by suffix"""
_OTHER_COMPRESSIONS = (".xz", ".bz2", ".zip", ".7z", ".lz4", ".br")
_MAGICS = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
_LONGEST_MAGIC = 4

DECOMPRESSION_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError)
"""errors when reading a damaged stream; EOFError if it is cut off"""

MISSING = "no such file or folder"
"""every command's message about a missing path, after the path and a colon"""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields the name of a temporary file next to `path`; renames it to `path` at the end, removes it after an error.

    Folders created for the file are removed too if they stay empty. If `path` is a link, its target is replaced; if it
    is not a regular file (a device, a pipe), the content is written into it.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder, "written")
            try:
                with open(Path(folder, "written"), "rb") as written, open(path, "wb") as special:
                    shutil.copyfileobj(written, special)
            except OSError as error:
                name_where_disk_is_full(error, str(path))
                raise
        return
    path = Path(os.path.realpath(path)) if path.is_symlink() else path
    new_folders = [parent for parent in path.parents if not parent.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        name_where_disk_is_full(error, str(path))
        raise
    finally:
        temporary.unlink(missing_ok=True)
        with suppress(OSError):  # stops at the first folder that is not empty
            for parent in new_folders:
                parent.rmdir()


def remove_parts(folder: Path) -> None:
    """Removes the temporary files of `replacing` that killed processes have left in a folder. No other process may be
    writing there."""
    for part in folder.glob(".*.part"):
        part.unlink(missing_ok=True)


def name_where_disk_is_full(error: OSError, path: str) -> None:
    """Adds `path` to the error of a full disk or quota, in which the system names no file."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) and error.filename is None:
        error.filename = path


def require_folder(name: str | Path) -> None:
    """Raises ValueError if the name is empty, "-" or not UTF-8, or if the folder cannot be made because a file is in
    its place."""
    if not str(name):
        raise ValueError("the name of the folder to write is empty")
    if str(name) == "-":
        raise ValueError("-: a folder cannot be written to standard output: name one")
    path = Path(name)
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError:
        raise ValueError(f"{path.absolute()}: not UTF-8: choose a folder whose path is") from None
    file = next((path for path in (path, *path.parents) if path.exists() and not path.is_dir()), None)
    if file is not None:
        raise ValueError(f"{file}: a file; name an existing or a new folder")


def require_exists(path: str | Path) -> None:
    """Raises ValueError if there is no file or folder of this name."""
    if not Path(path).exists():
        raise ValueError(f"{path}: {MISSING}")


def check_output(name: str, inputs: Iterable[str] = (), *, may_stream: bool = False, force: bool = True) -> None:
    """Checks before any work is done that a file can be written under a name.

    Raises ValueError if the name is empty, a folder, below a file, in a folder without write permission, one of the
    files `inputs`, which are read, an existing file (without `force`), or "-" (without `may_stream`).
    """
    path = Path(name)
    if name == "-":
        if not may_stream:
            raise ValueError("-: this cannot be written to standard output: name a file")
        return
    if not name:
        raise ValueError("the name of the file to write is empty")
    if path.is_dir() or name.endswith(os.sep):
        raise ValueError(f"{name}: a folder; a file is expected")
    if path.suffix.lower() in _OTHER_COMPRESSIONS:
        raise ValueError(f"{name}: only {' and '.join(COMPRESSIONS)} are written compressed: name it so, or plain")
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not folder.is_dir():
        raise ValueError(f"{name}: {folder} is a file, not a folder")
    if path.is_file():
        folder = path.resolve().parent  # a file is replaced by another one, which is written beside it
    if (path.is_file() or not path.exists()) and not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(f"{name}: {folder} may not be written into")
    if any(os.path.exists(path) and os.path.samefile(given, path) for given in inputs if os.path.exists(given)):
        raise ValueError(f"{name}: is read, and would be overwritten: name another file")
    if path.is_file() and not force:
        raise ValueError(f"{name}: exists: name another file, or replace it with --force")


@contextmanager
def locking(path: Path, refusal: str | None = None) -> Iterator[bool]:
    """Holds a lock against other processes; the system releases it when this process ends in any way. `path`: a file in
    an existing folder; it is not removed. While another process holds the lock, raises ValueError with the message
    `refusal`, or waits if `refusal` is None. Yields whether there is a lock: not every file system has locks."""
    with open(path, "wb") as file:
        yield lock(file, refusal)


def lock(file: IO[bytes], refusal: str | None) -> bool:
    """Locks an open file until it is closed; `refusal` and the result as in `locking`."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (fcntl.LOCK_NB if refusal else 0))
    except BlockingIOError:
        raise ValueError(refusal) from None
    except OSError:
        return False
    return True


@contextmanager
def writing_text(path: str) -> Iterator[IO[str]]:
    """Opens a UTF-8 text stream to `path`, compressed by its suffix; "-" is standard output."""
    if path == "-":
        if isinstance(sys.stdout, io.TextIOWrapper):  # whose encoding depends on the locale
            sys.stdout.reconfigure(encoding="utf-8", newline="\n")
        yield sys.stdout
        sys.stdout.flush()
        return
    with replacing(Path(path)) as temporary, open(temporary, "wb") as raw:
        binary: IO[bytes] = raw
        compression = compression_by_suffix(path)
        if compression == "gzip":
            # no time and no name in the header, so that the same lines give the same bytes
            binary = cast(IO[bytes], gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0))
        elif compression == "zstd":
            binary = zstandard.ZstdCompressor(level=3, write_checksum=True).stream_writer(raw, closefd=False)
        with io.TextIOWrapper(binary, encoding="utf-8", newline="\n", write_through=False) as text:
            yield text


@contextmanager
def reading_text(path: str) -> Iterator[IO[str]]:
    """Opens a text stream from `path`, decompressed according to its content. Reading raises ValueError if the file is
    damaged, cut off or not text. The message starts with `path`."""
    with open(path, "rb") as raw:
        binary = _decoded(raw, compression_of(raw.peek(_LONGEST_MAGIC)), _CHUNK)
        try:
            with io.TextIOWrapper(binary, encoding="utf-8-sig", newline="\n") as text:
                yield text
        except (*DECOMPRESSION_ERRORS, UnicodeDecodeError) as error:
            raise ValueError(f"{path}: damaged or cut off: {error}") from None


def compression_by_suffix(name: str) -> str | None:
    """Returns "gzip", "zstd" or None, according to the suffix of a file."""
    return COMPRESSIONS.get(Path(name).suffix.lower())


def compression_of(start: bytes) -> str | None:
    """Returns "gzip", "zstd" or None, according to the first bytes of a file."""
    if start[1:4] == b"\x2a\x4d\x18" and start[0] >> 4 == 5:  # a skippable frame, with which pzstd starts its files
        return "zstd"
    return next((name for name, magic in _MAGICS.items() if start.startswith(magic)), None)


def decompressing(raw: IO[bytes]) -> IO[bytes]:
    """Returns the content of `raw`, a seekable file, as a stream, decompressed if its first bytes show a compression.
    Reading it takes little memory at any compression ratio, and may raise DECOMPRESSION_ERRORS."""
    compression = compression_of(raw.read(_LONGEST_MAGIC))
    raw.seek(0)
    return _decoded(raw, compression, _SMALL_CHUNK)


def _decoded(raw: IO[bytes], compression: str | None, chunk: int) -> IO[bytes]:
    if compression == "gzip":
        return cast(IO[bytes], gzip.GzipFile(fileobj=raw))
    return cast(IO[bytes], io.BufferedReader(_Decompressed(raw, chunk), _CHUNK)) if compression == "zstd" else raw


class _Decompressed(io.RawIOBase):
    """A stream of concatenated Zstandard frames. zstandard's own stream accepts a file that is cut off."""

    def __init__(self, raw: IO[bytes], chunk: int) -> None:
        self._raw, self._chunk = raw, chunk
        self._frame: Any = None
        self._input = b""
        self._output = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._output:
            self._input = self._input or self._raw.read(self._chunk)
            if not self._input:
                if self._frame is not None:
                    raise EOFError("the last frame is not complete")
                return 0
            self._frame = self._frame or zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW).decompressobj()
            self._output = memoryview(self._frame.decompress(self._input))
            self._input = self._frame.unused_data
            if self._frame.eof:
                self._frame = None
        size = min(len(buffer), len(self._output))
        buffer[:size], self._output = self._output[:size], self._output[size:]
        return size
