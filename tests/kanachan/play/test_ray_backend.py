"""The Ray back end, on a real cluster of two workers on this machine."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="Ray is not installed: pip install 'kanachan[ray]'")

from annotate.runtime.signals import StopRequest
from kanachan.play.backends import make_backend
from kanachan.play.ray_backend import RayBackend
from kanachan.play.ray_cluster import RayCluster
from tests.support.paths import ROOT
from tests.support.units_of_work import PairsOfSquares, Squares

SQUARES = [(number, number * number) for number in range(12)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    cluster = RayCluster(2, None)
    yield cluster
    cluster.close()


def test_every_unit_has_its_result(cluster: RayCluster) -> None:
    assert sorted(RayBackend([PairsOfSquares()], cluster, 2).results(range(12))) == SQUARES


@pytest.mark.parametrize("workers", [1, 2])
def test_the_units_of_a_killed_worker_are_done_by_another(cluster: RayCluster, tmp_path: Path, workers: int) -> None:
    lines: list[str] = []
    backend = RayBackend([Squares(tmp_path, kills=(3,))], cluster, workers, report=lines.append)
    assert sorted(backend.results(range(12))) == SQUARES
    (line,) = lines
    assert line.startswith("a worker was lost (its process was killed, or its machine failed); its work will be done")
    # of two workers, one may have done the rest before a new one has started
    assert len(list(tmp_path.glob("*.pid"))) >= 2


def test_the_error_of_a_stream_ends_the_run(cluster: RayCluster, tmp_path: Path) -> None:
    results = RayBackend([Squares(tmp_path, fails=(3,))], cluster, 1).results(range(12))
    with pytest.raises(ValueError, match="^number 3: the engine has stopped$"):
        list(results)


def test_a_stop_request_ends_the_results(cluster: RayCluster, tmp_path: Path) -> None:
    stop = StopRequest()
    num_results = 0
    for _ in RayBackend([Squares(tmp_path, seconds=0.01)], cluster, 1).results(range(10**9), stop):
        num_results += 1
        stop(signal.SIGTERM, None) if num_results == 1 else None
    assert num_results <= 2


LOSING = """
import os, subprocess
from kanachan.play.backends import make_backend
from tests.support.units_of_work import PairsOfSquares
if __name__ == "__main__":
    results = make_backend("ray", [PairsOfSquares()], 1).results(range(10**9))
    print(next(results))
    listed = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(os.getpid())], capture_output=True).stdout
    (raylet,) = (int(line.split()[0]) for line in listed.splitlines() if b"raylet" in line)
    os.kill(raylet, 9)
    list(results)
"""


@pytest.mark.slow
def test_a_process_that_ray_ends_as_its_server_is_lost_leaves_a_line_that_says_how_to_go_on() -> None:
    done = subprocess.run([sys.executable, "-c", LOSING], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode and done.stdout
    assert done.stderr.splitlines()[-1].startswith("Ray has ended this process")


def refused(address: str) -> str:
    start = time.monotonic()
    with pytest.raises(ValueError) as error:
        make_backend("ray", [PairsOfSquares()], 2, address)
    assert time.monotonic() - start < 20
    return str(error.value)


def test_an_address_that_does_not_answer_is_refused_within_seconds() -> None:
    assert refused("127.0.0.1:1").startswith("--address 127.0.0.1:1: no Ray cluster answers there (")
    assert refused("nonsense").startswith("--address nonsense: HOST:PORT or auto is expected")
