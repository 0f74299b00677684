"""Rows on their way to shards. The decisions of a seat in a round stay together, in their order, as the network works
out only once what they share; these stretches are shuffled, by keys made of the game, the round and a seed, so that the
order is the same whatever the order in which rows come. Rows are collected into runs on disk, each sorted by key; a
shard is one range of keys taken out of all runs. So memory holds about one run or one shard at a time.

Shapes: B rows, G games, S sorted rows of a shard.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tqdm import tqdm

from annotate.vocabulary import Vocabulary
from kanachan.config import SPLITS
from kanachan.data.columns import round_keys, splitmix64
from kanachan.data.pack_options import Packing
from kanachan.data.shards import RAGGED, columns_of_rows, has_hidden, schema, write_shard

_LENGTH_BITS = 7
"""of a key: the number of events"""
_MOST_SINGLE = 1000
"""parts of a run that stand alone in memory; small ones take more than their rows do, so that many are made one"""


def splits_of_games(game_G: NDArray[np.uint64], fractions: tuple[float, float, float]) -> NDArray[np.intp]:
    """Which of SPLITS each game is in, by its key."""
    position_G = game_G / 2.0**64
    late = 1 if fractions[2] == 0 else 2
    return np.where(position_G < fractions[0], 0, np.where(position_G < fractions[0] + fractions[1], 1, late))


def keyed_schema(vocabulary: Vocabulary, *, hidden: bool = False) -> pa.Schema:
    """The columns of a shard, the key, and what tells rows with equal keys apart."""
    fields = [pa.field(name, pa.uint64(), nullable=False) for name in ("key", "content")]
    return pa.schema([*schema(vocabulary, hidden=hidden), *fields])


def keyed(rows: pa.RecordBatch, seed: int, vocabulary: Vocabulary) -> pa.RecordBatch:
    """Adds the key (game, round, seat and the number of events seen), and a hash of all the row's content, but for what
    is hidden: rows have the same order with it and without."""
    columns = columns_of_rows(rows, vocabulary)
    round_B = splitmix64(round_keys(columns, vocabulary) ^ splitmix64(np.array([seed], np.uint64)))
    assert vocabulary.max_progression < 1 << _LENGTH_BITS
    length_B = columns.progression.lengths.astype(np.uint64)
    key_B = (round_B >> np.uint64(_LENGTH_BITS) << np.uint64(_LENGTH_BITS)) | length_B
    content_B = splitmix64(columns.game)
    for number, name in enumerate(RAGGED):
        starts = rows[name].offsets.to_numpy()
        token = rows[name].values.to_numpy().astype(np.uint64)
        place = np.arange(len(token)) - np.repeat(starts[:-1], np.diff(starts))
        token ^= (place.astype(np.uint64) << np.uint64(16)) | np.uint64(number << 32)
        content_B = splitmix64(content_B + np.add.reduceat(splitmix64(token), starts[:-1]))
    numbers = [rows["chosen"].to_numpy()[:, None]]
    numbers += [rows[n].values.to_numpy().reshape(rows.num_rows, -1) for n in ("numeric", "results")]
    for column in np.concatenate(numbers, axis=1).T:
        content_B = splitmix64(content_B + column.astype(np.uint64))
    return pa.RecordBatch.from_arrays(
        [*rows.columns, pa.array(key_B), pa.array(content_B)],
        schema=keyed_schema(vocabulary, hidden=has_hidden(rows)),
    )


class Runs:
    """Keyed rows of all splits, in files of a folder. While one run is written, rows of the next are taken."""

    def __init__(self, folder: Path, rows_per_run: int) -> None:
        self.folder = folder
        self.files: dict[str, list[str]] = {}
        """names of the runs, by split"""
        self.rows: Counter[str] = Counter()
        """in them, by split"""
        self._rows_per_run = rows_per_run
        self._waiting: list[_Rows] = []
        self._num_waiting = 0
        self._num_single = 0
        self._writer = ThreadPoolExecutor(1)  # sorting and writing do not hold the interpreter's lock
        self._writing: Future[None] | None = None

    def add(self, rows: pa.RecordBatch, split_B: NDArray[np.intp]) -> None:
        """Takes rows with keys, each of one of SPLITS."""
        self._waiting.append((rows, split_B))
        self._num_single += 1
        if self._num_single == _MOST_SINGLE:
            self._waiting[-_MOST_SINGLE:] = [_joined(self._waiting[-_MOST_SINGLE:])]
            self._num_single = 0
        self._num_waiting += rows.num_rows
        if self._num_waiting >= self._rows_per_run:
            self._begin_run()

    def flush(self) -> None:
        """Writes all rows that were added."""
        self._begin_run()
        self._await_run()

    def close(self) -> None:
        """Awaits the run that is being written; what else was added is dropped."""
        self._writer.shutdown()

    def _begin_run(self) -> None:
        self._await_run()
        if self._waiting:
            self._writing = self._writer.submit(self._write_run, self._waiting)
            self._waiting, self._num_waiting, self._num_single = [], 0, 0

    def _await_run(self) -> None:
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def _write_run(self, waiting: "list[_Rows]") -> None:
        """Sorts rows and writes them to one file for each split."""
        rows, split_B = _joined(waiting)
        by_key = np.lexsort((rows["content"].to_numpy(), rows["key"].to_numpy()))
        for number, split in enumerate(SPLITS):
            chosen = by_key[split_B[by_key] == number]
            if len(chosen):
                files = self.files.setdefault(split, [])
                path = self.folder / f"{split}-{len(files)}.run"
                with open(path, "wb") as file:
                    with pa.ipc.new_file(file, rows.schema) as stream:
                        stream.write_batch(rows.take(pa.array(chosen)))
                    file.flush()
                    os.fsync(file.fileno())
                files.append(path.name)
                self.rows[split] += len(chosen)


_Rows = tuple[pa.RecordBatch, NDArray[np.intp]]
"""with the split of each"""


def _joined(parts: list[_Rows]) -> _Rows:
    table = pa.Table.from_batches([rows for rows, _ in parts]).combine_chunks()
    return table.to_batches()[0], np.concatenate([split_B for _, split_B in parts])


class Merge:
    """The shards that come of runs. Rows of equal key and content are repetitions, of which the first alone counts."""

    def __init__(self, runs: Runs, vocabulary: Vocabulary, packing: Packing) -> None:
        self._runs = runs
        self._vocabulary = vocabulary
        self._rows_per_shard = packing.rows_per_shard
        self._splits = [split for split in SPLITS if split in runs.files]
        self.rows: Counter[str] = Counter({split: self._num_different(split) for split in self._splits})
        """that are different, by split"""

    @property
    def repeated(self) -> Counter[str]:
        """Rows that are not, by split."""
        return self._runs.rows - self.rows

    def write(self, folder: Path, made: dict[str, Any]) -> list[Path]:
        """Writes all shards to `folder`; where there is no row, one shard of none."""
        if not self._splits:
            rows = pa.RecordBatch.from_pylist([], schema=schema(self._vocabulary))
            return [write_shard(folder, SPLITS[0], 0, 1, rows, self._vocabulary, made)]
        return [path for split in self._splits for path in self._write_split(split, folder, made)]

    def _num_different(self, split: str) -> int:
        ranges = self._ranges(split, self._runs.rows[split])
        return sum(len(_different_rows(parts)) for parts in ranges)

    def _write_split(self, split: str, folder: Path, made: dict[str, Any]) -> list[Path]:
        num_shards = sum(1 for _ in self._ranges(split, self.rows[split]))
        ranges = self._ranges(split, self.rows[split])
        paths = []
        bar = tqdm(ranges, total=num_shards, desc=f"writing {split}", unit="shard", disable=None)
        for number, parts in enumerate(bar):
            chosen = pa.array(_different_rows(parts))
            rows = pa.Table.from_batches(parts).drop_columns(["key", "content"]).combine_chunks().take(chosen)
            batch = rows.combine_chunks().to_batches()[0]
            paths.append(write_shard(folder, split, number, num_shards, batch, self._vocabulary, made))
        return paths

    def _ranges(self, split: str, num_rows: int) -> Iterator[list[pa.RecordBatch]]:
        """The parts of all runs that lie in each of equal ranges of keys, if it holds any row."""
        opened = [_mapped(self._runs.folder / name) for name in self._runs.files[split]]
        num_ranges = -(-num_rows // self._rows_per_shard)
        limits = np.array([2**64 * i // num_ranges for i in range(1, num_ranges)], np.uint64)
        cuts = [np.concatenate([[0], np.searchsorted(b["key"].to_numpy(), limits), [b.num_rows]]) for b in opened]
        for i in range(num_ranges):
            parts = [b.slice(cut[i], cut[i + 1] - cut[i]) for b, cut in zip(opened, cuts, strict=True)]
            if any(part.num_rows for part in parts):
                yield parts


def _mapped(path: Path) -> pa.RecordBatch:
    with pa.memory_map(str(path)) as file:  # the mapping outlives it, so that no number of runs is too many files
        return pa.ipc.open_file(file).get_batch(0)


def _different_rows(parts: Sequence[pa.RecordBatch]) -> NDArray[np.int64]:
    """Where the rows [S] stand in all parts, laid end to end, by key; each of equal rows once."""
    key_S, content_S = (np.concatenate([part[name].to_numpy() for part in parts]) for name in ("key", "content"))
    by_key = np.lexsort((content_S, key_S))
    key_S, content_S = key_S[by_key], content_S[by_key]
    is_first_S = np.ones(len(by_key), bool)
    is_first_S[1:] = (key_S[1:] != key_S[:-1]) | (content_S[1:] != content_S[:-1])
    return by_key[is_first_S]
