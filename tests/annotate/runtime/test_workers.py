"""Processing of many items in several processes."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import count, islice
from multiprocessing import active_children
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


def killed_once(mark: Path, number: int) -> int:
    """Squares a number, after the first process that has the number 7 was killed."""
    if number == 7 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def killed_always(number: int) -> int:
    if number == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_what_a_killed_process_had_to_do_is_done_again(tmp_path: Path) -> None:
    results = in_order(partial(killed_once, tmp_path / "mark"), range(30), 2)
    assert list(results) == [number * number for number in range(30)]


def test_a_process_may_be_killed_while_nobody_waits_for_a_result() -> None:
    results = in_order(square, range(60), 2)
    found = list(islice(results, 4))
    for process in active_children():
        process.kill()
    time.sleep(1)  # the pool notices it before the next item is given to it
    assert found + list(results) == [number * number for number in range(60)]


def test_an_item_whose_processes_are_always_killed_is_named_after_the_results_before_it() -> None:
    results = in_order(killed_always, range(30), 2, lambda number: f"item {number}")
    with closing(results):
        assert list(islice(results, 7)) == list(range(7))
        with pytest.raises(OSError, match="item 7: 3 processes were killed that worked on it alone"):
            next(results)


@pytest.mark.parametrize(("text", "cores"), [("200000 100000\n", 2), ("150000 100000\n", 2), ("max 100000\n", None)])
def test_the_limit_of_a_container_counts_in_whole_cores(text: str, cores: int | None, tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text(text)
    assert cpu_quota(tmp_path / "cpu.max") == cores
