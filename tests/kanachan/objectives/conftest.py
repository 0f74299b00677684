"""Decisions that tests of several objectives use."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kanachan.data.batch import Batch


@pytest.fixture(scope="package")
def batch() -> "Batch":
    from tests.support.random_outputs import random_batch

    return random_batch()
