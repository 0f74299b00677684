"""Units of work, the functions that process them, and the units that wait for a worker.

A unit is a small picklable value that describes some work, such as the number of a game to play; its text names it in
messages. Its result depends only on the unit, so any worker may repeat the work.
"""

import sys
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, Protocol, TypeVar

from annotate.runtime.signals import StopRequest

MOST_LOSSES = 3
AHEAD = 2  # units per worker: one in progress, and one so that the worker need not wait for it

Unit = TypeVar("Unit")
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class Serve(Protocol[Unit, Result_co]):
    """A function that a worker runs: it processes units, any number at once. Picklable, as are units and results."""

    def __call__(self, units: Iterator[Unit], stop: StopRequest, /) -> Generator[tuple[Unit, Result_co]]:
        """Yields each unit with its result, in any order, until all are done or a stop is requested. `units` blocks
        until the next unit is there; at most `ahead` units may be taken and not yet yielded."""
        ...


class UnitError(OSError):
    """A unit of work, which the message names, cannot be done."""


@dataclass(slots=True)
class Task(Generic[Unit]):
    """A unit, and the number of workers that were lost while they had it."""

    unit: Unit
    losses: int = 0


class Waiting(Generic[Unit]):
    """The units that no worker has: first the units of lost workers, then the others, which are read as needed.
    `units`: a None stands for a unit that is not ready yet."""

    def __init__(self, units: Iterable[Unit | None]) -> None:
        self._first: deque[Task[Unit]] = deque()
        self._rest: Iterator[Unit | None] = iter(units)
        self._has_rest = True

    def take(self) -> Task[Unit] | None:
        """Returns the next unit, None if there is none (yet, unless `is_empty`)."""
        return None if self.is_empty or not self._first else self._first.popleft()

    @property
    def is_empty(self) -> bool:
        """Whether no unit is left; reads the next unit to find out."""
        if not self._first and self._has_rest:
            found = list(islice(self._rest, 1))
            self._has_rest = bool(found)
            self._first += [Task(unit) for unit in found if unit is not None]
        return not self._first and not self._has_rest

    def put_back(self, tasks: Iterable[Task[Unit]]) -> None:
        """Puts the units of a lost worker before all others, in their order. Raises UnitError if a unit has been lost
        `MOST_LOSSES` times."""
        for task in reversed(list(tasks)):
            task.losses += 1
            self._first.appendleft(task)
        for task in self._first:
            if task.losses >= MOST_LOSSES:
                raise UnitError(
                    f"{task.unit}: {task.losses} workers were lost that had it (killed, out of memory?): try fewer "
                    "--processes or a machine with more memory"
                )


def done(tasks: list[Task[Unit]], unit: Unit) -> Unit:
    """Removes a completed unit from a worker's tasks, and returns it."""
    task = next(task for task in tasks if task.unit == unit)
    tasks.remove(task)
    return task.unit


def print_lost(tasks: Sequence[Task], reason: str) -> None:
    """Prints a line about a lost worker."""
    also = f" and {len(tasks) - 1} more" if len(tasks) > 1 else ""
    rest = f"; its work will be done again: {tasks[0].unit}{also}" if tasks else ", which had nothing to do"
    print(f"a worker was lost ({reason}){rest}", file=sys.stderr, flush=True)
