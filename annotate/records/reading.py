"""Reads game records of any format, recognised by their content, from files and archives."""

import io
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO

from annotate.game.origin import printable
from annotate.game.record import Game, Unreadable, all_readable
from annotate.records import archives
from annotate.records.addresses import is_record_address
from annotate.records.finding import (
    IN_ARCHIVE,
    SECOND_SUFFIX,
    SUFFIXES,
    Shard,
    archive_of,
    check_paths,
    find_files,
    is_record_name,
    names_one_record,
    note_passed_over,
)
from annotate.records.majsoul.capture import SecondFile, is_capture, is_capture_json, open_capture, open_capture_json
from annotate.records.majsoul.reader import majsoul_game
from annotate.records.mjai.dialects import is_mjai
from annotate.records.mjai.reader import mjai_games
from annotate.records.strict_json import parse_json
from annotate.records.tenhou.json_reader import TENHOU_JSON_MEMBERS, tenhou_json_games
from annotate.records.tenhou.xml_reader import END_OF_LOG, read_tenhou_xml
from annotate.runtime.files import DECOMPRESSION_ERRORS, compression_of, decompressing

ACCEPTED = (
    "Mahjong Soul's captured messages or JSON, Tenhou mjlog XML, tenhou.net/6 JSON or mjai JSON lines; "
    "plain, gzip or zstd"
)
LARGEST_RECORD = 256 << 20
"""largest size of a record, in bytes, decompressed"""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Record:
    """A file of game records, or a member of an archive. Small enough to be sent to another process."""

    name: str
    """path of the file, or "archive.zip!folder/game.mjlog" """
    size: int
    """bytes that it occupies in the input"""
    data: bytes | None = None
    """content; None: to be read from the file `name`"""
    problem: str | None = None
    modified: int = 0
    """modification time of its file in nanoseconds; 0 if it is not known"""


def read_games(path: str) -> list[Game]:
    """Reads the games of one file, in their order; for archives see `records_of`. Raises as `read_record`."""
    return read_record(Record(path, 0))


def read_record(record: Record) -> list[Game]:
    """Reads the games of one record, in their order. Raises ValueError, whose message starts with the record's name, if
    it is not a game record, or if it or one of its games is unreadable, damaged or not supported."""
    return all_readable(games_of(record))


def games_of(record: Record) -> Iterator[Game | Unreadable]:
    """Reads the games of one record, in their order. Problems start with the record's name. Raises ValueError, as
    `read_record`, if the record as a whole cannot be read."""
    try:
        if record.problem is not None:
            raise ValueError(record.problem)
        in_archive = record.data is not None
        path = record.name.rpartition(IN_ARCHIVE)[2] if in_archive else record.name
        for game in _games(_content(record), os.path.basename(path), partial(_second_file, record)):
            yield Unreadable(f"{record.name}: {game.problem}") if isinstance(game, Unreadable) else game
    except ValueError as error:
        raise ValueError(f"{record.name}: {error}") from None


def records_of(
    paths: Iterable[str], shard: Shard | None = None, passed_over: Counter[str] | None = None
) -> Iterator[Record]:
    """Yields the records of the paths that `find_files` finds, or of a shard of them; archives are read one member at a
    time. `passed_over`: as in `find_files`.

    An unreadable file is yielded as a record with a problem. A file with the suffix of a single record (such as .mjlog,
    .json.gz) is not opened here, and not treated as an archive.
    """
    passed_over = Counter() if passed_over is None else passed_over
    is_mine = (shard or Shard(1, 1)).choices()
    for path in paths:
        if names_one_record(path) and IN_ARCHIVE not in path:
            if next(is_mine):
                yield _file(path)
        else:
            yield from (record for record in _records_in(path, passed_over) if next(is_mine))


def _file(path: str) -> Record:
    try:
        about = os.stat(path)
    except OSError as error:
        return Record(path, 0, problem=f"cannot be read: {error.strerror}")
    return Record(path, about.st_size, modified=about.st_mtime_ns)


def _records_in(path: str, passed_over: Counter[str]) -> Iterator[Record]:
    archive, wanted = archive_of(path)
    try:
        if wanted is None and not _is_archive(archive):
            yield _file(path)
        else:
            yield from _members(archive, wanted, passed_over)
    except OSError as error:
        yield Record(path, 0, problem=f"cannot be read: {error.strerror}")


def _is_archive(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as raw:
        return archives.is_archive(raw)


def _members(path: str, wanted: str | None, passed_over: Counter[str]) -> Iterator[Record]:
    """Yields the members of an archive that have one of SUFFIXES, or only the wanted one."""

    def is_wanted(name: str) -> bool:
        if wanted is not None:
            return name == wanted
        is_record = is_record_name(name)
        if not is_record:
            note_passed_over(name, passed_over)
        return is_record

    is_empty, modified = True, os.stat(path).st_mtime_ns
    for member in archives.members(path, is_wanted):
        is_empty = False
        name = f"{path}{IN_ARCHIVE}{printable(member.name)}" if member.name else path
        yield Record(name, member.size, member.data, member.problem and printable(member.problem), modified)
    if is_empty:
        what = f"ends in {', '.join(SUFFIXES)}" if wanted is None else f"is {wanted}"
        yield Record(path, 0, problem=f"no file in this archive {what}")


def num_players_of_first(paths: Sequence[str]) -> int | None:
    """Returns the number of players of the first game that can be read; None if none can."""
    for record in records_of(find_files(paths)):
        try:
            for game in games_of(record):
                if isinstance(game, Game):
                    return game.vocabulary.num_seats
        except Exception:  # is reported when the record is read
            continue
    return None


def find_records(paths: Sequence[str]) -> list[str]:
    """Returns all files that `find_files` finds. Raises ValueError if one of `paths` matches nothing."""
    check_paths(paths)
    return list(find_files(paths))


def _content(record: Record) -> bytes:
    try:
        if record.data is not None:
            return _decompressed(io.BytesIO(record.data))
        if stat.S_ISFIFO(os.stat(record.name).st_mode):  # opening it may block forever, and it can be read only once
            raise ValueError("a pipe: store what comes through it in a file and name that")
        with open(record.name, "rb") as raw:
            return _decompressed(raw)
    except IsADirectoryError:
        raise ValueError("a folder, where one file is expected") from None
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None


def _decompressed(raw: IO[bytes]) -> bytes:
    if archives.is_archive(raw):
        raise ValueError("an archive where a record is expected: archives in archives are not read, unpack them first")
    compression = compression_of(raw.read(4))
    raw.seek(0)
    stream, data = decompressing(raw) if compression else raw, bytearray()
    try:
        while piece := stream.read(1 << 20):
            data += piece
            if len(data) > LARGEST_RECORD:
                raise ValueError(
                    f"more than {LARGEST_RECORD >> 20} MiB{' when decompressed' if compression else ''}: split it"
                )
    except EOFError:
        raise ValueError(f"the {compression} file is cut off: get it again") from None
    except DECOMPRESSION_ERRORS as error:
        raise ValueError(f"the {compression} file is damaged ({error}): get it again") from None
    if compression_of(bytes(data[:4])) is not None:
        raise ValueError("compressed twice: decompress it once and run again")
    return bytes(data.removeprefix(_BYTE_ORDER_MARK))


def _second_file(record: Record, url: str) -> bytes:
    """Returns the content of the second file of a Mahjong Soul record, which is in the record's folder."""
    folder, name = os.path.split(record.name)
    path = os.path.join(folder, f"{stem(name)}{SECOND_SUFFIX}")
    what = f"the game itself is not in the file but at {url} (data_url)"
    if record.data is not None:
        raise ValueError(
            f"{what}: unpack the archive, download the address to NAME{SECOND_SUFFIX} beside it and run again"
        )
    if not os.path.exists(path):
        raise ValueError(f"{what}: download it to {path} and run again")
    try:
        return _content(Record(path, 0))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _games(data: bytes, name: str, second_file: SecondFile) -> Iterable[Game | Unreadable]:
    if is_capture(data):
        return [majsoul_game(open_capture(data, second_file))]
    start = data.lstrip()[:9]
    if not start:
        raise ValueError(f"empty; accepted are {ACCEPTED}")
    if start.startswith(b"<"):
        if not start.startswith((b"<mjloggm", b"<?xml", b"<!--")):
            raise ValueError(f"not a game record: XML or HTML without <mjloggm>; accepted are {ACCEPTED}")
        game, rest = read_tenhou_xml(data.lstrip(), name), data.partition(END_OF_LOG)[2]
        is_several = rest.lstrip().startswith((b"{", b"["))
        return [game, *([Unreadable("JSON after the XML of a game: store it in its own file")] if is_several else [])]
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise ValueError(
            f"not a game record: neither text nor compressed by gzip or zstd; accepted are {ACCEPTED}"
        ) from None
    if _is_tenhou_json(text):
        return tenhou_json_games(text, stem(name))
    return _events_or_capture(text, name, second_file)


def _is_tenhou_json(text: str) -> bool:
    if is_record_address(text.lstrip()):
        return True
    # search the text first, as files of mjai lines are long
    return all(f'"{member}"' in text for member in TENHOU_JSON_MEMBERS) and not is_mjai(text)


def _events_or_capture(text: str, name: str, second_file: SecondFile) -> Iterable[Game | Unreadable]:
    """Reads lines of mjai events, or a document of Mahjong Soul, which may be one long line and is parsed only once."""
    document: object = None
    problem: ValueError | None = None
    if '"head"' in text or '".lq.' in text:
        try:
            document = parse_json(text)
        except ValueError as error:
            problem = error
    is_event = isinstance(document, dict) and "type" in document
    if (document is None or is_event) and is_mjai(text):
        return mjai_games(text, stem(name))
    if problem is not None:
        is_several = str(problem).startswith("Extra data")
        reason = "of several games: store each in its own file" if is_several else f"cut off or damaged: {problem}"
        raise ValueError(f"JSON, perhaps of Mahjong Soul, {reason}")
    if not is_capture_json(document):
        raise ValueError(f"not a game record; accepted are {ACCEPTED}")
    return [majsoul_game(open_capture_json(document, second_file))]


def stem(name: str) -> str:
    """Returns `name` without its known suffixes."""
    while name.lower().endswith(SUFFIXES):
        name = name.rpartition(".")[0]
    return name
