"""Limits Python's search for reference cycles, which takes longer the more objects there are."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_search_for_cycles() -> Iterator[None]:
    """Pauses the search while many objects without cycles are created, which are freed without it. Also a decorator."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def no_search_of_what_is_there() -> Iterator[None]:
    """Excludes all objects that exist at the beginning from the search. Also a decorator. With torch and Lightning,
    these are 400,000 objects, and each search takes most of a second."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
