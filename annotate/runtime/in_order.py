"""Parallel application of a function to many items, with results in the order of the items."""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import Any, TypeVar

from annotate.runtime.process_pool import ProcessPool
from annotate.runtime.signals import StopRequest

_AHEAD = 4  # items per process: one in progress, and some for the time that the caller needs for a result
_EARLY = 16  # items per process that may be done before the item whose result comes next

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class _Numbered:
    index: int
    name: str
    item: Any = field(default=None, compare=False)

    def __str__(self) -> str:
        return self.name


def in_order(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    num_processes: int,
    name: Callable[[Item], str] = str,
    stop: StopRequest | None = None,
) -> Generator[Result]:
    """Yields function(item) for each of `items`, in their order for any number of processes, until all are done or a
    stop is requested. Items are read as needed, and few results wait in memory. Close the generator if it is not read
    to its end (`contextlib.closing`). `name`: names an item in messages. Raises the errors of `ProcessPool.results`."""
    rest = iter(items)
    first = list(islice(rest, 2 if num_processes > 1 else 0))
    if len(first) <= 1:
        yield from map(function, chain(first, rest))
        return
    next_index = 0

    def units() -> Iterator[_Numbered | None]:
        for index, item in enumerate(chain(first, rest)):
            while index >= next_index + num_processes * _EARLY:
                yield None
            yield _Numbered(index, name(item), item)

    pool = ProcessPool([partial(_apply, function)], num_processes, _AHEAD)
    early: dict[int, Result] = {}
    with closing(pool.results(units(), stop or StopRequest())) as results:
        for unit, result in results:
            early[unit.index] = result
            while next_index in early:
                yield early.pop(next_index)
                next_index += 1


def _apply(
    function: Callable[[Item], Result], units: Iterator[_Numbered], stop: StopRequest
) -> Generator[tuple[_Numbered, Result]]:
    for unit in units:
        yield replace(unit, item=None), function(unit.item)  # the item need not be sent back
