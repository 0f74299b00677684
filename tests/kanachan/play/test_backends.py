"""The back ends without Ray: results, lost workers, units that fail, and the end."""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from annotate.runtime.signals import StopRequest
from kanachan.play.backends import BackendName, make_backend
from kanachan.play.units import AHEAD, UnitError
from tests.support.paths import ROOT
from tests.support.processes import is_alive, wait_until
from tests.support.units_of_work import Broken, PairsOfSquares, Squares

BOTH: tuple[BackendName, ...] = ("inline", "processes")
SQUARES = [(number, number * number) for number in range(12)]


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("is_in_order", [True, False])
def test_every_unit_has_its_result(name: BackendName, is_in_order: bool, tmp_path: Path) -> None:
    with closing(make_backend(name, [Squares(tmp_path) if is_in_order else PairsOfSquares()], 2)) as backend:
        assert sorted(backend.results(range(12))) == SQUARES


def test_streams_are_dealt_out_to_processes(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder in folders:
        folder.mkdir()
    with closing(make_backend("processes", list(map(Squares, folders)), 4)) as backend:
        assert sorted(backend.results(range(12))) == SQUARES
    assert [len(list(folder.glob("*.pid"))) for folder in folders] == [2, 2]


@pytest.mark.parametrize("name", BOTH)
def test_the_error_of_a_stream_ends_the_run(name: BackendName, tmp_path: Path) -> None:
    with closing(make_backend(name, [Squares(tmp_path, fails=(3,))], 2)) as backend:
        with pytest.raises(ValueError, match="^number 3: the engine has stopped$"):
            list(backend.results(range(12)))
    assert not multiprocessing.active_children()


def test_a_fault_of_a_stream_comes_with_its_traceback() -> None:
    with closing(make_backend("processes", [Broken()], 2)) as backend:
        with pytest.raises(RuntimeError, match="(?s)units_of_work.py.*ZeroDivisionError"):
            list(backend.results(range(12)))


def test_the_units_of_a_killed_process_are_done_by_another(tmp_path: Path) -> None:
    lines: list[str] = []
    with closing(make_backend("processes", [Squares(tmp_path, kills=(3,))], 2, report=lines.append)) as backend:
        assert sorted(backend.results(range(12))) == SQUARES
    (line,) = lines
    assert line.startswith("a worker was lost (killed by SIGKILL); its work will be done again: 3")
    assert len(list(tmp_path.glob("*.pid"))) <= 3


def test_a_unit_that_always_kills_its_process_ends_the_run_and_is_named(tmp_path: Path) -> None:
    setup = Squares(tmp_path, kills=(3,), is_once=False)
    with closing(make_backend("processes", [setup], 2, report=[].append)) as backend:
        with pytest.raises(UnitError, match=r"^3: 3 workers were lost that had it \(killed, out of memory\?\)"):
            list(backend.results(range(12)))


def test_units_are_read_as_they_are_needed(tmp_path: Path) -> None:
    read: list[int] = []

    def units() -> Iterator[int]:
        for number in range(100):
            read.append(number)
            yield number

    with closing(make_backend("processes", [Squares(tmp_path)], 2)) as backend:
        results = backend.results(units())
        for num_results in range(1, 20):
            next(results)
            assert len(read) <= num_results + 2 * AHEAD
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("name", BOTH)
def test_a_stop_request_ends_the_results_and_the_workers(name: BackendName, tmp_path: Path) -> None:
    stop = StopRequest()
    with closing(make_backend(name, [Squares(tmp_path, seconds=0.01)], 2)) as backend:
        num_results = 0
        for _ in backend.results(range(10**9), stop):
            num_results += 1
            if num_results == 5:
                stop(signal.SIGTERM, None)
    assert num_results <= 5 + 2
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_processes_end_with_the_driver(number: signal.Signals, tmp_path: Path) -> None:
    program = (
        "import signal; from pathlib import Path; from annotate.runtime.signals import stopping_at_once\n"
        "from kanachan.play.backends import make_backend; from tests.support.units_of_work import Squares\n"
        "if __name__ == '__main__':\n"
        "  signal.signal(signal.SIGINT, signal.default_int_handler)  # which shells ignore in the background\n"
        "  with stopping_at_once():\n"
        f"    list(make_backend('processes', [Squares(Path({str(tmp_path)!r}), seconds=0.2)], 2).results(range(10**9)))"
    )
    (tmp_path / "driver.py").write_text(program)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(tmp_path / "driver.py")]
    with open(tmp_path / "stderr", "w") as stderr:
        driver = subprocess.Popen(command, env=environment, start_new_session=True, stderr=stderr)
    wait_until(lambda: len(list(tmp_path.glob("*.pid"))) == 2)
    if number == signal.SIGINT:
        os.killpg(driver.pid, number)  # as a terminal does
    else:
        driver.send_signal(number)
    driver.wait(30)
    pids = [int(path.stem) for path in tmp_path.glob("*.pid")]
    wait_until(lambda: not any(map(is_alive, pids)))
    assert (tmp_path / "stderr").read_text().count("Traceback") == (number != signal.SIGKILL)  # that of the driver
