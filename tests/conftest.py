"""Limits the tests' networks, and the programs that tests start, to one thread: they are too small to be split, and
threads that wait for each other on a busy machine make tests ten times as slow. Also freezes imported modules in the
garbage collector."""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background, programs would ignore Ctrl-C forever


def pytest_collection_finish() -> None:
    """Keeps the garbage collector from scanning all of torch repeatedly."""
    gc.freeze()


@pytest.fixture(scope="session")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random decisions; no test changes them."""
    from tests.support.tiny_runs import pack_decisions  # heavy, and not every test trains

    return pack_decisions(tmp_path_factory.mktemp("decisions"))


@pytest.fixture(scope="session")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of six short games of rule-based players; no test changes it."""
    from kanachan.cli.simulate import main as simulate

    folder = tmp_path_factory.mktemp("simulated") / "games"
    assert simulate(["-n", "6", "--seed", "3", "--style", "east", "-o", str(folder), "--processes", "1"]) == 0
    return folder


@pytest.fixture
def threads() -> Iterator[None]:
    """Restores the number of threads after runs: they compute in one thread, for equal bits everywhere."""
    import torch

    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)
