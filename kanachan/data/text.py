"""Parses annotation text from blocks of bytes to columns, many lines at once.

Rejects every line that `annotate.annotation.parse_line` rejects, with the same message. Either all lines of a block
have the hidden field, or none; its hands are stored, its wall is not.
"""

import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from annotate.annotation import FIELDS, HIDDEN, MOST_ACTIONS, format_line, parse_line, vocabulary_of_line
from annotate.runtime.files import compression_of, require_exists
from annotate.vocabulary import Vocabulary
from kanachan.data.columns import Columns, Ragged, game_key, token_value

BLOCK_BYTES = 16 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_STARTS_OF_RECORDS = (b"<", b"{", b"[", b"PK\x03\x04")
"""starts of XML, JSON and zip"""
_IS_PLAIN = np.zeros(256, bool)
_IS_PLAIN[list(b"0123456789,-")] = True


class _Refused(Exception):
    """A line of a block is invalid."""


def read_blocks(path: str, progress: Callable[[int], object]) -> Iterator[tuple[int, bytes]]:
    """Reads a text file or a pipe ("-" is standard input), gzip, zstd or plain, some megabytes at a time. Yields the
    number of the first line, from 1, and whole lines, each ended by a line feed. Calls `progress` with the number
    of bytes read from the file since the last call. Raises ValueError if a file is missing, cut off or detectably
    damaged, or has no line breaks."""
    if path != "-":
        require_exists(path)
    if os.path.isdir(path):
        raise ValueError(f"{path}: a folder; annotations are expected: kanachan-pack --unpack makes them from shards")
    is_file = path != "-" and os.path.isfile(path)
    file = io.BufferedReader(sys.stdin.buffer) if path == "-" else open(path, "rb")  # type: ignore[arg-type, type-var]
    compression = compression_of(file.peek(4)[:4])
    raw = pa.PythonFile(file, "r")
    stream = pa.CompressedInputStream(raw, compression) if compression else raw
    line, rest, reported = 1, b"", 0
    with closing(raw):
        while True:
            try:
                read = stream.read(BLOCK_BYTES)
            except (OSError, pa.ArrowException) as error:
                raise ValueError(f"{path}: cannot be decompressed: cut off or damaged ({error})") from None
            if is_file:
                progress(raw.tell() - reported)
                reported = raw.tell()
            if not read:
                break
            if line == 1 and not rest:
                read = read.removeprefix(_BYTE_ORDER_MARK)
            is_start = line == 1 and not rest and read.split(b"\n", 1)[0].count(b"\t") < len(FIELDS) - 1
            if is_start and read.lstrip(b" \t\r\n").startswith(_STARTS_OF_RECORDS):
                raise ValueError(f"{path}: looks like a game record: run kanachan-annotate first, and give its output")
            whole, found, rest = (rest + read).rpartition(b"\n")
            if found:
                block = (whole + found).replace(b"\r\n", b"\n")
                yield line, block
                line += block.count(b"\n")
            elif len(rest) > 4 * BLOCK_BYTES:
                raise ValueError(
                    f"{path}:{line}: {len(rest)} bytes without a line break: this is not a file of annotations"
                )
    if rest:  # numbers that are cut off may still be numbers
        if rest.count(b"\t") < len(FIELDS) - 1:
            raise ValueError(
                f"{path}:{line}: not an annotation, or cut off; kanachan-annotate makes annotations from game records"
            )
        raise ValueError(
            f"{path}:{line}: the last line has no line break: it may be cut off; write the file again, or end the line"
        )


def vocabulary_of_block(path: str, first_line: int, block: bytes) -> Vocabulary:
    """Returns the vocabulary of the first line of a block; raises ValueError, "path:line: …", if it has none."""
    try:
        return vocabulary_of_line(block.partition(b"\n")[0].decode())
    except ValueError as error:
        raise ValueError(f"{path}:{first_line}: {error}") from None


def parse_block(path: str, first_line: int, block: bytes, vocabulary: Vocabulary) -> tuple[Columns, list[str]]:
    """Parses and checks all lines of a block; returns the rows and the ids of their games. Raises ValueError,
    "path:line: …", for the first line that is not an annotation."""
    hidden = block.partition(b"\n")[0].count(b"\t") >= len(FIELDS)
    try:
        return _parse(block, vocabulary, hidden)
    except _Refused:
        pass
    unusual = []
    for number, line in enumerate(block.split(b"\n")[:-1], first_line):
        try:
            annotation = parse_line(line.decode(), vocabulary)
            if (annotation.hidden is not None) != hidden:
                raise ValueError(mixed_hidden(annotation.hidden is not None))
        except ValueError as error:
            raise ValueError(f"{path}:{number}: {error}") from None
        unusual += [number] * (b"\r" in line or format_line(annotation).encode() != line)
    where = unusual[0] if unusual else first_line  # where the fast parser skips a byte order mark
    raise ValueError(f"{path}:{where}: a carriage return, or a number that is not in plain decimal digits")


def mixed_hidden(hidden: bool) -> str:
    """Returns the error message for rows with hidden hands after rows without them, or the reverse."""
    found = "hidden hands here, but none before" if hidden else "no hidden hands here, but before"
    return (
        f"{found}: annotate all records with kanachan-annotate --hidden, or remove the eighth field everywhere "
        f"(`cut -f 1-{len(FIELDS)}` of the text)"
    )


def _parse(block: bytes, vocabulary: Vocabulary, hidden: bool) -> tuple[Columns, list[str]]:
    names = (*FIELDS, HIDDEN) if hidden else FIELDS
    types = (pa.uint16(), pa.int32(), pa.uint16(), pa.uint16(), pa.uint8(), pa.int32(), pa.uint16())
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(block),
            pyarrow.csv.ReadOptions(column_names=names, block_size=len(block) + 1),
            pyarrow.csv.ParseOptions(delimiter="\t", quote_char=False, ignore_empty_lines=False),
            pyarrow.csv.ConvertOptions(column_types={name: pa.string() for name in names}),
        ).combine_chunks()
        texts = {name: table[name].chunk(0) for name in names}
        _require(table.num_rows == block.count(b"\n"))
        _require(all(_is_plain(texts[name]) for name in names[1:]))
        lists = {
            name: pc.split_pattern(texts[name], ",").cast(pa.list_(pa.field("item", number, nullable=False)))
            for name, number in zip(names[1:], types, strict=False)
        }
    except (pa.ArrowException, IndexError) as error:
        raise _Refused from error
    values: dict[str, NDArray[Any]] = {name: column.values.to_numpy() for name, column in lists.items()}
    found = {name: Ragged(values[name], column.offsets.to_numpy()) for name, column in lists.items()}
    for name, num_values in (("numeric", len(vocabulary.numeric)), ("chosen", 1), ("results", len(vocabulary.results))):
        _require((found[name].lengths == num_values).all())
    _check(found, vocabulary)
    games = texts["game"].dictionary_encode()
    ids = games.dictionary.to_pylist()
    _require("" not in ids)
    keys = np.array([game_key(game) for game in ids], np.uint64)
    columns = Columns(
        sparse=found["sparse"],
        progression=found["progression"],
        actions=found["actions"],
        numeric=values["numeric"].reshape(-1, len(vocabulary.numeric)),
        seat=token_value(found["sparse"], vocabulary, "seat"),
        game=keys[games.indices.to_numpy()],
        chosen=values["chosen"],
        results=values["results"].reshape(-1, len(vocabulary.results)),
        hidden=_hands(found[HIDDEN], vocabulary) if hidden else None,
    )
    return columns, ids


def _check(columns: Mapping[str, Ragged], vocabulary: Vocabulary) -> None:
    """Checks all rows at once, like `annotate.annotation.check`."""
    for name, field in (
        ("sparse", vocabulary.sparse),
        ("progression", vocabulary.progression),
        ("actions", vocabulary.action),
    ):
        _require(int(columns[name].values.max()) < field.size)
    _check_sparse(columns["sparse"], vocabulary)
    progression, actions = columns["progression"], columns["actions"]
    _require((progression.values[progression.starts[:-1]] == vocabulary.progression["begin"].first).all())
    _require(progression.lengths.max() <= vocabulary.max_progression)
    _require(_is_ascending(actions))
    _require(actions.lengths.min() >= 2 and actions.lengths.max() <= MOST_ACTIONS)
    _require((columns["chosen"].values < actions.lengths).all())
    n = vocabulary.num_seats
    results = columns["results"].values.reshape(-1, len(vocabulary.results))
    _require(((results[:, 0] >= 0) & (results[:, 0] < vocabulary.num_round_results)).all())
    _require((np.sort(results[:, 1 + n : 1 + 2 * n], axis=1) == np.arange(n)).all())
    _require(((results[:, 1 + 2 * n] >= 0) & (results[:, 1 + 2 * n] < n)).all())
    if HIDDEN in columns:
        _require(int(columns[HIDDEN].values.max(initial=0)) < vocabulary.hidden.size)
        _require(_is_ascending(columns[HIDDEN], upto=vocabulary.hidden["wall"].first))


def _check_sparse(sparse: Ragged, vocabulary: Vocabulary) -> None:
    _require(_is_ascending(sparse))
    place = np.array(vocabulary.place_of_sparse, np.int8)[sparse.values]
    has_place = place >= 0
    # as tokens ascend, so do the places of each row
    _require((np.add.reduceat(has_place.astype(np.int64), sparse.starts[:-1]) == vocabulary.num_places).all())
    _require((place[has_place].reshape(-1, vocabulary.num_places) == np.arange(vocabulary.num_places)).all())


def _hands(hidden: Ragged, vocabulary: Vocabulary) -> Ragged:
    is_hand = hidden.values < vocabulary.hidden["wall"].first
    num_before = np.concatenate([[0], np.cumsum(is_hand)])
    return Ragged(hidden.values[is_hand], num_before[hidden.starts])


def _is_ascending(column: Ragged, upto: int | None = None) -> bool:
    """Returns whether each row's values ascend; values from `upto` on may follow in any order."""
    is_step = column.values[1:] > column.values[:-1]
    if upto is not None:
        is_step |= column.values[1:] >= upto
    is_step[column.starts[1:-1] - 1] = True  # from one row to the next
    return bool(is_step.all())


def _is_plain(texts: pa.StringArray) -> bool:
    data = texts.buffers()[2]
    return data is not None and bool(_IS_PLAIN[np.frombuffer(data, np.uint8)].all())


def _require(condition: object) -> None:
    if not condition:
        raise _Refused
