"""The shard format: Arrow IPC streams, which `datasets.Dataset.from_file` can open, and their memory-mapped reader.

A split consists of the files `<split>-00000.arrow`, …. Each is one record batch (`kanachan.data.shard_file`) with
metadata that describe the packed data. Game ids are stored as 64 bits of their hash (`kanachan.data.columns.game_key`).
The optional column `hidden` has the hands from the annotations' hidden field; `log_probability`, in games of self-play,
has the log probability of each action.

Shapes: B rows, N numeric features, R results.
"""

from collections.abc import Collection, Iterable
from copy import copy
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from annotate.annotation import HIDDEN
from annotate.vocabulary import Vocabulary, vocabulary_named
from kanachan.data.columns import Columns, Ragged, spans, token_value
from kanachan.data.dataset_card import README_NAME, may_replace
from kanachan.data.shard_file import open_shard_files, rows_of, write_shard_file
from kanachan.data.shard_folder import ROUNDS, shards_of

RAGGED = ("sparse", "progression", "actions")
PLAIN = ("game", "chosen", "numeric", "results")
LOG_PROBABILITY = "log_probability"
OPTIONAL = (HIDDEN, LOG_PROBABILITY)
"""columns that only some shards have"""


def schema(vocabulary: Vocabulary, names: Collection[str] = ()) -> pa.Schema:
    """Returns the columns of a shard; optional columns only if they are among `names`."""
    tokens = pa.list_(pa.field("item", pa.uint16(), nullable=False))
    types = {
        "game": pa.uint64(),
        **dict.fromkeys(RAGGED, tokens),
        "chosen": pa.uint8(),
        "numeric": pa.list_(pa.int32(), len(vocabulary.numeric)),
        "results": pa.list_(pa.int32(), len(vocabulary.results)),
        HIDDEN: tokens,
        LOG_PROBABILITY: pa.float32(),
    }
    present = [name for name in types if name not in OPTIONAL or name in names]
    return pa.schema([pa.field(name, types[name], nullable=False) for name in present])


def rows_of_columns(columns: Columns, vocabulary: Vocabulary) -> pa.RecordBatch:
    return rows_of(columns, schema(vocabulary, [name for name in OPTIONAL if getattr(columns, name) is not None]))


def write_shard(
    folder: Path, split: str, number: int, of: int, rows: pa.RecordBatch, vocabulary: Vocabulary, made: dict[str, Any]
) -> Path:
    """Writes shard `number` of `of` of a split (`write_shard_file`); the rows have the columns of `schema`."""
    rows = pa.RecordBatch.from_arrays(rows.columns, schema=schema(vocabulary, rows.schema.names))
    return write_shard_file(folder, split, number, of, rows, _checksum(_ShardBuffers(rows)), vocabulary, made)


def publish_shards(temporary: Path, new: Iterable[str], old: Iterable[str], folder: Path) -> None:
    """Moves the new shards and their card from a temporary folder into `folder`, then removes old files that have no
    new file of the same name. It may be repeated after an interruption. A README.md that is not a card is kept."""
    for name in new:
        path = temporary / name
        if name == README_NAME and not may_replace(folder / README_NAME):
            path.unlink(missing_ok=True)
        elif path.exists():
            (folder / name).parent.mkdir(exist_ok=True)
            path.replace(folder / name)
    for name in {*old} - {*new}:
        (folder / name).unlink(missing_ok=True)
    if (folder / ROUNDS).is_dir() and not any((folder / ROUNDS).iterdir()):
        (folder / ROUNDS).rmdir()


def open_shards(
    folder: str | Path, split: str, *, verify: bool = False, hidden: bool | None = False, behaviour: bool = False
) -> "Shards":
    """Maps all shards of a split into memory. Raises ValueError, naming the file, if one is missing, damaged, of
    another format version or vocabulary, or lacks the requested hidden hands.

    Args:
        verify: read everything and compare checksums; otherwise only structure and lengths are checked.
        hidden: whether to gather the hidden hands too; None: if there are any.
        behaviour: whether to gather the log probabilities of self-play too, if there are any.
    """
    folder, paths = Path(folder), shards_of(folder, split)
    opened = open_shard_files(split, paths)
    vocabulary = vocabulary_named(opened[0][0]["vocabulary"])
    for path, (_, rows) in zip(paths, opened, strict=True):
        if not rows.schema.equals(schema(vocabulary, rows.schema.names)):
            raise ValueError(
                f"{path}: other columns than a shard has: {rows.schema.names}; pack the annotations again, or play the "
                "games again"
            )
    if hidden is not False:
        without = [path for path, (_, rows) in zip(paths, opened, strict=True) if HIDDEN not in rows.schema.names]
        if hidden and without:
            raise ValueError(
                f"{without[0]}: holds no hidden hands, which this run needs: annotate the records with "
                "kanachan-annotate --hidden and pack them again, or play the games with kanachan-selfplay"
            )
        hidden = not without
    checksum = sha256("".join(d["checksum"] for d, _ in opened).encode()).hexdigest()[:16]
    shards = Shards(
        folder,
        vocabulary,
        split,
        opened[0][0]["made"],
        checksum,
        [_ShardBuffers(rows) for _, rows in opened],
        has_hidden=hidden,
        has_behaviour=behaviour and all(LOG_PROBABILITY in rows.schema.names for _, rows in opened),
    )
    if verify:
        for path, (description, _), mapped in zip(paths, opened, shards.mapped, strict=True):
            if _checksum(mapped) != description["checksum"]:
                raise ValueError(f"{path}: the data differ from their checksum; the file is damaged")
    return shards


class _ShardBuffers:
    """The buffers of one shard as arrays, without copying."""

    def __init__(self, rows: pa.RecordBatch) -> None:
        self.num_rows = rows.num_rows
        names = rows.schema.names
        ragged = [name for name in (*RAGGED, HIDDEN) if name in names]
        self.values: dict[str, NDArray[np.uint16]] = {n: rows[n].values.to_numpy() for n in ragged}
        self.offsets: dict[str, NDArray[np.int32]] = {n: rows[n].offsets.to_numpy() for n in ragged}
        self.plain: dict[str, NDArray[Any]] = {n: rows[n].to_numpy() for n in ("game", "chosen")}
        for name in ("numeric", "results"):
            self.plain[name] = rows[name].values.to_numpy().reshape(self.num_rows, rows[name].type.list_size)
        if LOG_PROBABILITY in names:
            self.plain[LOG_PROBABILITY] = rows[LOG_PROBABILITY].to_numpy()


@dataclass(frozen=True, slots=True)
class _Part:
    shard: _ShardBuffers
    places: NDArray[np.int64] | slice
    """places of the rows in the request"""
    rows: NDArray[np.int64]
    """places of the rows in the shard"""


@dataclass(eq=False)
class Shards:
    """The rows of a split, 0 … len - 1, over all its files."""

    folder: Path
    vocabulary: Vocabulary
    split: str
    made: dict[str, Any]
    """description of the data's origin: sources, seed, splits, counts, version"""
    checksum: str
    """checksum of all rows in their order"""
    mapped: list[_ShardBuffers]
    has_hidden: bool = False
    """whether hidden hands are gathered; all files then have them"""
    has_behaviour: bool = False
    """whether log probabilities of self-play are gathered; all files then have them"""

    def __post_init__(self) -> None:
        self._plain_names = (*PLAIN, LOG_PROBABILITY) if self.has_behaviour else PLAIN
        self._ragged_names = (*RAGGED, *[HIDDEN] * self.has_hidden)
        self._first = np.cumsum([0, *(shard.num_rows for shard in self.mapped)])
        self._selected: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return int(self._first[-1]) if self._selected is None else len(self._selected)

    def select(self, rows: NDArray[np.int64]) -> "Shards":
        """Returns these rows, in this order, as a separate split; their data stay in the files."""
        selected = copy(self)
        selected._selected = rows if self._selected is None else self._selected[rows]
        selected.checksum = sha256(self.checksum.encode() + rows.tobytes()).hexdigest()[:16]
        return selected

    def require(self, vocabulary: Vocabulary, whose: str) -> None:
        """Raises ValueError, naming `whose` vocabulary it is, if the rows have another vocabulary."""
        if self.vocabulary is not vocabulary:
            raise ValueError(
                f"{self.folder}: the {self.split} split is packed with the vocabulary {self.vocabulary.name} "
                f"{self.vocabulary.fingerprint}, but that of {whose} is {vocabulary.name} {vocabulary.fingerprint}"
            )

    def num_events(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the number of events that each of `rows` [B] sees."""
        lengths = np.zeros(len(rows), np.int64)
        for part in self._parts(rows):
            offsets = part.shard.offsets["progression"]
            lengths[part.places] = offsets[part.rows + 1] - offsets[part.rows]
        return lengths

    def games(self, rows: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Returns the key of the game of each of `rows` [B]."""
        return _gather(self._parts(rows), "game", len(rows))

    def gather(self, rows: NDArray[np.int64]) -> Columns:
        """Copies `rows` [B] in their order, with one gather per column and shard."""
        parts = self._parts(rows)
        columns: dict[str, Any] = {name: _gather(parts, name, len(rows)) for name in self._plain_names}
        columns |= {name: _gather_ragged(parts, name, len(rows)) for name in self._ragged_names}
        return Columns(**columns, seat=token_value(columns["sparse"], self.vocabulary, "seat"))

    def _parts(self, rows: NDArray[np.int64]) -> list[_Part]:
        assert len(rows) == 0 or (rows.min() >= 0 and rows.max() < len(self))
        if self._selected is not None:
            rows = self._selected[rows]
        if len(self.mapped) == 1 or len(rows) == 0:
            return [_Part(self.mapped[0], slice(None), rows)]
        which = np.searchsorted(self._first, rows, side="right") - 1
        by_shard = np.argsort(which, kind="stable")
        touched, starts = np.unique(which[by_shard], return_index=True)
        return [
            _Part(self.mapped[shard], places, rows[places] - self._first[shard])
            for shard, places in zip(touched, np.split(by_shard, starts[1:]), strict=True)
        ]


def _gather(parts: list[_Part], name: str, num_rows: int) -> NDArray[Any]:
    if len(parts) == 1:
        return parts[0].shard.plain[name][parts[0].rows]
    gathered = np.empty((num_rows, *parts[0].shard.plain[name].shape[1:]), parts[0].shard.plain[name].dtype)
    for part in parts:
        gathered[part.places] = part.shard.plain[name][part.rows]
    return gathered


def _gather_ragged(parts: list[_Part], name: str, num_rows: int) -> Ragged:
    starts = np.zeros(num_rows + 1, np.int64)
    for part in parts:
        offsets = part.shard.offsets[name]
        starts[1:][part.places] = offsets[part.rows + 1] - offsets[part.rows]
    np.cumsum(starts, out=starts)
    values = np.empty(int(starts[-1]), np.uint16)
    for part in parts:
        target = starts[:-1][part.places]
        lengths = starts[1:][part.places] - target
        tokens = part.shard.values[name][spans(part.shard.offsets[name][part.rows], lengths)]
        if len(parts) == 1:
            return Ragged(tokens, starts)
        values[spans(target, lengths)] = tokens
    return Ragged(values, starts)


def _checksum(mapped: _ShardBuffers) -> str:
    digest = sha256()
    for name, values in mapped.values.items():
        digest.update(mapped.offsets[name].data)
        digest.update(values.data)
    for column in mapped.plain.values():
        digest.update(np.ascontiguousarray(column).data)
    return digest.hexdigest()
