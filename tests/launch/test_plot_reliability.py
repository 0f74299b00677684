"""launch/reports/plot_reliability.py: a picture of what kanachan-evaluate has found, or one line that says why not."""

import json
import sys
from pathlib import Path

import pytest

from kanachan.cli.evaluate import main as evaluate
from kanachan.objectives.stages import STAGES
from tests.support.launched import program
from tests.support.packed import packed
from tests.support.tiny_weights import written

pytest.importorskip("matplotlib", reason="the extra `pictures` is not installed")


def draw(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["reliability.py", *map(str, arguments)])
    return int(program("plot_reliability").main())


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_networks_of_all_stages_become_one_picture(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards = packed(tmp_path / "shards", train=60, test=40)
    networks = [str(written(tmp_path / stage, stage)) for stage in STAGES]
    figures, picture = tmp_path / "all.json", tmp_path / f"picture{suffix}"
    assert evaluate([*networks, str(shards), "--json", str(figures), "--bootstrap", "5"]) == 0
    assert draw(monkeypatch, figures, "-o", picture) == 0
    assert picture.read_bytes().startswith(b"\x89PNG" if suffix == ".png" else b"<?xml")
    if suffix == ".svg":  # what it says stands in comments
        assert b"starts of rounds" in picture.read_bytes() and b"scores and round only" in picture.read_bytes()


@pytest.mark.parametrize("content", ["", "[]", '{"weights": [{}]}', json.dumps({"weights": []})])
def test_what_is_no_evaluation_is_refused_in_one_line(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "other.json"
    file.write_text(content)
    assert draw(monkeypatch, file, "-o", tmp_path / "picture.png") == 1
    said = capsys.readouterr().err
    assert str(file) in said and len(said.splitlines()) == 1
    assert not (tmp_path / "picture.png").exists()
