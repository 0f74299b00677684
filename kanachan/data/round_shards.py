"""Shards of rounds: `rounds/<split>-00000.arrow`, …, in a folder of shards, with one row per round of each game.

They have the format of shards of decisions (`kanachan.data.shard_file`), and are written, replaced and published
together with them. Rows are sorted by game and by their order in the game; a game is in one file.
"""

from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from annotate.vocabulary import Vocabulary, vocabulary_named
from kanachan.data.round_columns import BY_SEAT, TYPES, RoundColumns, concatenated
from kanachan.data.shard_file import open_shard_file, open_shard_files, rows_of, write_shard_file
from kanachan.data.shard_folder import ROUNDS, SPLIT_ADVICE, splits_in

_PACK_AGAIN = "kanachan-annotate RECORDS --pack NEW writes them beside the decisions; annotation lines have no rounds"


def round_schema(vocabulary: Vocabulary) -> pa.Schema:
    fields = []
    for name in RoundColumns.__slots__:
        number = pa.from_numpy_dtype(TYPES[name])
        type_ = pa.list_(number, vocabulary.num_seats) if name in BY_SEAT else number
        fields.append(pa.field(name, type_, nullable=False))
    return pa.schema(fields)


def rows_of_rounds(rounds: RoundColumns, vocabulary: Vocabulary) -> pa.RecordBatch:
    return rows_of(rounds, round_schema(vocabulary))


def rounds_of_rows(rows: pa.RecordBatch) -> RoundColumns:
    """Converts rows back to columns, without copying."""
    columns = {}
    for field in rows.schema:
        column = rows[field.name]
        if pa.types.is_fixed_size_list(field.type):
            columns[field.name] = column.flatten().to_numpy().reshape(rows.num_rows, field.type.list_size)
        else:
            columns[field.name] = column.to_numpy()
    return RoundColumns(**columns)


def write_rounds(
    folder: Path, split: str, number: int, of: int, rounds: RoundColumns, vocabulary: Vocabulary, made: dict[str, Any]
) -> Path:
    """Writes shard `number` of `of` with the rounds of a split into the subfolder of a folder of shards. The rounds are
    sorted and of whole games; `made` as in the shards of decisions."""
    rows = rows_of_rounds(rounds, vocabulary)
    return write_shard_file(folder / ROUNDS, split, number, of, rows, _checksum(rounds), vocabulary, made)


def open_rounds(folder: str | Path, split: str, *, verify: bool = False) -> RoundColumns:
    """Returns the rounds of a split: one file is mapped into memory, several files are copied. Raises ValueError,
    naming the file, if there are none, or if a file is cut off, missing, damaged or not packed together with the
    decisions next to it."""
    present = splits_in(Path(folder) / ROUNDS)
    if split not in present:
        advice = f"there are: {', '.join(present)}: {SPLIT_ADVICE}" if present else _PACK_AGAIN
        raise ValueError(f"{folder}: holds no rounds of the split {split!r}; {advice}")
    paths = present[split]
    opened = open_shard_files(split, paths)
    decisions = splits_in(folder).get(split)
    if decisions and open_shard_file(decisions[0])[0]["made"] != opened[0][0]["made"]:
        raise ValueError(f"{paths[0]}: was not packed together with {decisions[0]}; {_PACK_AGAIN}")
    parts = []
    for path, (description, rows) in zip(paths, opened, strict=True):
        if not rows.schema.equals(round_schema(vocabulary_named(description["vocabulary"]))):
            raise ValueError(f"{path}: other columns than a shard of rounds has: {rows.schema.names}")
        parts.append(rounds_of_rows(rows))
        if verify and _checksum(parts[-1]) != description["checksum"]:
            raise ValueError(f"{path}: the data differ from their checksum; the file is damaged")
    return parts[0] if len(parts) == 1 else concatenated(parts)


def _checksum(rounds: RoundColumns) -> str:
    digest = sha256()
    for name in RoundColumns.__slots__:
        digest.update(np.ascontiguousarray(getattr(rounds, name)).data)
    return digest.hexdigest()
