"""The Ray back end, on a real cluster of two workers on this machine."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="Ray is not installed: pip install 'kanachan[ray]'")

from annotate.runtime.signals import StopRequest
from kanachan.play.ray_backend import RayBackend
from kanachan.play.ray_cluster import ray_cluster
from tests.support.units_of_work import PairsOfSquares, Squares

SQUARES = [(number, number * number) for number in range(12)]


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    with ray_cluster(2, None) as ray:
        yield ray


def test_every_unit_has_its_result(ray: Any) -> None:
    assert sorted(RayBackend([PairsOfSquares()], ray, 2).results(range(12), StopRequest())) == SQUARES


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_the_units_of_a_killed_worker_are_done_by_another(
    ray: Any, tmp_path: Path, workers: int, capsys: pytest.CaptureFixture[str]
) -> None:
    backend = RayBackend([Squares(tmp_path, kills=(3,))], ray, workers)
    assert sorted(backend.results(range(12), StopRequest())) == SQUARES
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("a worker was lost (its process was killed, or its machine failed); its work will be done")
    # with two workers, the other may have done the rest before a new one has started
    assert len(list(tmp_path.glob("*.pid"))) >= 2


def test_the_error_of_a_stream_ends_the_run(ray: Any, tmp_path: Path) -> None:
    results = RayBackend([Squares(tmp_path, fails=(3,))], ray, 1).results(range(12), StopRequest())
    with pytest.raises(ValueError, match="^number 3: the engine has stopped$"):
        list(results)


def test_a_stop_request_ends_the_results(ray: Any, tmp_path: Path) -> None:
    stop = StopRequest()
    num_results = 0
    for _ in RayBackend([Squares(tmp_path, seconds=0.01)], ray, 1).results(range(10**9), stop):
        num_results += 1
        stop(signal.SIGTERM, None) if num_results == 1 else None
    assert num_results <= 2


def refused(address: str) -> str:
    start = time.monotonic()
    with pytest.raises(ValueError) as error, ray_cluster(2, address):
        pass
    assert time.monotonic() - start < 20
    return str(error.value)


def test_an_address_that_does_not_answer_is_refused_within_seconds() -> None:
    assert refused("127.0.0.1:1").startswith("--address 127.0.0.1:1: no Ray cluster answers there (")
    assert refused("nonsense").startswith("--address nonsense: HOST:PORT or auto is expected")
