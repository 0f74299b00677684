"""Merges sorted runs into shards: the second half of an external merge sort (`kanachan.data.sorted_runs`).

Shapes: S sorted rows of a shard.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tqdm import tqdm

from annotate.vocabulary import Vocabulary
from kanachan.config import SPLITS
from kanachan.data.dataset_card import README_NAME, Table, dataset_card
from kanachan.data.pack_options import Packing, Tally
from kanachan.data.round_columns import concatenated
from kanachan.data.round_shards import rounds_of_rows, write_rounds
from kanachan.data.shard_folder import MOST_SHARDS, ROUNDS
from kanachan.data.shards import schema, write_shard
from kanachan.data.sorted_runs import Runs


class Merge:
    """Merges runs into shards of decisions and of rounds. Of rows with equal key and content, only the first is
    written."""

    def __init__(self, runs: Runs, vocabulary: Vocabulary, packing: Packing) -> None:
        self._runs = runs
        self._vocabulary = vocabulary
        self._rows_per_shard, self._seed = packing.rows_per_shard, packing.seed
        self._splits = [split for split in SPLITS if split in runs.files]
        rows = Counter[str]()
        for split in self._splits:
            rows[split] = sum(len(_distinct_rows(parts)) for parts in self._ranges(split, runs.rows[split]))
        self.tally = Tally(rows, runs.rows - rows, runs.games)
        """counts of the packed data; counts of rounds only after `write`"""

    def write(self, folder: Path, sources: object, splits: object, more: Mapping[str, Any]) -> list[str]:
        """Writes all shards, or one empty shard if there are no rows, and their card to `folder`; returns the names of
        the written files. The other arguments belong to the description of the data's origin in every shard."""
        made = {
            "sources": sources,
            "splits": splits,
            "seed": self._seed,
            "decisions": dict(self.tally.rows),
            "games": dict(self.tally.games),
            "version": version("kanachan"),
            **more,
        }
        shards = [path for split in self._splits for path in self._write_split(split, folder, made)]
        if not shards:
            rows = pa.RecordBatch.from_pylist([], schema=schema(self._vocabulary))
            shards = [write_shard(folder, SPLITS[0], 0, 1, rows, self._vocabulary, made)]
        rounds = [path for split in self._splits for path in self._write_rounds(split, folder, made)]
        tables = [Table("default", "", shards, self.tally.rows or {SPLITS[0]: 0})]
        if rounds:
            tables.append(Table(ROUNDS, f"{ROUNDS}/", rounds, self.tally.rounds))
        card = folder / README_NAME
        card.write_text(dataset_card(tables, self._vocabulary, made), encoding="utf-8", errors="replace")
        return [str(path.relative_to(folder)) for path in (*shards, *rounds, card)]

    def _write_split(self, split: str, folder: Path, made: dict[str, Any]) -> list[Path]:
        num_shards = sum(1 for _ in self._ranges(split, self.tally.rows[split]))
        if num_shards > MOST_SHARDS:
            raise ValueError(
                f"--rows-per-shard {self._rows_per_shard}: {num_shards:,} shards of a split; give more rows"
            )
        ranges = self._ranges(split, self.tally.rows[split])
        paths = []
        bar = tqdm(ranges, total=num_shards, desc=f"writing {split}", unit="shard", disable=None)
        for number, parts in enumerate(bar):
            chosen = pa.array(_distinct_rows(parts))
            rows = pa.Table.from_batches(parts).combine_chunks().take(chosen).combine_chunks().to_batches()[0]
            rows = pa.RecordBatch.from_arrays(rows.columns[:-2], schema=pa.schema([*rows.schema][:-2]))
            paths.append(write_shard(folder, split, number, num_shards, rows, self._vocabulary, made))
        return paths

    def _write_rounds(self, split: str, folder: Path, made: dict[str, Any]) -> list[Path]:
        parts = [rounds_of_rows(_mapped(self._runs.folder / name)) for name in self._runs.round_files.get(split, [])]
        limits = self._limits(sum(map(len, parts)))
        cuts = [_cuts(part.game, limits) for part in parts]
        ranges = []
        for i in range(len(limits) + 1 if parts else 0):
            rounds = concatenated([part.rows(cut[i], cut[i + 1]) for part, cut in zip(parts, cuts, strict=True)])
            if len(rounds):
                ranges.append(rounds.take(np.argsort(rounds.game, kind="stable")))
        self.tally.rounds[split] = sum(map(len, ranges))
        return [
            write_rounds(folder, split, number, len(ranges), rounds, self._vocabulary, made)
            for number, rounds in enumerate(ranges)
        ]

    def _limits(self, num_rows: int) -> NDArray[np.uint64]:
        """Returns the starts of equal key ranges, except the first; each range has about the rows of one shard."""
        num_ranges = -(-num_rows // self._rows_per_shard)
        return np.array([2**64 * i // num_ranges for i in range(1, num_ranges)], np.uint64)

    def _ranges(self, split: str, num_rows: int) -> Iterator[list[pa.RecordBatch]]:
        """Yields for each of equal key ranges the parts of all runs in it, unless it is empty.

        Every range maps the runs again, so that pages read before no longer count as resident.
        """
        paths = [self._runs.folder / name for name in self._runs.files[split]]
        limits = self._limits(num_rows)
        cuts = [_cuts(_mapped(path)["key"].to_numpy(), limits) for path in paths]
        for i in range(len(limits) + 1):
            parts = [_mapped(path).slice(cut[i], cut[i + 1] - cut[i]) for path, cut in zip(paths, cuts, strict=True)]
            if any(part.num_rows for part in parts):
                yield parts


def _cuts(key_S: NDArray[np.uint64], limits: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Returns the starts of ranges of sorted keys, and the end of the last range."""
    return np.concatenate([[0], np.searchsorted(key_S, limits), [len(key_S)]])


def _mapped(path: Path) -> pa.RecordBatch:
    with pa.memory_map(str(path)) as file:  # the mapping outlives the file, so that any number of runs can be open
        return pa.ipc.open_file(file).get_batch(0)


def _distinct_rows(parts: Sequence[pa.RecordBatch]) -> NDArray[np.int64]:
    """Returns the places of the rows [S] in the concatenated parts, sorted by key, without repetitions of rows."""
    key_S, content_S = (np.concatenate([part[name].to_numpy() for part in parts]) for name in ("key", "content"))
    by_key = np.lexsort((content_S, key_S))
    key_S, content_S = key_S[by_key], content_S[by_key]
    is_first_S = np.ones(len(by_key), bool)
    is_first_S[1:] = (key_S[1:] != key_S[:-1]) | (content_S[1:] != content_S[:-1])
    return by_key[is_first_S]
