"""Files of game records: finding them, alone or in archives, and reading one whatever its format, which its content
tells."""

import glob
import io
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from annotate.files import DECOMPRESSION_ERRORS, compression_of, decompressing
from annotate.records import archives
from annotate.records.majsoul import read_majsoul, read_majsoul_json
from annotate.records.majsoul_capture import is_capture, is_capture_json
from annotate.records.mjai import read_mjai
from annotate.records.record import Game
from annotate.records.tenhou_json import TENHOU_JSON_MEMBERS, read_tenhou_json
from annotate.records.tenhou_xml import read_tenhou_xml

ACCEPTED = (
    "Mahjong Soul's captured messages or JSON, Tenhou mjlog XML, tenhou.net/6 JSON or mjai JSON lines; "
    "plain, gzip or zstd"
)
SUFFIXES = (
    ".xml",
    ".mjlog",
    ".json",
    ".jsonl",
    ".mjson",
    ".bin",
    ".pb",
    ".gz",
    ".zst",
    ".zip",
    ".tar",
    ".tgz",
    ".tzst",
)
"""what is looked for in folders and archives; a file that is named itself may have any suffix"""
LARGEST_RECORD = 256 << 20
"""bytes that a compressed record may come to"""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_IN_ARCHIVE = "!"


@dataclass(frozen=True, slots=True)
class Record:
    """A file of game records, or a member of an archive. Small enough to be sent to another process."""

    name: str
    """its path, or "archive.zip!folder/game.mjlog" """
    size: int
    """how much of the input it takes, in bytes"""
    data: bytes | None = None
    """its content; None: to be read from the file `name`"""
    problem: str | None = None
    """why there is nothing to read"""


def read_games(path: str) -> list[Game]:
    """The games of one file, in their order; of an archive's members, see `records_of`.

    Raises:
        ValueError: the file cannot be read, is no game record, is damaged, or is of a kind that is not supported.
            The text starts with `path` and says why.
    """
    return read_record(Record(path, 0))


def read_record(record: Record) -> list[Game]:
    """The games of one record, in their order.

    Raises:
        ValueError: as `read_games`; the text starts with the record's name.
    """
    try:
        if record.problem is not None:
            raise ValueError(record.problem)
        in_archive = record.data is not None
        path = record.name.rpartition(_IN_ARCHIVE)[2] if in_archive else record.name
        return _games(_content(record), os.path.basename(path))
    except ValueError as error:
        raise ValueError(f"{record.name}: {error}") from None


def records_of(paths: Sequence[str]) -> Iterator[Record]:
    """The records meant by the paths that `find_records` has found: archives are taken apart, one member at a time.

    What cannot be read is a record with a problem.
    """
    for path in paths:
        archive, wanted = _archive_of(path)
        try:
            size = os.path.getsize(archive)
            if wanted is None and not _is_archive(archive):
                yield Record(path, size)
                continue
            yield from _members(archive, wanted)
        except OSError as error:
            yield Record(path, 0, problem=f"cannot be read: {error.strerror}")


def _is_archive(path: str) -> bool:
    if os.path.isdir(path):
        return False
    with open(path, "rb") as raw:
        return archives.is_archive(raw)


def _members(path: str, wanted: str | None) -> Iterator[Record]:
    """The members of an archive that have one of SUFFIXES, or the wanted one alone."""
    is_empty = True
    for member in archives.members(path, _is_record_name if wanted is None else wanted.__eq__):
        is_empty = False
        name = f"{path}{_IN_ARCHIVE}{_printable(member.name)}" if member.name else path
        yield Record(name, member.size, member.data, member.problem and _printable(member.problem))
    if is_empty:
        what = f"ends in {', '.join(SUFFIXES)}" if wanted is None else f"is {wanted}"
        yield Record(path, 0, problem=f"no file in this archive {what}")


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def _archive_of(path: str) -> tuple[str, str | None]:
    """A path as the file that it means and, if it is of one member of an archive, the member's name."""
    if not os.path.exists(path):
        for place in (place for place, character in enumerate(path) if character == _IN_ARCHIVE):
            if os.path.isfile(path[:place]):
                return path[:place], path[place + 1 :]
    return path, None


def find_records(paths: Sequence[str]) -> list[str]:
    """The files meant by `paths`: files, folders (with all below them), glob patterns, and members of archives.

    In the order of `paths`, sorted within a folder or pattern, each file once. In folders only files with one of
    `SUFFIXES` count, and none whose name or folder begins with a dot. A member is named as reports name it,
    "archive.zip!folder/game.mjlog".

    Raises:
        ValueError: one of `paths` matches nothing.
    """
    found: dict[str, str] = {}
    for path in paths:
        is_there = os.path.exists(path) or _archive_of(path)[1] is not None
        matches = [path] if is_there else sorted(glob.glob(path, recursive=True))
        if not matches:
            raise ValueError(f"{path}: no such file or folder, and as a pattern it matches nothing")
        files = [file for match in matches for file in (_below(match) if os.path.isdir(match) else [match])]
        if not files:
            raise ValueError(f"{path}: no file here ends in {', '.join(SUFFIXES)}")
        for file in files:
            found.setdefault(os.path.realpath(file), file)
    return list(found.values())


def _below(folder: str) -> list[str]:
    files = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [os.path.join(parent, name) for name in names if _is_record_name(name)]
    return sorted(files)


def _is_record_name(name: str) -> bool:
    """Whether a file found in a folder or archive is to be read: by its suffix, unless it or a folder is hidden."""
    return name.lower().endswith(SUFFIXES) and not any(
        part.startswith((".", "__MACOSX")) for part in name.split("/") if part not in (".", "..")
    )


def _content(record: Record) -> bytes:
    try:
        if record.data is not None:
            return _decompressed(io.BytesIO(record.data))
        with open(record.name, "rb") as raw:
            return _decompressed(raw)
    except IsADirectoryError:
        raise ValueError("a folder, where one file is expected") from None
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None


def _decompressed(raw: IO[bytes]) -> bytes:
    """The content of a file, decompressed if need be."""
    if archives.is_archive(raw):
        raise ValueError("an archive where a record is expected: archives in archives are not read, unpack them first")
    compression = compression_of(raw.read(4))
    raw.seek(0)
    if compression is None:
        return raw.read().removeprefix(_BYTE_ORDER_MARK)
    stream, data = decompressing(raw), bytearray()
    try:
        while piece := stream.read(1 << 20):
            data += piece
            if len(data) > LARGEST_RECORD:
                raise ValueError(f"more than {LARGEST_RECORD >> 20} MiB when decompressed: split it")
    except EOFError:
        raise ValueError(f"the {compression} file is cut off: get it again") from None
    except DECOMPRESSION_ERRORS as error:
        raise ValueError(f"the {compression} file is damaged ({error}): get it again") from None
    return bytes(data.removeprefix(_BYTE_ORDER_MARK))


def _games(data: bytes, name: str) -> list[Game]:
    if is_capture(data):
        return [read_majsoul(data)]
    start = data.lstrip()[:9]
    if not start:
        raise ValueError(f"empty; accepted are {ACCEPTED}")
    if start.startswith(b"<"):
        if not start.startswith((b"<mjloggm", b"<?xml", b"<!--")):
            raise ValueError(f"no game record: XML or HTML, but no <mjloggm>; accepted are {ACCEPTED}")
        return [read_tenhou_xml(data.lstrip(), name)]
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise ValueError(f"no game record: neither text nor compressed; accepted are {ACCEPTED}") from None
    if _is_tenhou_json(text):
        return read_tenhou_json(text, _stem(name))
    if _is_mjai(text):
        return read_mjai(text, _stem(name))
    if '"head"' in text or '".lq.' in text:
        return [read_majsoul_json(_majsoul_document(text))]
    raise ValueError(f"no game record; accepted are {ACCEPTED}")


def _is_tenhou_json(text: str) -> bool:
    if text.lstrip().startswith(("https://tenhou.net/6/#json=", "http://tenhou.net/6/#json=")):
        return True
    # asked of the text first, as files of mjai lines are long
    return all(f'"{member}"' in text for member in TENHOU_JSON_MEMBERS) and not _is_mjai(text)


def _majsoul_document(text: str) -> object:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"JSON, perhaps of Mahjong Soul, that is cut off or damaged: {error}") from None
    if not is_capture_json(document):
        raise ValueError(f"no game record; accepted are {ACCEPTED}")
    return document


def _is_mjai(text: str) -> bool:
    try:
        event = json.loads(text.lstrip().split("\n", 1)[0])
    except (json.JSONDecodeError, RecursionError):
        return False
    return isinstance(event, dict) and "type" in event


def _stem(name: str) -> str:
    """`name` without its known suffixes."""
    while name.lower().endswith(SUFFIXES):
        name = name.rpartition(".")[0]
    return name
