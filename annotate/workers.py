"""One function over many items on all cores: results in the order of the items, memory bounded."""

import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from typing import TypeVar

_ITEMS_PER_TASK = 4
_TASKS_AHEAD = 4  # per process: what is finished early waits in memory, so it may not be much

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(function: Callable[[Item], Result], items: Iterable[Item], num_jobs: int) -> Generator[Result]:
    """Yields function(item) for each of `items`, in their order, whatever the number of processes.

    Items are asked for only as they are needed.

    Close the generator when it is not read to its end (`contextlib.closing`), so that the processes end at once.

    Raises:
        OSError: a process was killed.
    """
    rest = iter(items)
    first = list(islice(rest, 2 if num_jobs > 1 else 0))
    if len(first) <= 1:
        yield from map(function, chain(first, rest))
        return
    tasks = _in_groups(chain(first, rest))
    pending: deque[Future[list[Result]]] = deque()
    with ProcessPoolExecutor(num_jobs, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)) as pool:
        try:
            while True:
                for group in islice(tasks, num_jobs * _TASKS_AHEAD - len(pending)):
                    pending.append(pool.submit(_all_of, function, group))
                if not pending:
                    return
                yield from pending.popleft().result()
        except BrokenProcessPool:
            raise OSError("a worker process was killed (out of memory?): try fewer --jobs") from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _in_groups(items: Iterable[Item]) -> Generator[list[Item]]:
    rest = iter(items)
    while group := list(islice(rest, _ITEMS_PER_TASK)):
        yield group


def _all_of(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    return [function(item) for item in items]
