"""Figures of speed: two ways to do the same, measured in turns, as a shared machine's speed changes by the minute."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Estimate:
    """One line of the table."""

    part: str
    what: str
    unit: str
    ours: float
    plain: str
    """what it is compared with"""
    plainly: float
    more: dict[str, float] = field(default_factory=dict)


def in_turns(ours: Callable[[], object], plain: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Medians of the seconds that the two take, measured in turns after one run of each for warmth."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for number in range(repeats + 1):
        for body, measured in zip((ours, plain), seconds, strict=True):
            start = time.perf_counter()
            body()
            if number:
                measured.append(time.perf_counter() - start)
    return statistics.median(seconds[0]), statistics.median(seconds[1])
