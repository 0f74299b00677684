"""One function over many items on all cores: results in the order of the items, memory bounded."""

import signal
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

_ITEMS_PER_TASK = 4
_TASKS_AHEAD = 4  # per process: what is finished early waits in memory, so it may not be much

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(function: Callable[[Item], Result], items: Sequence[Item], num_jobs: int) -> Generator[Result]:
    """Yields function(item) for each of `items`, in their order, whatever the number of processes.

    Close the generator when it is not read to its end (`contextlib.closing`), so that the processes end at once.

    Raises:
        OSError: a process was killed.
    """
    if num_jobs == 1 or len(items) <= 1:
        yield from map(function, items)
        return
    starts = deque(range(0, len(items), _ITEMS_PER_TASK))
    pending: deque[Future[list[Result]]] = deque()
    with ProcessPoolExecutor(num_jobs, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)) as pool:
        try:
            while starts or pending:
                while starts and len(pending) < num_jobs * _TASKS_AHEAD:
                    start = starts.popleft()
                    pending.append(pool.submit(_all_of, function, items[start : start + _ITEMS_PER_TASK]))
                yield from pending.popleft().result()
        except BrokenProcessPool:
            raise OSError("a worker process was killed (out of memory?): try fewer --jobs") from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _all_of(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    return [function(item) for item in items]
