"""Estimates of speed: two ways to do the same, measured in turns, as a shared machine's speed changes by the minute."""

import statistics
import time
from collections.abc import Callable, Sequence
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
    first, second = all_in_turns([ours, plain], repeats)
    return first, second


def all_in_turns(
    bodies: Sequence[Callable[[], object]], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Computes the median seconds of each function, measured in turns after one warm-up run of each."""
    seconds: list[list[float]] = [[] for _ in bodies]
    for number in range(repeats + 1):
        for body, measured in zip(bodies, seconds, strict=True):
            start = clock()
            body()
            if number:
                measured.append(clock() - start)
    return [statistics.median(each) for each in seconds]
