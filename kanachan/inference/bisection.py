"""Bisection on a logarithmic scale, as for a temperature."""

import math
from collections.abc import Callable

_PRECISION = 1e-9


def bisected_exponential(is_below: Callable[[float], bool], low: float, high: float) -> float:
    """Returns exp(x) for the x from `low` to `high` at which `is_below(exp(x))` turns from true to false."""
    while high - low > _PRECISION:
        middle = (low + high) / 2
        if is_below(math.exp(middle)):
            low = middle
        else:
            high = middle
    return math.exp((low + high) / 2)
