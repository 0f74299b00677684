"""Benchmark of shards to batches, in decisions a second, next to parsing the text."""

from collections.abc import Iterator
from itertools import chain, islice, repeat
from pathlib import Path

from estimates import Estimate, in_turns

from annotate.annotation import parse_line
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.data.batch import Batch, batch_of_annotations
from kanachan.data.loader import TrainLoader
from kanachan.data.shards import open_shards
from kanachan.training.batch_sizes import DEFAULT_BATCH

_NUM_BATCHES = 400


def measure_data(lines: list[str], shards: Path, repeats: int) -> Estimate:
    """Measures decisions a second from shards to augmented batches, against parsing as many lines of text."""
    size = DEFAULT_BATCH
    plain_batches = min(_NUM_BATCHES // 20, len(lines) // size)
    batches = batches_of(shards, size, size)

    def parse() -> None:
        for first in range(0, plain_batches * size, size):
            batch_of_annotations([parse_line(line, FOUR_PLAYERS) for line in lines[first : first + size]], FOUR_PLAYERS)

    def read() -> None:
        for _ in islice(batches, _NUM_BATCHES):
            pass

    ours, plain = in_turns(read, parse, repeats)
    return Estimate(
        part="data",
        what=f"shards to batches of {size}, suits permuted",
        unit="decisions/s",
        ours=_NUM_BATCHES * size / ours,
        plain="parsing the lines of text and making the same batches, without augmentation",
        plainly=plain_batches * size / plain,
        more={"batches/s": _NUM_BATCHES / ours, "plain batches/s": plain_batches / plain},
    )


def batches_of(shards: Path, batch: int, micro_batch: int, actor_first: bool = False) -> Iterator[Batch]:
    """Yields the micro-batches of training, epoch after epoch."""
    batches = TrainLoader(
        open_shards(shards, "train"),
        batch=batch,
        micro_batch=micro_batch,
        seed=0,
        exchange_suits=True,
        actor_first=actor_first,
    )
    return chain.from_iterable(repeat(batches))
