"""The examples of docs/export.md run as they are, on the weights of the package."""

import shutil
from pathlib import Path

import pytest

from tests.support.examples import run_example
from tests.support.packed import packed
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "export.md"
RECORD = next((ROOT / "tests" / "golden" / "records").glob("*.mjlog"))


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_weights_are_loaded(capsys: pytest.CaptureFixture[str]) -> None:
    run_example(PAGE, "<!-- load -->")
    assert "imitation - probability" in capsys.readouterr().out


def test_a_policy_is_asked_about_a_record(capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(RECORD, "game.mjlog")
    names = run_example(PAGE, "<!-- ask -->")
    assert isinstance(names["actions"], dict) and sum(names["actions"].values()) == pytest.approx(1, abs=1e-4)
    assert [*names["actions"].values()] == sorted(names["actions"].values(), reverse=True)
    assert "hand: " in capsys.readouterr().out


def test_a_data_set_is_iterated_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed(tmp_path / "shards", train=3, validation=5)
    run_example(PAGE, "<!-- iterate -->")
    assert "% of the actions are those of the players" in capsys.readouterr().out
