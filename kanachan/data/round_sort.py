"""An external merge sort of first decisions into shards of rounds.

The first decision of each seat in each round (`kanachan.data.round_derivation`), a fourteenth of all, is kept in files
sorted by game, unless the rounds of its game are stored (`kanachan.data.stored_rounds`); a shard of rounds is one range
of games of all of them. So memory holds the first decisions of one shard at a time, about as many as a shard of
decisions has rows, at 81 bytes each, and a few copies of them.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotate.vocabulary import Vocabulary
from kanachan.data.round_columns import RoundColumns, concatenated
from kanachan.data.round_derivation import Firsts, first_dtype, rounds_of
from kanachan.data.round_shards import write_rounds
from kanachan.data.stored_rounds import StoredRounds

_Range = tuple[list[Firsts], list[RoundColumns]]
"""first decisions, and stored rounds of other games"""


class RoundSort:
    """The first decisions of the splits, in files of a folder.

    Args:
        stored: rounds that need no decisions.
    """

    def __init__(self, folder: Path, vocabulary: Vocabulary, rows_per_shard: int, stored: StoredRounds) -> None:
        self._folder = folder
        self._vocabulary = vocabulary
        self._rows_per_shard = rows_per_shard
        self._stored = stored
        self._files: dict[str, list[Path]] = {}
        self._num_firsts: Counter[str] = Counter()
        self.rounds: Counter[str] = Counter()
        """number of rounds written, by split"""
        self.left_out: Counter[str] = Counter()
        """number of games without rounds, by split"""

    def add(self, split: str, firsts: Firsts, num_others: int = 0) -> None:
        """Adds decisions, among which are the first ones of their rounds and seats, or some of them.

        Args:
            num_others: how many more there are, of games whose rounds are stored.
        """
        self._num_firsts[split] += len(firsts) + num_others
        if not len(firsts):
            return
        files = self._files.setdefault(split, [])
        path = self._folder / f"{split}-rounds-{len(files)}.run"
        firsts[np.argsort(firsts["game"], kind="stable")].tofile(path)
        files.append(path)

    def write(self, split: str, folder: Path, made: dict[str, Any]) -> list[Path]:
        """Writes all shards of the rounds of a split into the subfolder of `folder`, at least one; removes the files
        of `add`."""
        nothing: Firsts = np.zeros(0, first_dtype(self._vocabulary))
        ranges: list[_Range] = [*self._ranges(split)] or [([], [])]
        paths = []
        for number, (firsts, stored) in enumerate(ranges):
            rounds, left_out = rounds_of(np.concatenate([nothing, *firsts]))
            if stored:
                rounds = concatenated([rounds, *stored])
                rounds = rounds.take(np.argsort(rounds.game, kind="stable"))
            self.rounds[split] += len(rounds)
            self.left_out[split] += left_out
            paths.append(write_rounds(folder, split, number, len(ranges), rounds, self._vocabulary, made))
        for path in self._files.pop(split, []):
            path.unlink()
        return paths

    def _ranges(self, split: str) -> Iterator[_Range]:
        """Yields the parts of all files, and the stored rounds, that are in each of equal ranges of games, if it
        contains any."""
        dtype = first_dtype(self._vocabulary)
        opened: list[Firsts] = [np.memmap(path, dtype, mode="r") for path in self._files.get(split, [])]
        num_ranges = -(-self._num_firsts[split] // self._rows_per_shard)
        limits: NDArray[np.uint64] = np.array([2**64 * i // num_ranges for i in range(1, num_ranges)], np.uint64)
        cuts = [np.concatenate([[0], np.searchsorted(part["game"], limits), [len(part)]]) for part in opened]
        for i, stored in enumerate(self._stored.ranges(split, limits)):
            parts = [part[cut[i] : cut[i + 1]] for part, cut in zip(opened, cuts, strict=True)]
            if stored or any(map(len, parts)):
                yield parts, stored
