"""Profiles of training steps."""

import gzip
import json
from pathlib import Path

import pytest

from tests.support.tiny_runs import run

pytestmark = pytest.mark.usefixtures("threads")


@pytest.mark.slow
def test_a_profile_is_a_table_and_a_trace_of_the_operations(shards: Path, tmp_path: Path) -> None:
    assert run("imitation", shards, tmp_path / "run", "--run.steps", "8", "--run.profile", "100") == 0
    assert "aten::" in (tmp_path / "run" / "profile.txt").read_text()
    with gzip.open(tmp_path / "run" / "profile.json.gz") as file:
        events = json.load(file)["traceEvents"]
    names = [event["name"] for event in events]
    assert sum("Optimizer.step#" in name for name in names) == 3  # of the 8 steps the first five are not profiled
    assert not list((tmp_path / "run").glob(".part*"))


@pytest.mark.slow
def test_the_last_step_of_a_short_run_is_profiled(shards: Path, tmp_path: Path) -> None:
    assert run("imitation", shards, tmp_path / "run", "--run.steps", "2", "--run.profile", "1") == 0
    assert "aten::" in (tmp_path / "run" / "profile.txt").read_text()
