"""A short torture of a run of two processes; `python tests/torture.py` makes a long one, of all kinds of faults."""

from pathlib import Path

import pytest
from torture import Torture


@pytest.mark.parametrize("strategy, seed", [("zero2", 0)])
def test_a_run_that_is_hurt_again_and_again_ends_as_an_undisturbed_one(
    strategy: str, seed: int, tmp_path: Path
) -> None:
    Torture(tmp_path, strategy, 2, 30, seed, print).run(["kill", "term", "damaged checkpoint"])
