"""launch/reports/plot_reliability.py: a picture of kanachan-evaluate's output."""

import sys
from pathlib import Path

import pytest

from kanachan.cli.evaluate import main as evaluate
from kanachan.cli.predict import main as predict
from kanachan.objectives.stages import STAGES
from tests.support.launched import program
from tests.support.packed import packed, write_lines
from tests.support.random_annotations import random_annotations
from tests.support.tiny_weights import written

pytest.importorskip("matplotlib", reason="the extra `pictures` is not installed")


def draw(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["plot_reliability.py", *map(str, arguments)])
    return int(program("plot_reliability").main())


def test_networks_of_all_stages_become_one_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shards = packed(tmp_path / "shards", train=60, test=40)
    networks = [str(written(tmp_path / stage, stage)) for stage in STAGES]
    evaluation, png, svg = (tmp_path / name for name in ("all.json", "picture.png", "picture.svg"))
    assert evaluate([*networks, str(shards), "--json", str(evaluation), "--bootstrap", "5"]) == 0
    assert draw(monkeypatch, evaluation, "-o", png) == draw(monkeypatch, evaluation, "-o", svg) == 0
    assert png.read_bytes().startswith(b"\x89PNG") and svg.read_bytes().startswith(b"<?xml")
    # the SVG has its text in comments
    assert b"starts of rounds" in svg.read_bytes() and b"scores and round only" in svg.read_bytes()


def test_probabilities_from_a_file_are_drawn_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights, lines = str(written(tmp_path)), write_lines(tmp_path / "lines.txt", random_annotations(40, seed=2))
    predictions, evaluation, picture = (tmp_path / name for name in ("predictions.txt", "e.json", "picture.svg"))
    assert predict([weights, lines, "-o", str(predictions)]) == 0
    given = ["--predictions", str(predictions), "--json", str(evaluation), "--bootstrap", "5"]
    assert evaluate([weights, lines, *given]) == draw(monkeypatch, evaluation, "-o", picture) == 0
    # the SVG has its text in comments
    assert b"predictions.txt" in picture.read_bytes()


def test_json_of_something_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "list.json").write_text("[]")
    assert draw(monkeypatch, tmp_path / "list.json", "-o", tmp_path / "picture.svg") == 1
    assert "list.json: holds no network" in capsys.readouterr().err
