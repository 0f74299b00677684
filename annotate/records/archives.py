"""Reads archives of records: zip, and tar that is plain, gzip or zstd. Members are read one by one, never unpacked.
A member of more than LARGEST_MEMBER bytes is refused. Names are never used as paths.
"""

import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, NamedTuple, Self

from annotate.runtime.files import DECOMPRESSION_ERRORS, decompressing

LARGEST_MEMBER = 64 << 20

_ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    NotImplementedError,  # a compression that zipfile does not support
    RuntimeError,  # a password is required
    ValueError,
)


class Member(NamedTuple):
    """A file in an archive, or a part of the archive that could not be read."""

    name: str
    """name within the archive; empty for the archive as a whole"""
    data: bytes
    size: int
    """bytes that it occupies in the archive's file"""
    problem: str | None = None


def is_archive(raw: IO[bytes]) -> bool:
    """Returns whether a seekable file is an archive, compressed or not, and leaves `raw` at its start."""
    start = raw.read(len(_ZIP_MAGICS[0]))
    raw.seek(0)
    if start in _ZIP_MAGICS:
        return True
    try:
        tarfile.TarInfo.frombuf(decompressing(raw).read(tarfile.BLOCKSIZE), tarfile.ENCODING, "surrogateescape")
        return True
    except (*DECOMPRESSION_ERRORS, tarfile.HeaderError, ValueError):  # reading a damaged record reports the problem
        return False
    finally:
        raw.seek(0)


def members(path: str, is_wanted: Callable[[str], bool]) -> Iterator[Member]:
    """Yields the members of the archive `path` with a wanted name, in the archive's order. An unreadable part is
    yielded as a member with a problem, and reading continues; the problem states if nothing after it can be read.
    Raises OSError if the archive's file cannot be read."""
    with open(path, "rb") as raw:
        magic = raw.read(len(_ZIP_MAGICS[0]))
        raw.seek(0)
        yield from (_of_zip if magic in _ZIP_MAGICS else _of_tar)(raw, is_wanted)


def _too_large(size: int) -> str:
    return f"{size:,} bytes: more than the {LARGEST_MEMBER >> 20} MiB that a file in an archive may have"


def _of_zip(raw: IO[bytes], is_wanted: Callable[[str], bool]) -> Iterator[Member]:
    try:
        archive = zipfile.ZipFile(raw)
    except _ZIP_ERRORS as error:
        yield Member("", b"", 0, f"the zip archive is damaged or cut off ({error}): get it again")
        return
    for info in archive.infolist():
        if info.filename.endswith("/") or not is_wanted(info.filename):  # zipfile fails at an empty name
            continue
        if info.file_size > LARGEST_MEMBER:
            yield Member(info.filename, b"", info.compress_size, _too_large(info.file_size))
            continue
        try:
            with archive.open(info) as file:
                data = file.read()  # never more than the declared size
        except _ZIP_ERRORS as error:
            yield Member(info.filename, b"", info.compress_size, f"damaged in the archive ({error})")
            continue
        yield Member(info.filename, data, info.compress_size)


class _DamagedTar(Exception):
    pass


class _Tar(tarfile.TarFile):
    """An archive that is read on after its end, as archives may be concatenated."""

    has_ended = False
    """whether the last block that was read marks the end of an archive"""


class _Header(tarfile.TarInfo):
    """A member's header. A damaged one raises here; tarfile would treat it as the end of the archive."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
        assert isinstance(archive, _Tar)
        try:
            header = super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            archive.has_ended = True
            raise
        except tarfile.HeaderError as error:
            if archive.has_ended and isinstance(error, tarfile.EmptyHeaderError):  # type: ignore[attr-defined]
                raise
            raise _DamagedTar("a member's header is damaged or missing") from error
        archive.has_ended = False
        return header


def _of_tar(raw: IO[bytes], is_wanted: Callable[[str], bool]) -> Iterator[Member]:
    where, position = "at its start", 0
    try:
        with _Tar.open(fileobj=decompressing(raw), mode="r|", tarinfo=_Header, ignore_zeros=True) as archive:
            while (info := archive.next()) is not None:
                archive.members.clear()  # type: ignore[attr-defined]  # tarfile would store all of them
                size, position = raw.tell() - position, raw.tell()
                if info.size < 0:
                    raise _DamagedTar(f"by its header {info.name} has {info.size:,} bytes")
                if info.isdir() or not is_wanted(info.name):
                    continue
                if not info.isfile():
                    yield Member(info.name, b"", size, "not a regular file; links in an archive are not followed")
                    continue
                if info.size > LARGEST_MEMBER:
                    yield Member(info.name, b"", size, _too_large(info.size))
                    continue
                file = archive.extractfile(info)
                assert file is not None, info.name
                yield Member(info.name, file.read(), size)
                where = f"after {info.name}"
    except (*DECOMPRESSION_ERRORS, tarfile.TarError, _DamagedTar, ValueError, OSError, struct.error) as error:
        yield Member("", b"", 0, f"the archive is damaged or cut off {where} ({error}): the rest is skipped")
