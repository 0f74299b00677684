"""The Ray back end, on a real cluster of two workers on this machine."""

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="Ray is not installed: pip install 'kanachan[ray]'")

from kanachan.play.backends import make_backend
from kanachan.play.ray_backend import RayBackend
from kanachan.play.ray_cluster import RayCluster
from kanachan.play.units import UnitError
from tests.support.units_of_work import Missing, Squares

SQUARES = [(number, number * number) for number in range(12)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    cluster = RayCluster(2, None)
    yield cluster
    cluster.close()


def test_every_unit_has_its_result(cluster: RayCluster, tmp_path: Path) -> None:
    assert sorted(RayBackend(Squares(tmp_path, fails=(3,)), 2, cluster).results(range(12))) == SQUARES


def test_the_units_of_a_killed_worker_are_done_by_another(cluster: RayCluster, tmp_path: Path) -> None:
    lines: list[str] = []
    backend = RayBackend(Squares(tmp_path, kills=(3,)), 2, cluster, lines.append)
    assert sorted(backend.results(range(12))) == SQUARES
    (line,) = lines
    assert line.startswith("a worker was lost (its process was killed, or its machine failed); another does its units")


def test_a_unit_that_always_fails_ends_the_run_and_is_named(cluster: RayCluster, tmp_path: Path) -> None:
    backend = RayBackend(Squares(tmp_path, fails=(3,), is_once=False), 1, cluster)
    with pytest.raises(UnitError, match="^3: failed 3 times: RuntimeError: the engine has stopped"):
        list(backend.results(range(12)))


def test_the_error_of_a_setup_is_the_users(cluster: RayCluster) -> None:
    with pytest.raises(ValueError, match="^weights: no such file or folder$"):
        list(RayBackend(Missing(), 1, cluster).results(range(12)))


def refused(address: str) -> str:
    start = time.monotonic()
    with pytest.raises(ValueError) as error:
        make_backend("ray", Missing(), 2, address)
    assert time.monotonic() - start < 20
    return str(error.value)


def test_an_address_that_does_not_answer_is_refused_within_seconds() -> None:
    assert refused("127.0.0.1:1").startswith("--address 127.0.0.1:1: no Ray cluster answers there (")
    assert refused("nonsense").startswith("--address nonsense: HOST:PORT or auto is expected")


def test_another_server_is_refused_within_seconds() -> None:
    with socket.create_server(("", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        assert refused(address).startswith(f"--address {address}: what answers there is no Ray cluster")
