"""A short torture of a run of two processes; `python -m tests.fuzz.torture` makes a long one, of all
kinds of faults."""

from pathlib import Path

import pytest

from tests.fuzz.torture import FAULTS, Torture


@pytest.mark.slow
def test_a_run_that_is_hurt_again_and_again_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    Torture(tmp_path, "ddp", 2, 25, 0, print).run(["kill", "damaged checkpoint"])


@pytest.mark.slow
def test_weights_that_are_shared_out_survive_all_kinds_of_faults(tmp_path: Path) -> None:
    Torture(tmp_path, "zero3", 2, 90, 0, print).run(FAULTS)
