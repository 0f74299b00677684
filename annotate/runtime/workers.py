"""Parallel application of a function to many items: results in the order of the items, memory bounded."""

import math
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from itertools import chain, islice
from multiprocessing import connection, parent_process
from pathlib import Path
from typing import TypeVar

_ITEMS_PER_TASK = 4
_TASKS_AHEAD = 4  # per process: early results wait in memory, so this is small
_MOST_LOSSES = 3  # of processes with the same item
_SIGNAL_SECONDS = 0.2  # a signal sent to all our processes may end a worker before its handler runs here

Item = TypeVar("Item")
Result = TypeVar("Result")


def num_cores() -> int:
    """Returns the number of cores that this process may use, which taskset, Slurm or a container may limit."""
    # macOS does not bind processes to cores
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, cpu_quota() or cores)


def cpu_quota(file: Path = Path("/sys/fs/cgroup/cpu.max")) -> int | None:
    """Returns the number of cores whose time the container may use, rounded up; None without a limit."""
    try:
        quota, period = file.read_text().split()
    except (OSError, ValueError):
        return None
    return None if quota == "max" else math.ceil(int(quota) / int(period))


def free_memory(cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """Returns how many bytes of main memory are free, which a container may limit."""
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError):  # where there is no such file, all of it
        free = 1024 * _number_of(Path("/proc/meminfo"), "MemAvailable:")
    with suppress(OSError, ValueError):  # there is no limit: "max"
        limit, used = (int((cgroup / name).read_text()) for name in ("memory.max", "memory.current"))
        free = min(free, limit - used + _number_of(cgroup / "memory.stat", "inactive_file"))
    return free


def _number_of(file: Path, name: str) -> int:
    """Reads the number that follows a name in a file of the system."""
    return int(next(line.split()[1] for line in file.read_text().splitlines() if line.startswith(name)))


def in_order(
    function: Callable[[Item], Result], items: Iterable[Item], num_processes: int, name: Callable[[Item], str] = str
) -> Generator[Result]:
    """Yields function(item) for each of `items`, in their order, whatever the number of processes; `name` is of an
    item, in messages. Items are read only as they are needed. What a process that is killed had to do is done again;
    OSError if that happens with the same item again and again. Close the generator if it is not read to its end
    (`contextlib.closing`), so that the processes end at once."""
    rest = iter(items)
    first = list(islice(rest, 2 if num_processes > 1 else 0))
    if len(first) <= 1:
        yield from map(function, chain(first, rest))
        return
    tasks = _in_groups(chain(first, rest))
    pending: deque[tuple[list[Item], Future[list[Result]]]] = deque()
    pool = _pool(num_processes)
    try:
        while True:
            for group in islice(tasks, num_processes * _TASKS_AHEAD - len(pending)):
                pending.append((group, _submitted(pool, function, group)))
            if not pending:
                return
            group, future = pending.popleft()
            try:
                yield from future.result()
            except BrokenProcessPool:
                time.sleep(_SIGNAL_SECONDS)
                _end(pool)
                for item in group:
                    yield _alone(function, item, name)
                pool = _pool(num_processes)
                pending = deque((group, _submitted(pool, function, group)) for group, _ in pending)
    finally:
        _end(pool)


def _submitted(
    pool: ProcessPoolExecutor, function: Callable[[Item], Result], group: list[Item]
) -> "Future[list[Result]]":
    """Returns the results to come; they fail where a process of the pool was killed before."""
    try:
        return pool.submit(_all_of, function, group)
    except BrokenProcessPool as error:
        lost: Future[list[Result]] = Future()
        lost.set_exception(error)
        return lost


def _alone(function: Callable[[Item], Result], item: Item, name: Callable[[Item], str]) -> Result:
    """Computes an item in a process of its own, again if that is killed; raises OSError if it is each time."""
    for _ in range(_MOST_LOSSES):
        pool = _pool(1)
        try:
            return pool.submit(function, item).result()
        except BrokenProcessPool:
            time.sleep(_SIGNAL_SECONDS)
        finally:
            _end(pool)
    raise OSError(
        f"{name(item)}: {_MOST_LOSSES} processes were killed that worked on it alone (out of memory?): leave it out or "
        "use a machine with more memory"
    )


def _pool(num_processes: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(num_processes, initializer=_begin_worker)


def _end(pool: ProcessPoolExecutor) -> None:
    pool.shutdown(wait=False, cancel_futures=True)


def _begin_worker() -> None:
    """Leaves Ctrl-C to the parent, and ends the worker when the parent is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    end_with_parent()


def end_with_parent() -> None:
    """Sends SIGTERM to this process, which another has started, when that one is killed."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)


def _in_groups(items: Iterable[Item]) -> Generator[list[Item]]:
    rest = iter(items)
    while group := list(islice(rest, _ITEMS_PER_TASK)):
        yield group


def _all_of(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    return [function(item) for item in items]
