"""Damaged archives and compressed files: what is in them is read, or a problem is reported."""

import gzip
import io
import os
import random
import struct
import tarfile
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import zstandard

from annotate.records.reading import Record, records_of
from tests.fuzz.oracle import TIME_LIMIT, Hang, Outcome, examine, reason, time_limit
from tests.fuzz.trees import altered_number, damaged_bytes

_SUFFIXES = {"mjlog": ".mjlog", "mjai": ".jsonl", "tenhou-json": ".json"}
_READERS = {suffix: reader for reader, suffix in _SUFFIXES.items()}
Files = list[tuple[str, bytes]]


def _zip_of(method: int) -> Callable[[Files], bytes]:
    def pack(files: Files) -> bytes:
        raw = io.BytesIO()
        with zipfile.ZipFile(raw, "w", method) as archive:
            for name, content in files:
                archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), content, method)
        return raw.getvalue()

    return pack


def _tar_of(kind: int) -> Callable[[Files], bytes]:
    def pack(files: Files) -> bytes:
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w", format=kind) as archive:
            for name, content in files:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
        return raw.getvalue()

    return pack


_ZIPS = [_zip_of(kind) for kind in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)]
_TARS = [_tar_of(kind) for kind in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT)]


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, 1, mtime=0)


def _zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=1, write_checksum=len(data) % 2 == 0).compress(data)


def make_archive(records: Sequence[tuple[str, bytes]], rng: random.Random) -> bytes:
    """A damaged archive, or compressed file, of a few of `records`, which are (reader, content)."""
    chosen = [rng.choice(records) for _ in range(rng.choice((1, 2, 3)))]
    files = []
    for number, (reader, content) in enumerate(chosen):
        name = rng.choice(("", "a/", "deep/er/", "x" * 120 + "/", "牌譜/")) + f"{number}{_SUFFIXES[reader]}"
        kind = rng.random()
        if kind < 0.15:
            name, content = f"{name}.gz", _gzip(content)
        elif kind < 0.25:
            name, content = f"{name}.zst", _zstd(content)
        files.append((name, content))
    kind = rng.random()
    if kind < 0.4:
        return _damaged_zip(rng.choice(_ZIPS)(files), rng)
    if kind < 0.9:
        tar = rng.choice(_TARS)(files)
        wrap = rng.choice((_gzip, _zstd, bytes))
        inner = rng.random() < 0.6
        data = wrap(_damaged_tar(tar, rng) if inner else tar)
        return data if inner and wrap is not bytes else damaged_bytes(data, tar, rng)
    _, content = chosen[0]
    return damaged_bytes(rng.choice((_gzip, _zstd))(content), content, rng)


def _damaged_zip(data: bytes, rng: random.Random) -> bytes:
    """By its bytes, or one number of a header."""
    if rng.random() < 0.5:
        return damaged_bytes(data, data, rng)
    changed = bytearray(data)
    magic, size = rng.choice(((b"PK\x01\x02", 46), (b"PK\x03\x04", 30), (b"PK\x05\x06", 22)))
    starts = [i for i in range(len(data)) if data.startswith(magic, i)]
    if starts:
        place = rng.choice(starts) + rng.randrange(4, size)
        width = rng.choice(("<B", "<H", "<I"))
        if place + struct.calcsize(width) <= len(changed):
            (value,) = struct.unpack_from(width, changed, place)
            number = altered_number(value, rng)
            number = int(number) if isinstance(number, (int, float, bool)) else value + 1
            struct.pack_into(width, changed, place, number % (1 << 8 * struct.calcsize(width)))
    return bytes(changed)


def _damaged_tar(data: bytes, rng: random.Random) -> bytes:
    """By its bytes, or one field of a header whose checksum is then right again."""
    if rng.random() < 0.3:
        return damaged_bytes(data, data, rng)
    changed = bytearray(data)
    starts = [i for i in range(0, len(data), 512) if data[i + 257 : i + 262] == b"ustar"]
    start = rng.choice(starts)
    if rng.random() < 0.1:  # a block is lost
        del changed[start : start + 512]
        return bytes(changed)
    first, length = rng.choice(((0, 100), (100, 8), (124, 12), (136, 12), (156, 1), (157, 100), (257, 8), (345, 155)))
    content = damaged_bytes(bytes(changed[start + first : start + first + length]), b"0123456789" * 9, rng)
    changed[start + first : start + first + length] = content[:length].ljust(length, b"\0")
    if rng.random() < 0.9:
        changed[start + 148 : start + 156] = b" " * 8
        changed[start + 148 : start + 156] = b"%06o\0 " % sum(changed[start : start + 512])
    return bytes(changed)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="fuzz-")


def examine_archive(data: bytes) -> Outcome:
    """Reads all that is in an archive."""
    path = Path(_folder().name, f"{os.getpid()}")
    path.write_bytes(data)
    outcome = Outcome()
    try:
        with time_limit(2 * TIME_LIMIT):
            records = list(records_of([str(path)]))
    except Hang:
        outcome.failures.append("hang: taking the archive apart")
        return outcome
    except Exception as error:
        outcome.failures.append(f"raised: {type(error).__name__}: {error}")
        return outcome
    if not records:
        outcome.failures.append("lost: neither a record nor a problem")
    for record in records:
        _add(outcome, _examine_member(record))
    problems = [record.problem for record in records if record.problem]
    outcome.refused.update(f"archive: {reason(problem, '')}" for problem in problems)
    if not problems:
        lost = _plain_number(data) - len(records)
        if lost > 0:
            outcome.failures.append(f"lost: {lost} members that a plain reading finds")
    return outcome


def _examine_member(record: Record) -> Outcome:
    if record.problem:
        return Outcome()
    if record.data is None:
        record = Record(record.name, record.size, Path(record.name).read_bytes())
    assert record.data is not None
    content = _unpacked(record.data)
    start = content.lstrip()[:20]
    reader = "mjlog" if start.startswith(b"<") else "mjai" if start.startswith(b'{"type"') else "tenhou-json"
    if _examined.cache_info().currsize > _MOST_EXAMINED:
        _examined.cache_clear()
    return _examined(record.data, content, reader)


_MOST_EXAMINED = 5000


@cache
def _examined(data: bytes, content: bytes, reader: str) -> Outcome:
    return examine(Record("archive.zip!member", 0, data), reader, content=content)


def _add(outcome: Outcome, other: Outcome) -> None:
    outcome.refused += other.refused
    outcome.left_out += other.left_out
    outcome.games += other.games
    outcome.rounds += other.rounds
    outcome.lines += other.lines
    outcome.failures += other.failures


def _unpacked(data: bytes) -> bytes:
    try:
        if data[:2] == b"\x1f\x8b":
            return gzip.decompress(data)
        if data[:4] == b"\x28\xb5\x2f\xfd":
            return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    except Exception:
        return b""
    return data


def _plain_number(data: bytes) -> int:
    """How many members with a record's name the standard library finds, in an archive that is not damaged."""
    suffixes = tuple(f"{suffix}{more}" for suffix in _READERS for more in ("", ".gz", ".zst"))
    try:
        if data[:4] in (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"):
            names = [info.filename for info in zipfile.ZipFile(io.BytesIO(data)).infolist()]
        else:
            with tarfile.open(fileobj=io.BytesIO(_unpacked(data))) as archive:
                names = [member.name for member in archive.getmembers() if member.isfile()]
    except Exception:
        return 0
    hidden = Counter(part[:1] == "." for name in names for part in name.split("/"))
    return 0 if hidden[True] else sum(name.endswith(suffixes) for name in names)
