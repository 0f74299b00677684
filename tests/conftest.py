"""One thread for the tests' networks, and for the programs that tests start: they are too small to share out, and
threads that wait for each other on a busy machine make tests ten times as slow. And what has been imported stays."""

import gc
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_finish() -> None:
    """The garbage collector need not look again and again through all of torch."""
    gc.freeze()
