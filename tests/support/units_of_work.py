"""Cheap units of work for the back ends, and functions that fail or end their worker."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Squares:
    """The setup of a worker that squares numbers; some of them cost it dearly, once or always.

    Args:
        folder: remembers what has happened once.
        fails, kills: numbers at which the function raises, or ends its process.
    """

    folder: Path
    fails: tuple[int, ...] = ()
    kills: tuple[int, ...] = ()
    is_once: bool = True
    seconds: float = 0.0

    def __call__(self) -> Callable[[int], int]:
        return self.square

    def square(self, number: int) -> int:
        (self.folder / f"{os.getpid()}.pid").touch()
        if number in self.kills and self._is_due(f"killed {number}"):
            os.kill(os.getpid(), signal.SIGKILL)
        if number in self.fails and self._is_due(f"failed {number}"):
            raise RuntimeError("the engine has stopped")
        time.sleep(self.seconds)
        return number * number

    def _is_due(self, event: str) -> bool:
        is_first = not (self.folder / event).exists()
        (self.folder / event).touch()
        return is_first or not self.is_once


@dataclass(frozen=True)
class Missing:
    """A setup that a user has to mend."""

    def __call__(self) -> Callable[[int], int]:
        raise ValueError("weights: no such file or folder")
