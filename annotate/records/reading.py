"""Files of game records: finding them, and reading one whatever its format, which its content tells."""

import glob
import gzip
import json
import os
import zlib
from collections.abc import Sequence

from annotate.records.mjai import read_mjai
from annotate.records.record import Game
from annotate.records.tenhou_json import TENHOU_JSON_MEMBERS, read_tenhou_json
from annotate.records.tenhou_xml import read_tenhou_xml

ACCEPTED = "Tenhou mjlog XML, tenhou.net/6 JSON or mjai JSON lines, plain or gzip"
SUFFIXES = (".xml", ".mjlog", ".json", ".jsonl", ".mjson", ".gz")
"""what is looked for in folders; a file that is named itself may have any suffix"""

_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_games(path: str) -> list[Game]:
    """The games of one file, in their order.

    Raises:
        ValueError: the file cannot be read, is no game record, is damaged, or is of a kind that is not supported.
            The text starts with `path` and says why.
    """
    try:
        return _games(_content(path), os.path.basename(path))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def find_records(paths: Sequence[str]) -> list[str]:
    """The files meant by `paths`: files, folders (with all below them) and glob patterns.

    In the order of `paths`, sorted within a folder or pattern, each file once. In folders only files with one of
    `SUFFIXES` count, and none whose name or folder begins with a dot.

    Raises:
        ValueError: one of `paths` matches nothing.
    """
    found: dict[str, str] = {}
    for path in paths:
        matches = [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))
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
        files += [
            os.path.join(parent, name) for name in names if name.lower().endswith(SUFFIXES) and not name.startswith(".")
        ]
    return sorted(files)


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read()
        if data.startswith(_GZIP_MAGIC):
            data = gzip.decompress(data)
    except IsADirectoryError:
        raise ValueError("a folder, where one file is expected") from None
    except EOFError:
        raise ValueError("the gzip file is cut off: get it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"the gzip file is damaged ({error}): get it again") from None
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    return data.removeprefix(_BYTE_ORDER_MARK)


def _games(data: bytes, name: str) -> list[Game]:
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
        raise ValueError(f"no game record: neither text nor gzip; accepted are {ACCEPTED}") from None
    if _is_tenhou_json(text):
        return read_tenhou_json(text, _stem(name))
    _require_mjai(text)
    return read_mjai(text, _stem(name))


def _is_tenhou_json(text: str) -> bool:
    if text.lstrip().startswith(("https://tenhou.net/6/#json=", "http://tenhou.net/6/#json=")):
        return True
    # asked of the text first, as files of mjai lines are long
    return all(f'"{member}"' in text for member in TENHOU_JSON_MEMBERS) and not _is_mjai(text)


def _require_mjai(text: str) -> None:
    """Raises ValueError for texts that are something else, naming the formats that are known."""
    if _is_mjai(text):
        return
    kind = "no game record"
    if '"head"' in text and '"accounts"' in text:
        kind = "Mahjong Soul JSON, which is not supported yet"
    raise ValueError(f"{kind}; accepted are {ACCEPTED}")


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
