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

_ITEMS_PER_GROUP = 4
_GROUPS_AHEAD = 4  # per process: early results wait in memory, so this is small
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
    item, in messages. Items are read only as they are needed. Raises OSError if a process is killed. Close the
    generator if it is not read to its end (`contextlib.closing`), so that the processes end at once."""
    rest = iter(items)
    first = list(islice(rest, 2 if num_processes > 1 else 0))
    if len(first) <= 1:
        yield from map(function, chain(first, rest))
        return
    groups = _in_groups(chain(first, rest))
    pending: deque[tuple[list[Item], Future[list[Result]]]] = deque()
    pool = ProcessPoolExecutor(num_processes, initializer=_begin_worker)
    group = first
    try:
        while True:
            for group in islice(groups, num_processes * _GROUPS_AHEAD - len(pending)):
                pending.append((group, pool.submit(_all_of, function, group)))
            if not pending:
                return
            group, future = pending[0]
            yield from future.result()
            pending.popleft()
    except BrokenProcessPool:
        begun = [*(item for each, _ in pending for item in each), *group]
        time.sleep(_SIGNAL_SECONDS)
        raise OSError(
            f"a process was killed (out of memory?) that worked on one of {name(begun[0])} … {name(begun[-1])}: use "
            "fewer processes, leave it out, or use a machine with more memory"
        ) from None
    finally:
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
    while group := list(islice(rest, _ITEMS_PER_GROUP)):
        yield group


def _all_of(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    return [function(item) for item in items]
