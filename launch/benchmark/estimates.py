"""Estimates of speed: two ways to do the same, measured in turns, as a shared machine's speed changes by the minute."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Estimate:
    """A measurement: one line of the table."""

    part: str
    what: str
    unit: str
    ours: float
    plain: str
    """description of what it is compared with"""
    plainly: float
    more: dict[str, float] = field(default_factory=dict)


def in_turns(ours: Callable[[], object], plain: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Computes the median seconds of both functions, measured in turns after one warm-up run of each."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for number in range(repeats + 1):
        for body, measured in zip((ours, plain), seconds, strict=True):
            start = time.perf_counter()
            body()
            if number:
                measured.append(time.perf_counter() - start)
    return statistics.median(seconds[0]), statistics.median(seconds[1])
