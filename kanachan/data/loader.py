"""Loads batches from shards: in an order that depends only on seed, epoch and step, or in the order of the rows.

Neighbouring rows are mostly decisions of one seat in one round, whose shared part the network computes once. Rows are
therefore shuffled in units of a few neighbours. This module does not use Lightning.

Shapes: B rows of a request, S steps, G rows of a global batch, M micro-batches of a rank in a step, C rows of a
micro-batch, R runs of rows of one seat in one round.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from annotate.vocabulary import Vocabulary
from kanachan.config import DataConfig
from kanachan.data.batch import Batch, TokenLayout, collate, with_varlen_layout
from kanachan.data.columns import Columns
from kanachan.data.sampler import EpochSampler, batches_of_rank, by_round
from kanachan.data.shard_folder import SPLIT_ADVICE
from kanachan.data.shards import Shards, open_shards
from kanachan.data.symmetry import SeatRotation

PartT = TypeVar("PartT")
_ROWS_AT_ONCE = 8192  # enough to make the cost of a call negligible, for any number of shards
_BATCHES_PER_WINDOW = 16  # an evaluation sorts rows by length within windows of so many batches


@dataclass(frozen=True)
class Labeller:
    """Computes soft labels of decisions (`kanachan.data.columns.Columns.label`)."""

    fingerprint: str
    """identifies the computation of the labels: a run is resumed only with the same labels"""
    labels_of: Callable[[Columns], NDArray[np.float32]]
    """function from decisions as annotated, before seats are rotated, to label_BL"""


@dataclass(frozen=True)
class Share:
    """The part of the batches that a process gets."""

    rank: int
    world: int
    """number of processes that share the batches"""
    pin: bool = False
    """whether tensors are put into page-locked memory, from which a GPU copies them asynchronously"""


class StepLoader:
    """Loads the micro-batches of this rank, epoch after epoch, and can be resumed. Each iterator ends with the epoch;
    rows that do not fill a last batch are skipped, different rows in each epoch.

    The state is the number of complete steps that were yielded, the same on every rank and for any number of ranks. A
    state taken within a step excludes that step, so save the state at the end of a step. `identity` contains plain
    values that determine the order of the rows, besides batch and seed.
    """

    def __init__(self, num_rows: int, config: DataConfig, seed: int, share: Share, identity: dict[str, Any]) -> None:
        batch, micro_batch = config.sizes
        assert batch % (micro_batch * share.world) == 0
        self.steps_per_epoch = num_rows // batch
        self.step = 0
        """steps yielded since the start of the run, over all epochs"""
        self._batch, self._micro_batch, self._seed, self._share = batch, micro_batch, seed, share
        self._micro_batches_per_step = batch // (micro_batch * share.world)
        self._identity = {**identity, "batch": batch, "seed": seed}

    def __len__(self) -> int:
        """Returns the number of micro-batches per epoch on this rank. (Without it, Lightning takes one batch more.)"""
        return self.steps_per_epoch * self._micro_batches_per_step

    def state_dict(self) -> dict[str, Any]:
        return {"step": self.step, **self._identity}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resumes after the step of the state. Raises ValueError if data, batch or seed, and so the order, differ."""
        for name, value in self._identity.items():
            if state_dict.get(name) != value:
                raise ValueError(
                    f"the run was started with {name}={state_dict.get(name)} of the train data, now it is {value}: it "
                    "cannot be resumed in the same order"
                )
        self.step = state_dict["step"]


class TrainLoader(StepLoader):
    """Loads micro-batches of decisions, prepared one chunk ahead in a thread.

    Step t of an epoch consists of the rows at places t * batch … of the epoch's order. The rows are sorted by length,
    but not for varlen attention, where all micro-batches should need about equal memory and time. They are divided into
    micro-batches, of which this rank gets every `world`-th. Raises ValueError if there are fewer rows than one batch.
    """

    def __init__(
        self,
        shards: Shards,
        config: DataConfig,
        seed: int,
        share: Share,
        *,
        varlen: bool = False,
        labeller: Labeller | None = None,
    ) -> None:
        if len(shards) < config.sizes[0]:
            raise ValueError(
                f"the {shards.split} split has {len(shards)} decisions, fewer than one batch of "
                f"data.batch={config.sizes[0]}"
            )
        labels = {} if labeller is None else {"labels": labeller.fingerprint}
        identity = {"rows": len(shards), "checksum": shards.checksum, **labels}
        super().__init__(len(shards), config, seed, share, identity)
        self._shards = shards
        self._varlen = varlen
        self._preparation = _Preparation(shards, varlen, labeller)
        self._order = EpochSampler(len(shards), seed, unit=config.neighbours)

    def __iter__(self) -> Iterator[Batch]:
        # Lightning may make iterators and take no batch from them: nothing happens before the first batch.
        epoch, first = divmod(self.step, self.steps_per_epoch)
        chunk, steps = max(1, _ROWS_AT_ONCE // self._batch), self.steps_per_epoch
        parts = [(start, min(start + chunk, steps)) for start in range(first, steps, chunk)]
        prepared = _one_ahead(lambda part: self._prepare(epoch, *part), parts)
        for (start, _), batches in zip(parts, prepared, strict=True):
            for number, batch in enumerate(batches, start=1):
                if number % self._micro_batches_per_step == 0:
                    # set before the yield: a checkpoint is made while the generator waits there
                    self.step = epoch * steps + start + number // self._micro_batches_per_step
                yield batch

    def _prepare(self, epoch: int, first: int, last: int) -> list[Batch]:
        """Prepares the micro-batches of this rank in the steps `first` up to, but not including, `last`."""
        row_B = self._order.rows(epoch, first * self._batch, last * self._batch)
        if not self._varlen:
            row_B = row_B[by_round(self._shards, row_B, self._batch)]
        row_SG = row_B.reshape(-1, self._batch)
        row_SMC = row_SG.reshape(len(row_SG), -1, self._micro_batch)[:, self._share.rank :: self._share.world]
        ends = range(self._micro_batch, row_SMC.size + 1, self._micro_batch)
        batches = self._preparation.batches(row_SMC.ravel(), ends)
        return [batch.pin_memory() for batch in batches] if self._share.pin else batches


def open_held_out(folder: str | Path, split: str, vocabulary: Vocabulary, hidden: bool = False) -> Shards:
    """Opens a split of a folder of shards for an evaluation. Raises ValueError, naming the file, if the split is empty,
    or a shard is damaged or of another vocabulary."""
    shards = open_shards(folder, split, verify=True, hidden=hidden)
    shards.require(vocabulary, "the weights")
    if not len(shards):
        raise ValueError(f"{folder}: the split {split!r} is empty: {SPLIT_ADVICE}")
    return shards


def held_out_columns(folder: str | Path, split: str, vocabulary: Vocabulary, hidden: bool = False) -> Columns:
    """Reads the decisions of a split (`open_held_out`) in the order of `by_round`."""
    shards = open_held_out(folder, split, vocabulary, hidden)
    rows = np.arange(len(shards))
    return shards.gather(rows[by_round(shards, rows, len(rows))])


class EvalLoader:
    """Loads all rows once, or the first `limit`, always in the same batches, for validation and tests. Rows are sorted
    by length within a window of batches. All ranks get the same number of batches, whose sizes may differ by one row;
    no row is repeated. Raises ValueError if there are fewer rows than ranks."""

    def __init__(
        self,
        shards: Shards,
        *,
        batch: int,
        share: Share,
        limit: int | None,
        varlen: bool,
        labeller: Labeller | None,
    ) -> None:
        num_rows = len(shards) if limit is None else min(limit, len(shards))
        self.num_rows = num_rows
        """number of rows over all ranks"""
        self._shards = shards
        self._preparation = _Preparation(shards, varlen, labeller)
        self._rows = batches_of_rank(num_rows, batch, share.rank, share.world)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Batch]:
        starts = range(0, len(self._rows), _BATCHES_PER_WINDOW)
        windows = [self._rows[start : start + _BATCHES_PER_WINDOW] for start in starts]
        yield from chain.from_iterable(_one_ahead(self._prepare, windows))

    def _prepare(self, rows: Sequence[NDArray[np.int64]]) -> list[Batch]:
        row_B = np.concatenate(rows)
        row_B = row_B[by_round(self._shards, row_B, len(row_B))]
        return self._preparation.batches(row_B, np.cumsum([len(part) for part in rows]).tolist())


class _Preparation:
    """Makes batches from rows of shards."""

    def __init__(self, shards: Shards, varlen: bool, labeller: Labeller | None) -> None:
        self._shards = shards
        self._layout = TokenLayout(shards.vocabulary)
        self._seats = SeatRotation(shards.vocabulary)
        self._varlen = varlen
        self._labeller = labeller

    def batches(self, row_B: NDArray[np.int64], ends: Iterable[int]) -> list[Batch]:
        """Returns the batches of the rows up to each of `ends`."""
        columns = self._shards.gather(row_B)
        if self._labeller is not None:
            columns = replace(columns, label=self._labeller.labels_of(columns))
        columns = self._seats.actor_first(columns)
        batches = [collate(columns.rows(first, end), self._layout) for first, end in pairwise([0, *ends])]
        return [with_varlen_layout(batch, self._layout) for batch in batches] if self._varlen else batches


def _one_ahead(prepare: Callable[[PartT], list[Batch]], parts: Iterable[PartT]) -> Iterator[list[Batch]]:
    """Yields the batches of each part while a thread prepares the next part."""
    with ThreadPoolExecutor(1, thread_name_prefix="batches") as thread:
        waiting: deque[Future[list[Batch]]] = deque()
        for part in parts:
            waiting.append(thread.submit(prepare, part))
            if len(waiting) > 1:
                yield waiting.popleft().result()
        for prepared in waiting:
            yield prepared.result()
