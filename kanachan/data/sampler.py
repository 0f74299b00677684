"""The order in which a run reads the rows of its shards: a function only of seed, epoch and step.

Shapes: B rows of a request, R runs of rows of one seat in one round.
"""

import numpy as np
from numpy.typing import NDArray

from kanachan.data.shards import Shards

BLOCK = 4096  # consecutive rows that are read together: about a megabyte
BLOCKS_PER_WINDOW = 256  # units are permuted inside a window: about a million rows
_FOR_BLOCKS, _FOR_UNITS = 0, 1  # purposes of random numbers, part of their seed, so that no two uses share a stream


class EpochSampler:
    """A permutation of `num_rows` rows for each epoch; any span of it can be computed.

    Blocks of neighbouring rows are permuted, then units of rows inside windows of many blocks: reads from memory and
    disk stay within windows instead of jumping over all rows.
    """

    def __init__(
        self, num_rows: int, seed: int, unit: int = 8, block: int = BLOCK, blocks_per_window: int = BLOCKS_PER_WINDOW
    ) -> None:
        assert block % unit == 0
        self.num_rows = num_rows
        self.seed = seed
        self.unit = unit
        self.block = block
        self.blocks_per_window = blocks_per_window
        self._epoch: int | None = None
        self._blocks = np.empty(0, np.int64)
        self._first = np.empty(0, np.int64)
        self._windows: dict[int, NDArray[np.int64]] = {}

    def rows(self, epoch: int, first: int, last: int) -> NDArray[np.int64]:
        """Returns the rows at places `first` up to, but not including, `last` of the epoch."""
        assert 0 <= first <= last <= self.num_rows
        if epoch != self._epoch:
            self._start(epoch)
        start, stop = np.searchsorted(self._first, [first, last - 1], side="right") - 1
        self._windows = {w: self._windows[w] if w in self._windows else self._window(w) for w in range(start, stop + 1)}
        found = [self._windows[w][max(first - self._first[w], 0) : last - self._first[w]] for w in self._windows]
        return np.concatenate(found) if found else np.empty(0, np.int64)

    def _start(self, epoch: int) -> None:
        num_blocks = -(-self.num_rows // self.block)
        self._epoch = epoch
        self._windows = {}
        self._blocks = np.random.default_rng((self.seed, epoch, _FOR_BLOCKS)).permutation(num_blocks)
        sizes = np.minimum(self.num_rows - self._blocks * self.block, self.block)  # the last block may be short
        starts = np.arange(0, num_blocks, self.blocks_per_window)
        self._first = np.concatenate([[0], np.cumsum(np.add.reduceat(sizes, starts))])[:-1]

    def _window(self, window: int) -> NDArray[np.int64]:
        first = window * self.blocks_per_window
        blocks = self._blocks[first : first + self.blocks_per_window]
        firsts = (blocks[:, None] * self.block + np.arange(0, self.block, self.unit)).ravel()
        assert self._epoch is not None
        firsts = np.random.default_rng((self.seed, self._epoch, _FOR_UNITS, window)).permutation(firsts)
        rows = (firsts[:, None] + np.arange(self.unit)).ravel()
        return rows[rows < self.num_rows]


def batches_of_rank(num_rows: int, batch: int, rank: int, world: int) -> list[NDArray[np.int64]]:
    """Divides rows into batches of about equal size, equally many for each rank; returns the batches of one rank.
    Raises ValueError if there are fewer rows than ranks."""
    if num_rows < world:
        raise ValueError(
            f"validations have {num_rows} rows, fewer than the {world} devices: raise data.validation_batch or "
            "run.validate_batches, make a larger validation split, or take fewer devices (run.devices)"
        )
    mine = np.arange(num_rows * rank // world, num_rows * (rank + 1) // world)
    num_batches = min(-(-num_rows // (batch * world)), num_rows // world)  # so that no batch is empty
    return np.array_split(mine, num_batches)


def by_round(shards: Shards, row_B: NDArray[np.int64], batch: int) -> NDArray[np.int64]:
    """Returns the order that sorts each `batch` of the rows by the number of events and keeps runs together.

    A run consists of consecutive rows of one game in a shard, in which no row sees fewer events than the previous one.
    """
    length_B, game_B = shards.num_events(row_B), shards.games(row_B)
    step_B = np.arange(len(row_B)) // batch
    is_first_B = np.ones(len(row_B), bool)
    is_first_B[1:] = (np.diff(row_B) != 1) | (np.diff(length_B) < 0) | (np.diff(step_B) > 0)
    is_first_B[1:] |= game_B[1:] != game_B[:-1]
    run_B = np.cumsum(is_first_B) - 1
    longest_R = np.maximum.reduceat(length_B, np.flatnonzero(is_first_B)) if len(row_B) else length_B
    return np.lexsort((run_B, longest_R[run_B], step_B))
