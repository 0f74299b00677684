"""Connects to Ray: to a running cluster, or to a cluster started on this machine for the time of the connection."""

import os
import secrets
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from annotate.runtime.resources import num_cores
from kanachan.extras import require_extra

_CONNECT_SECONDS = 5
_STORE_BYTES, _STORE_BYTES_PER_WORKER = 128 << 20, 32 << 20  # for the results of a few units; the rest goes to the disk


@contextmanager
def ray_cluster(num_workers: int | None, address: str | None) -> Iterator[Any]:
    """Connects this process to a Ray cluster, yields Ray's module, and disconnects. `address`: of a running cluster,
    `HOST:PORT`, or `auto` on one of its machines; None: starts a cluster here, and ends it again. `num_workers`: how
    many actors a cluster started here runs at a time; None: one per core. Raises ValueError if Ray is not installed, or
    if it cannot be reached or started."""
    ray = _ray(is_ours=address is None)
    # for sockets and logs of a cluster started here; the default, /tmp/ray, would grow without limit
    with tempfile.TemporaryDirectory(prefix="kanachan-ray-", ignore_cleanup_errors=True) as folder:
        try:
            with _signal_handlers_kept():
                if address is None:
                    _start(ray, num_workers or num_cores(), folder)
                else:
                    _connect(ray, address)
            yield ray
        finally:
            with _signal_handlers_kept():
                ray.shutdown()


def _start(ray: Any, num_workers: int, folder: str) -> None:
    try:
        ray.init(
            "local",  # ignores a cluster that happens to run here
            num_cpus=num_workers,
            num_gpus=0,
            object_store_memory=_STORE_BYTES + num_workers * _STORE_BYTES_PER_WORKER,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="error",
            _temp_dir=folder,
        )
    except Exception as error:
        raise ValueError(f"Ray cannot be started on this machine: {_first_line(error)}") from error


def _connect(ray: Any, given: str) -> None:
    from ray._private.services import canonicalize_bootstrap_address

    try:
        address = canonicalize_bootstrap_address(given)
    except ValueError:
        raise ValueError(f"--address {given}: HOST:PORT or auto is expected") from None
    if address is None:
        raise ValueError(f"--address {given}: no Ray cluster is running on this machine: start one with `ray start`")
    _require_answer(given, address)
    try:
        ray.init(address, log_to_driver=False, logging_level="error")
    except Exception as error:
        raise ValueError(f"--address {given}: {_first_line(error)}") from error


def _ray(is_ours: bool) -> Any:
    """Returns Ray's module. `is_ours`: whether a cluster will be started; its token then belongs only to this process
    and is not in a file of the user."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".*")  # reports of lost workers: the back end prints its own
    if is_ours:
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex())  # Ray enables tokens by itself
    elif {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys() or (
        Path.home() / ".ray" / "auth_token"
    ).exists():
        os.environ.setdefault("RAY_AUTH_MODE", "token")  # a cluster without tokens ignores them
    require_extra("ray", ("ray",), "the back end ray")
    import ray

    return ray


def _require_answer(given: str, address: str) -> None:
    """Raises ValueError within seconds if no server answers; Ray itself would wait for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
    except OSError as error:
        raise ValueError(f"--address {given}: no Ray cluster answers there ({error})") from None


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


@contextmanager
def _signal_handlers_kept() -> Iterator[None]:
    """Restores the signal handlers, which Ray replaces with its own."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
