"""Processing of many items in several processes."""

from collections.abc import Iterator
from contextlib import closing
from itertools import count, islice

import pytest

from annotate.runtime.workers import in_order


def square(number: int) -> int:
    return number * number


@pytest.mark.parametrize("num_jobs", [1, 2])
@pytest.mark.parametrize("num_items", [0, 1, 2, 50])
def test_results_come_in_the_order_of_the_items(num_jobs: int, num_items: int) -> None:
    assert list(in_order(square, range(num_items), num_jobs)) == [number * number for number in range(num_items)]


@pytest.mark.parametrize("num_jobs", [1, 2])
def test_items_are_read_only_as_they_are_needed(num_jobs: int) -> None:
    read = 0

    def items() -> Iterator[int]:
        nonlocal read
        for number in count():
            read = number
            yield number

    with closing(in_order(square, items(), num_jobs)) as results:
        assert list(islice(results, 9)) == [number * number for number in range(9)]
    assert read < 60
