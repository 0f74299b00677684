"""Units of work: the function that does them, a second try where it fails, and the record of lost workers.

A unit is a small picklable value that describes some work, such as a block of games to play; its text names it in
messages. The result is a function of the unit alone, so a unit may be done again, by any worker.
"""

import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

from annotate.runtime.signals import Stopped

MOST_TRIES = 3
AHEAD = 2  # units per worker: one that is being done, and one so that it need not wait for the next

Unit = TypeVar("Unit")
Result = TypeVar("Result")
Setup = Callable[[], Callable[[Unit], Result]]
"""runs once in each worker (loads networks, for example), and returns the function that does a unit; picklable"""


class UnitError(ValueError):
    """A unit of work cannot be done; the text names it."""


class Worker(Generic[Unit, Result]):
    """Does units one after the other; a unit that fails is tried again by a function that is set up again.

    Raises:
        UnitError: a unit has failed `MOST_TRIES` times, or has raised a ValueError, which no second try would mend.
    """

    def __init__(self, setup: Setup[Unit, Result]) -> None:
        self._setup = setup
        self._do = setup()

    def __call__(self, unit: Unit) -> Result:
        for tries_left in reversed(range(MOST_TRIES)):
            try:
                return self._do(unit)
            except (KeyboardInterrupt, SystemExit, Stopped):
                raise
            except ValueError as error:
                raise UnitError(f"{unit}: {error}") from error
            except BaseException as error:  # the panics of the rules engine are not an Exception
                if not tries_left:
                    raise UnitError(f"{unit}: failed {MOST_TRIES} times: {in_one_line(error)}") from error
            self._do = self._setup()
        raise AssertionError


def in_one_line(error: BaseException) -> str:
    """Returns the type and the message of an exception, and the place in the sources that has raised it."""
    message = " ".join(traceback.format_exception_only(error)[-1].split())
    frames = traceback.extract_tb(error.__traceback__)
    return f"{message} ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else message


@dataclass(slots=True)
class Task(Generic[Unit]):
    """A unit, and how often a worker was lost that had it."""

    unit: Unit
    losses: int = 0


class Waiting(Generic[Unit]):
    """The units that no worker has: those of lost workers first, then the others, which are read as they are needed."""

    def __init__(self, units: Iterable[Unit]) -> None:
        self._first: deque[Task[Unit]] = deque()
        self._rest: Iterator[Unit] = iter(units)

    def take(self) -> Task[Unit] | None:
        """Returns the next unit, None where there is none."""
        return None if self.is_empty else self._first.popleft()

    @property
    def is_empty(self) -> bool:
        """Whether none is left; reads the next unit to know it."""
        if not self._first:
            self._first += [Task(unit) for unit in islice(self._rest, 1)]
        return not self._first

    def put_back(self, tasks: Iterable[Task[Unit]]) -> None:
        """Adds the units of a lost worker, in the order in which it had them.

        Raises:
            UnitError: a unit has been lost `MOST_TRIES` times.
        """
        for task in reversed(list(tasks)):
            task.losses += 1
            self._first.appendleft(task)
        for task in self._first:
            if task.losses >= MOST_TRIES:
                raise UnitError(
                    f"{task.unit}: {task.losses} workers were lost that had it (killed, out of memory?): try fewer "
                    "--processes"
                )


def print_line(text: str) -> None:
    """Prints a line for the user, which does not belong to the output."""
    print(text, file=sys.stderr, flush=True)


def lost_text(units: Sequence[object], reason: str) -> str:
    """Returns the line about a lost worker."""
    also = f" and {len(units) - 1} more" if len(units) > 1 else ""
    return f"a worker was lost ({reason}); another does its units again: {units[0]}{also}"


Report = Callable[[str], Any]
"""receives lines for the user"""
