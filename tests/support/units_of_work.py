"""Cheap units of work for the back ends, and streams that fail or end their worker."""

import os
import signal
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

from annotate.runtime.signals import StopRequest


@dataclass(frozen=True)
class Squares:
    """A stream that squares numbers; at some of them it fails or loses its process, once or always.

    Args:
        folder: records what has happened.
        fails, kills: numbers at which it raises, or kills its process, and if `with_server` also the fork server.
    """

    folder: Path
    fails: tuple[int, ...] = ()
    kills: tuple[int, ...] = ()
    is_once: bool = True
    with_server: bool = False
    seconds: float = 0.0

    def __call__(self, units: Iterator[int], stop: StopRequest) -> Generator[tuple[int, int]]:
        (self.folder / f"{os.getpid()}.pid").touch()
        for number in units:
            if number in self.kills and self._is_due(f"killed {number}"):
                for process in (os.getppid(), os.getpid())[not self.with_server :]:
                    os.kill(process, signal.SIGKILL)
            if number in self.fails:
                raise ValueError(f"number {number}: the engine has stopped")
            time.sleep(self.seconds)
            yield number, number * number
            if stop.received is not None:
                return

    def _is_due(self, event: str) -> bool:
        is_first = not (self.folder / event).exists()
        (self.folder / event).touch()
        return is_first or not self.is_once


@dataclass(frozen=True)
class PairsOfSquares:
    """A stream that squares two numbers at a time, and yields them in reverse."""

    def __call__(self, units: Iterator[int], stop: StopRequest) -> Generator[tuple[int, int]]:
        while pair := [number for number in (next(units, None), next(units, None)) if number is not None]:
            yield from ((number, number * number) for number in reversed(pair))


@dataclass(frozen=True)
class Broken:
    """A stream with a fault of its own."""

    def __call__(self, units: Iterator[int], stop: StopRequest) -> Generator[tuple[int, int]]:
        yield next(units), 1 // 0
