"""Text files by suffix (plain, .gz, .zst, "-"), and files that appear under their name only when complete."""

import gzip
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import zstandard


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a temporary name beside `path`; renames it to `path` at the end, removes it if anything was raised."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def writing_text(path: str) -> Iterator[IO[str]]:
    """A text stream to `path`, compressed as its suffix says; "-" is standard output."""
    if path == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    with replacing(Path(path)) as temporary, open(temporary, "wb") as raw:
        binary: IO[bytes] = raw
        if path.endswith(".gz"):
            # no time and no name in the header, so that the same lines give the same bytes
            binary = cast(IO[bytes], gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0))
        elif path.endswith(".zst"):
            binary = zstandard.ZstdCompressor(level=3).stream_writer(raw, closefd=False)
        with io.TextIOWrapper(binary, encoding="utf-8", newline="\n", write_through=False) as text:
            yield text


@contextmanager
def reading_text(path: str) -> Iterator[IO[str]]:
    """A text stream from `path`, decompressed as its suffix says; "-" is standard input."""
    if path == "-":
        yield sys.stdin
        return
    with open(path, "rb") as raw:
        binary: IO[bytes] = raw
        if path.endswith(".gz"):
            binary = cast(IO[bytes], gzip.GzipFile(fileobj=raw))
        elif path.endswith(".zst"):
            binary = cast(IO[bytes], zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True))
        with io.TextIOWrapper(binary, encoding="utf-8", newline="\n") as text:
            yield text
