"""The pool of processes: results, lost workers, units that fail, and the end."""

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from annotate.runtime.process_pool import ProcessPool
from annotate.runtime.signals import StopRequest
from annotate.runtime.units import Serve, UnitError
from tests.support.paths import ROOT
from tests.support.processes import is_alive, wait_until
from tests.support.units_of_work import Broken, PairsOfSquares, Squares

SQUARES = [(number, number * number) for number in range(12)]


def results_of(*serves: Serve[int, int], processes: int = 2) -> list[tuple[int, int]]:
    return sorted(ProcessPool(serves, processes).results(range(12), StopRequest()))


@pytest.mark.parametrize("is_in_order", [True, False])
def test_every_unit_has_its_result(is_in_order: bool, tmp_path: Path) -> None:
    assert results_of(Squares(tmp_path) if is_in_order else PairsOfSquares()) == SQUARES


def test_streams_are_distributed_over_processes(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder in folders:
        folder.mkdir()
    assert results_of(*map(Squares, folders), processes=4) == SQUARES
    assert [len(list(folder.glob("*.pid"))) for folder in folders] == [2, 2]


def test_the_error_of_a_stream_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="^number 3: the engine has stopped$"):
        results_of(Squares(tmp_path, fails=(3,)))
    assert not multiprocessing.active_children()


def test_a_fault_of_a_stream_comes_with_its_traceback() -> None:
    with pytest.raises(RuntimeError, match="(?s)units_of_work.py.*ZeroDivisionError"):
        results_of(Broken())


def test_the_units_of_a_killed_process_are_done_by_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert results_of(Squares(tmp_path, kills=(3,))) == SQUARES
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("a worker was lost (killed by SIGKILL); its work will be done again: 3")
    assert len(list(tmp_path.glob("*.pid"))) <= 3


def test_a_unit_that_always_kills_its_process_ends_the_run_and_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnitError, match=r"^3: 3 workers were lost that had it \(killed, out of memory\?\)"):
        results_of(Squares(tmp_path, kills=(3,), is_once=False))


def test_a_stop_request_ends_the_results_and_the_workers(tmp_path: Path) -> None:
    stop = StopRequest()
    num_results = 0
    for _ in ProcessPool([Squares(tmp_path, seconds=0.01)], 2).results(range(10**9), stop):
        num_results += 1
        if num_results == 5:
            stop(signal.SIGTERM, None)
    assert num_results <= 5 + 2
    assert not multiprocessing.active_children()


def started(folder: Path, squares: str, units: int, **variables: str) -> subprocess.Popen[bytes]:
    """Starts a program, in the folder `cwd`, that prints the results of a pool of its own."""
    program = (
        "import signal; from pathlib import Path; from annotate.runtime.signals import StopRequest, stopping_at_once\n"
        "from annotate.runtime.process_pool import ProcessPool; from tests.support.units_of_work import Squares\n"
        "if __name__ == '__main__':\n"
        "  signal.signal(signal.SIGINT, signal.default_int_handler)  # which shells ignore in the background\n"
        "  with stopping_at_once():\n"
        f"    pool = ProcessPool([Squares(Path({str(folder)!r}), {squares})], 2)\n"
        f"    print(sorted(pool.results(range({units}), StopRequest())))"
    )
    (folder / "driver.py").write_text(program)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    command = [sys.executable, str(folder / "driver.py")]
    (folder / "cwd").mkdir(exist_ok=True)
    with open(folder / "stdout", "w") as out, open(folder / "stderr", "w") as err:
        return subprocess.Popen(
            command, cwd=folder / "cwd", env=environment, start_new_session=True, stdout=out, stderr=err
        )


def test_a_killed_fork_server_is_replaced(tmp_path: Path) -> None:
    assert started(tmp_path, "kills=(3,), with_server=True, seconds=0.05", 12).wait(60) == 0
    assert (tmp_path / "stdout").read_text() == f"{SQUARES}\n"


def test_processes_import_the_drivers_modules_and_not_files_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "cwd" / "annotate").mkdir(parents=True)
    (tmp_path / "cwd" / "annotate" / "__init__.py").write_text("raise SystemExit('another version')")
    assert started(tmp_path, "", 12).wait(60) == 0
    assert (tmp_path / "stdout").read_text() == f"{SQUARES}\n"


def test_processes_start_where_the_temporary_path_is_too_long_for_a_socket(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 25)
    folder.mkdir()
    assert started(tmp_path, "", 12, TMPDIR=str(folder)).wait(60) == 0
    assert (tmp_path / "stdout").read_text() == f"{SQUARES}\n"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_processes_end_with_the_driver(number: signal.Signals, tmp_path: Path) -> None:
    driver = started(tmp_path, "seconds=0.2", 10**9)
    wait_until(lambda: len(list(tmp_path.glob("*.pid"))) == 2)
    if number == signal.SIGINT:
        os.killpg(driver.pid, number)  # as a terminal does
    else:
        driver.send_signal(number)
    driver.wait(30)
    pids = [int(path.stem) for path in tmp_path.glob("*.pid")]
    wait_until(lambda: not any(map(is_alive, pids)))
    assert (tmp_path / "stderr").read_text().count("Traceback") == (number != signal.SIGKILL)  # the driver's traceback
