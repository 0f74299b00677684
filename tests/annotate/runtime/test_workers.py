"""Processing of many items in several processes."""

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from itertools import count, islice
from pathlib import Path

import pytest

from annotate.runtime.workers import cpu_quota, in_order


def square(number: int) -> int:
    return number * number


@pytest.mark.parametrize("num_processes", [1, 2])
@pytest.mark.parametrize("num_items", [0, 1, 2, 50])
def test_results_come_in_the_order_of_the_items(num_processes: int, num_items: int) -> None:
    assert list(in_order(square, range(num_items), num_processes)) == [number * number for number in range(num_items)]


@pytest.mark.parametrize("num_processes", [1, 2])
def test_items_are_read_only_as_they_are_needed(num_processes: int) -> None:
    read = 0

    def items() -> Iterator[int]:
        nonlocal read
        for number in count():
            read = number
            yield number

    with closing(in_order(square, items(), num_processes)) as results:
        assert list(islice(results, 9)) == [number * number for number in range(9)]
    assert read < 60


def killed(number: int) -> int:
    if number == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_a_killed_process_is_an_error_that_names_what_it_may_have_worked_on() -> None:
    with closing(in_order(killed, range(30), 2, lambda number: f"item {number}")) as results:
        with pytest.raises(OSError, match=r"a process was killed .* one of item [04] … item \d+: use fewer processes"):
            list(results)


@pytest.mark.parametrize(("text", "cores"), [("200000 100000\n", 2), ("150000 100000\n", 2), ("max 100000\n", None)])
def test_the_limit_of_a_container_counts_in_whole_cores(text: str, cores: int | None, tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text(text)
    assert cpu_quota(tmp_path / "cpu.max") == cores
