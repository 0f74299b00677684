"""One thread for the tests' networks, and for the programs that tests start: they are too small to share out, and
threads that wait for each other on a busy machine make tests ten times as slow. And what has been imported stays."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_finish() -> None:
    """The garbage collector need not look again and again through all of torch."""
    gc.freeze()


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.support.tiny_runs import pack_decisions  # heavy, and not every test trains

    return pack_decisions(tmp_path_factory.mktemp("decisions"))


@pytest.fixture
def threads() -> Iterator[None]:
    """For runs, which compute in one thread, for equal bits everywhere; other tests need not."""
    import torch

    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)
