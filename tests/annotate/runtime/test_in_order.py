"""Processing of many items in several processes."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import count, islice
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest

from annotate.runtime.in_order import in_order
from annotate.runtime.units import UnitError
from tests.support.processes import wait_until


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


def twice(data: bytes) -> bytes:
    return data + data


def test_items_and_results_that_fill_pipes_do_not_block_each_other() -> None:
    items = [bytes([number]) * 1_000_000 for number in range(20)]
    assert list(in_order(twice, items, 2)) == list(map(twice, items))


class Unreadable:
    """An item that its process cannot read."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def __reduce__(self) -> tuple[Any, ...]:
        return _raise, (self.error,)


def _raise(error: type[BaseException]) -> None:
    raise error


@pytest.mark.parametrize("error", [MemoryError, EOFError])
def test_an_item_that_cannot_be_read_ends_the_results(error: type[BaseException]) -> None:
    items = [0, 1, Unreadable(error), 3]
    with closing(in_order(type, items, 2, lambda item: type(item).__name__)) as results:
        with pytest.raises(UnitError, match="^Unreadable: 3 workers were lost"):
            list(results)


def test_a_process_that_is_killed_while_it_waits_is_replaced(tmp_path: Path) -> None:
    results = in_order(partial(slow_first, tmp_path / "go"), range(200), 3)
    killing = threading.Thread(target=kill_idle, args=(tmp_path / "go",))
    killing.start()
    processes = [process for _, process in results]
    killing.join()
    assert len(set(processes[100:])) == 3


def slow_first(go: Path, number: int) -> tuple[int, int]:
    while number == 0 and not go.exists():
        time.sleep(0.01)
    time.sleep(0.01)
    return number, os.getpid()


def kill_idle(go: Path) -> None:
    wait_until(lambda: len(active_children()) == 3)
    time.sleep(0.7)  # all except the one with the first item have done as much as may be done before it
    for process in active_children()[1:]:
        process.kill()
    wait_until(lambda: len([process for process in active_children() if process.is_alive()]) == 3)
    time.sleep(0.3)
    go.touch()


def test_a_process_may_be_killed_while_nobody_waits_for_a_result() -> None:
    results = in_order(square, range(60), 2)
    found = list(islice(results, 4))
    for process in active_children():
        process.kill()
    time.sleep(1)  # the pool notices it before the next item is given to it
    assert found + list(results) == [number * number for number in range(60)]


def test_processes_have_the_environment_of_their_start(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("one", "other"):
        monkeypatch.setenv("KANACHAN_TEST", value)
        assert list(in_order(os.getenv, ["KANACHAN_TEST"] * 4, 2)) == [value] * 4
