"""launch/benchmark/against.py: two checkouts benchmarked by the same commands in turns."""

import runpy
import sys
from pathlib import Path

import pytest

from annotate.simulation.simulate import simulate
from tests.support.paths import ROOT

PROGRAM = str(ROOT / "launch" / "benchmark" / "against.py")


def status(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    monkeypatch.setattr(sys, "argv", [PROGRAM, *map(str, arguments)])
    with pytest.raises(SystemExit) as exit_:
        runpy.run_path(PROGRAM, run_name="__main__")
    return int(exit_.value.code or 0)


@pytest.fixture
def games(tmp_path: Path) -> Path:
    assert simulate(["-n", "20", "--seed", "1", "-o", str(tmp_path / "games")]) == 0
    return tmp_path / "games"


def test_a_folder_that_is_not_a_checkout_is_refused_in_one_line(
    games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert status(monkeypatch, tmp_path, "--records", games) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "not a checkout of the program, as it has no pyproject.toml" in error


@pytest.mark.slow
def test_a_checkout_compared_with_itself_gives_the_same_results(
    games: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(monkeypatch, ROOT, "--records", games, "--games", "20", "--matches", "4", "--repeats", "1") == 0
    rows = capsys.readouterr().out.splitlines()[1:]
    assert [row.split()[0] for row in rows] == ["annotate,", "pack,", "train", "train", "arena,"]
    assert all("  the same (" in row for row in rows)
