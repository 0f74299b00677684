"""launch/reports/advantages.py: what the actions brought whose values were predicted."""

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kanachan.cli.selfplay import main as selfplay
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


def test_the_columns_of_the_table_stay_apart_however_large_the_numbers_are(tmp_path: Path) -> None:
    shards = packed(tmp_path / "shards", train=8, test=40)
    values, prior = written(tmp_path / "values", "round_delta"), written(tmp_path / "prior")
    table = program("advantages").report(str(values), shards, str(prior), "test", None).split("\n\n")[1]
    rows = [re.split(" {2,}", line) for line in table.splitlines()]
    assert len(rows) > 2 and {len(row) for row in rows} == {5}


def test_games_of_players_without_probabilities_are_too_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    games, values, prior = tmp_path / "games", written(tmp_path / "values", "rank"), written(tmp_path / "prior")
    assert selfplay(["rule", "-n", "2", "--style", "east", "--processes", "1", "-o", str(games)]) == 0
    command = ["advantages.py", str(values), str(games), "--prior", str(prior), "--split", "train"]
    monkeypatch.setattr(sys, "argv", command)
    assert program("advantages").main() == 1
    assert f"{games}: decisions of 0 games of the train split are taken" in capsys.readouterr().err


def test_values_are_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shards, prior = packed(tmp_path / "shards", train=8, test=8), written(tmp_path / "prior")
    monkeypatch.setattr(sys, "argv", ["advantages.py", str(prior), str(shards), "--prior", str(prior)])
    assert program("advantages").main() == 1
    assert "has no values to re-weight by" in capsys.readouterr().err
