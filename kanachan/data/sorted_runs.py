"""Sorts rows into runs on disk: the first half of an external merge sort into shards (`kanachan.data.merge`).

The decisions of a seat in a round stay together and in order, because the network encodes their shared events only
once. These spans are shuffled by keys made from the game, the round, the seat and a seed, so that the result does not
depend on the input order. Rows are collected into runs, each sorted by key; a shard is one range of keys of all runs.
Memory therefore holds about one run or one shard at a time. The rounds of the games, if known, are written to separate
shards.

Shapes: B rows, G games, N rounds.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from annotate.game.results import GameSummary
from annotate.vocabulary import Vocabulary
from kanachan.config import SPLITS
from kanachan.data.columns import Columns, round_keys, spans, splitmix64
from kanachan.data.round_columns import RoundColumns, rounds_of_game
from kanachan.data.round_shards import round_schema, rows_of_rounds
from kanachan.data.shards import rows_of_columns, schema

_LENGTH_BITS = 7
"""bits of a key that hold the number of events"""
_NUMBER_BYTES = 8
"""bytes of the number before the rows of a game, which is the rows' size in bytes"""


def splits_of_games(game_G: NDArray[np.uint64], fractions: tuple[float, float, float]) -> NDArray[np.intp]:
    """Returns the index into SPLITS of each game, by its key."""
    position_G = game_G / 2.0**64
    late = 1 if fractions[2] == 0 else 2
    return np.where(position_G < fractions[0], 0, np.where(position_G < fractions[0] + fractions[1], 1, late))


def keyed_schema(vocabulary: Vocabulary, names: Collection[str]) -> pa.Schema:
    """Returns the columns of a shard (`schema`), plus the key and the hash that distinguishes rows with equal keys."""
    fields = [pa.field(name, pa.uint64(), nullable=False) for name in ("key", "content")]
    return pa.schema([*schema(vocabulary, names), *fields])


def keyed(columns: Columns, seed: int, vocabulary: Vocabulary) -> pa.RecordBatch:
    """Returns rows with their key (game, round, seat and number of events seen) and a hash of the row's content. The
    hash excludes optional columns, so that rows have the same order with and without them."""
    rows = rows_of_columns(columns, vocabulary)
    round_B = splitmix64(round_keys(columns, vocabulary) ^ splitmix64(np.array([seed], np.uint64)))
    assert vocabulary.max_progression < 1 << _LENGTH_BITS
    length_B = columns.progression.lengths.astype(np.uint64)
    key_B = (round_B >> np.uint64(_LENGTH_BITS) << np.uint64(_LENGTH_BITS)) | length_B
    content_B = splitmix64(columns.game)
    for number, column in enumerate((columns.sparse, columns.progression, columns.actions)):
        token = column.values.astype(np.uint64)
        place = spans(0, column.lengths)
        token ^= (place.astype(np.uint64) << np.uint64(16)) | np.uint64(number << 32)
        content_B = splitmix64(content_B + np.add.reduceat(splitmix64(token), column.starts[:-1]))
    for numbers in np.concatenate([columns.chosen[:, None], columns.numeric, columns.results], axis=1).T:
        content_B = splitmix64(content_B + numbers.astype(np.uint64))
    return pa.RecordBatch.from_arrays(
        [*rows.columns, pa.array(key_B), pa.array(content_B)],
        schema=keyed_schema(vocabulary, rows.schema.names),
    )


def encode_game(columns: Columns, summary: GameSummary, seed: int, vocabulary: Vocabulary) -> bytes:
    """Encodes the keyed decisions of a game and its rounds as two Arrow messages, for `Runs.add_game`."""
    rounds = rounds_of_game(int(columns.game[0]), summary)
    decisions: bytes = keyed(columns, seed, vocabulary).serialize().to_pybytes()
    of_rounds: bytes = rows_of_rounds(rounds, vocabulary).serialize().to_pybytes()
    return len(decisions).to_bytes(_NUMBER_BYTES, "little") + decisions + of_rounds


_Rows = tuple[pa.RecordBatch, NDArray[np.intp]]
"""rows and the split of each row"""


class Runs:
    """Keyed rows of all splits, in files of a folder. While one run is written, the next one collects rows."""

    def __init__(self, folder: Path, rows_per_run: int) -> None:
        self.folder = folder
        self.files: dict[str, list[str]] = {}
        """names of the runs, by split"""
        self.rows: Counter[str] = Counter()
        """number of rows in the runs, by split"""
        self.games: Counter[str] = Counter()
        """number of whole games that were added, by split"""
        self.round_files: dict[str, list[str]] = {}
        """names of the files with the known rounds of these rows, by split"""
        self._rows_per_run = rows_per_run
        self._waiting: list[_Rows] = []
        self._waiting_rounds: dict[str, list[pa.RecordBatch]] = defaultdict(list)
        self._num_waiting = 0
        self._writer = ThreadPoolExecutor(1)  # sorting and writing do not hold the interpreter's lock
        self._writing: Future[None] | None = None

    def add(self, rows: pa.RecordBatch, split_B: NDArray[np.intp]) -> None:
        """Adds rows with keys; `split_B`: the index of each row's split in SPLITS."""
        self._waiting.append((rows, split_B))
        self._num_waiting += rows.num_rows
        if self._num_waiting >= self._rows_per_run:
            self._start_run()

    def add_game(
        self, message: bytes, fields: pa.Schema, fractions: tuple[float, float, float], vocabulary: Vocabulary
    ) -> None:
        """Adds a game encoded by `encode_game`, whose rows have these fields."""
        end = _NUMBER_BYTES + int.from_bytes(message[:_NUMBER_BYTES], "little")
        rows = pa.ipc.read_record_batch(pa.py_buffer(message[_NUMBER_BYTES:end]), fields)
        split_B = splits_of_games(rows["game"].to_numpy(), fractions)
        split = SPLITS[split_B[0]]
        rounds = pa.ipc.read_record_batch(pa.py_buffer(message[end:]), round_schema(vocabulary))
        self._waiting_rounds[split].append(rounds)
        self.games[split] += 1
        self.add(rows, split_B)

    def add_rounds(self, rounds: RoundColumns, split_N: NDArray[np.intp], vocabulary: Vocabulary) -> None:
        """Adds rounds; the caller must add each game's rounds only once. `split_N`: indices into SPLITS."""
        for number, split in enumerate(SPLITS):
            if (split_N == number).any():
                self._waiting_rounds[split].append(rows_of_rounds(rounds.take(split_N == number), vocabulary))

    def as_json(self) -> dict[str, Any]:
        """Describes the contents of the folder after `flush`, for `add_files`."""
        return {"files": self.files, "round files": self.round_files, "rows": self.rows, "games": self.games}

    def add_files(self, saved: Mapping[str, Any]) -> None:
        """Adds the files that earlier `Runs` have written in this folder."""
        for files, names_of in ((self.files, saved["files"]), (self.round_files, saved["round files"])):
            for split, names in names_of.items():
                files.setdefault(split, []).extend(names)
        self.rows.update(saved["rows"])
        self.games.update(saved["games"])

    def flush(self) -> None:
        """Writes all added rows."""
        self._start_run()
        self._await_run()

    def close(self) -> None:
        """Waits for the run that is being written, and discards other added rows."""
        self._writer.shutdown()

    def _start_run(self) -> None:
        self._await_run()
        if self._waiting or self._waiting_rounds:
            self._writing = self._writer.submit(self._write_run, self._waiting, self._waiting_rounds)
            self._waiting, self._num_waiting = [], 0
            self._waiting_rounds = defaultdict(list)

    def _await_run(self) -> None:
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def _write_run(self, waiting: list[_Rows], rounds: dict[str, list[pa.RecordBatch]]) -> None:
        """Sorts rows and writes them to one file for each split; does the same with rounds, sorted by game."""
        if waiting:
            table = pa.Table.from_batches([rows for rows, _ in waiting]).combine_chunks()
            self._write_rows(table.to_batches()[0], np.concatenate([split_B for _, split_B in waiting]))
        for split, parts in rounds.items():
            table = pa.Table.from_batches(parts).combine_chunks()
            by_game = np.argsort(table["game"].to_numpy(), kind="stable")
            files = self.round_files.setdefault(split, [])
            files.append(f"{split}-{len(files)}.rounds.run")
            self._write(files[-1], table.take(pa.array(by_game)).combine_chunks().to_batches()[0])

    def _write_rows(self, rows: pa.RecordBatch, split_B: NDArray[np.intp]) -> None:
        by_key = np.lexsort((rows["content"].to_numpy(), rows["key"].to_numpy()))
        for number, split in enumerate(SPLITS):
            chosen = by_key[split_B[by_key] == number]
            if len(chosen):
                files = self.files.setdefault(split, [])
                files.append(f"{split}-{len(files)}.run")
                self._write(files[-1], rows.take(pa.array(chosen)))
                self.rows[split] += len(chosen)

    def _write(self, name: str, rows: pa.RecordBatch) -> None:
        with open(self.folder / name, "wb") as file:
            with pa.ipc.new_file(file, rows.schema) as stream:
                stream.write_batch(rows)
            file.flush()
            os.fsync(file.fileno())
