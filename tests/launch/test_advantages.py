"""launch/reports/advantages.py: what the actions brought whose values were predicted."""

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.launched import program
from tests.support.packed import packed
from tests.support.tiny_weights import written

GAMES, DECISIONS = 200, 50


def actions(slope: float, noise: float) -> Any:
    rng = np.random.default_rng(0)
    advantage_N = rng.normal(0, 100, GAMES * DECISIONS)
    brought_N = slope * advantage_N + rng.normal(0, noise, len(advantage_N))
    game_N = np.repeat(np.arange(GAMES), DECISIONS)
    return program("advantages").Actions(advantage_N, brought_N - brought_N.mean(), np.zeros(len(game_N)), game_N)


@pytest.mark.parametrize("slope", [-0.5, 0.0, 1.0])
def test_a_planted_slope_is_found_within_its_interval(slope: float) -> None:
    planted = actions(slope, noise=1000)
    mean, found = program("advantages").estimates(planted.advantage_N, planted)
    assert found.low < slope < found.high and found.high - found.low < 0.6
    assert mean.value == pytest.approx(0, abs=1e-9)


def test_without_noise_the_slope_is_exact() -> None:
    planted = actions(0.7, noise=0)
    assert program("advantages").estimates(planted.advantage_N, planted)[1][:3] == pytest.approx([0.7] * 3)


def test_the_report_has_every_decision_of_the_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shards = packed(tmp_path / "shards", train=8, test=120)
    values, prior = written(tmp_path / "values", "round_delta"), written(tmp_path / "prior")
    monkeypatch.setattr(sys, "argv", ["advantages.py", str(values), str(shards), "--prior", str(prior)])
    assert program("advantages").main() == 0
    printed = capsys.readouterr().out
    assert f"{values} on the test split of {shards}: 120 decisions" in printed
    lines = re.findall(r"^(all|likely, from 30 %|2 to 30 %|unlikely) +(\d+)", printed, re.MULTILINE)
    counts = {name: int(count) for name, count in lines}
    assert counts.pop("all") == 120 == sum(counts.values())


def test_values_are_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shards, prior = packed(tmp_path / "shards", train=8, test=8), written(tmp_path / "prior")
    monkeypatch.setattr(sys, "argv", ["advantages.py", str(prior), str(shards), "--prior", str(prior)])
    assert program("advantages").main() == 1
    assert "has no values to re-weight by" in capsys.readouterr().err
