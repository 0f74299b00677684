"""Python's search for cycles of objects, which takes longer the more objects there are."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_search_for_cycles() -> Iterator[None]:
    """Pauses the search while much is made that holds no cycles, and is freed without it; also a decorator."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def no_search_of_what_is_there() -> Iterator[None]:
    """Excludes from the search all objects that there are at the beginning; also a decorator. With torch and Lightning
    these are 400,000, and each search takes most of a second."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
