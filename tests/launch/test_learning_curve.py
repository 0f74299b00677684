"""launch/reports/learning_curve.py: what more games would bring."""

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

from annotate.annotation import format_line
from kanachan.cli.evaluate import main as evaluate
from kanachan.data.pack import pack
from kanachan.data.pack_options import Packing
from tests.support.launched import program
from tests.support.random_annotations import random_annotations
from tests.support.tiny_runs import run
from tests.support.tiny_weights import written


def shards_of(folder: Path, games: int) -> Path:
    texts = {}
    for seed, (split, num) in enumerate({"train": 300, "validation": 60}.items()):
        texts[split] = folder.parent / f"{folder.name}-{split}.txt"
        texts[split].write_text("".join(f"{format_line(a)}\n" for a in random_annotations(num, seed, games)))
    pack({split: (str(text),) for split, text in texts.items()}, folder, Packing())
    return folder


def asked(monkeypatch: pytest.MonkeyPatch, evaluation: Path) -> int:
    monkeypatch.setattr(sys, "argv", ["learning_curve.py", str(evaluation)])
    return int(program("learning_curve").main())


def test_the_exponent_of_a_power_law_is_found() -> None:
    law = program("learning_curve").PowerLaw.through([10, 30, 100], [3 * n**-0.25 for n in (10, 30, 100)])
    assert law.exponent == pytest.approx(0.25) and law.error == pytest.approx(0, abs=1e-6)
    assert law.at(1000) == pytest.approx(3 * 1000**-0.25)


def test_two_points_leave_no_error_of_the_exponent() -> None:
    assert math.isnan(program("learning_curve").PowerLaw.through([10, 100], [2.0, 1.0]).error)


def test_networks_of_fewer_and_more_games_make_a_table_and_a_forecast(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = {games: shards_of(tmp_path / f"shards{games}", games) for games in (4, 8, 16)}
    runs = []
    for games, shards in folders.items():
        runs.append(str(tmp_path / f"run{games}"))
        assert run("imitation", shards, Path(runs[-1]), "--run.steps", "3") == 0
    figures = tmp_path / "curve.json"
    command = [*runs[::-1], str(folders[16]), "--split", "validation", "--json", str(figures), "--bootstrap", "5"]
    assert evaluate(command) == 0
    content = json.loads(figures.read_text())
    for values, told in (((1.8, 1.9, 2.1), "100 times the games"), ((2.1, 1.9, 1.8), "nothing here; no forecast")):
        for entry, value in zip(content["weights"], values, strict=True):  # of 16, 8 and 4 games
            entry["agreement"]["nll"]["value"] = value
        figures.write_text(json.dumps(content))
        capsys.readouterr()
        assert asked(monkeypatch, figures) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split(" | ")[0] for line in lines[2:5]] == ["| 4", "| 8", "| 16"]
        assert lines[-3].startswith("negative log-likelihood: games ** ") and lines[-3].endswith(told)
        assert "±" in lines[-3] and "--" not in lines[-3]
    figures.write_text(json.dumps({**content, "weights": content["weights"][:2]}))
    assert asked(monkeypatch, figures) == 0
    said = capsys.readouterr().out
    assert "±" not in said and "nan" not in said


def agreement(**changed: float) -> dict[str, Any]:
    return {key: {"value": changed.get(key, 0.5)} for key in ("nll", "top1", "discard/accuracy")}


def network(path: Path, **changed: Any) -> dict[str, Any]:
    return {"path": str(path), "stage": "imitation", "steps": 3, "agreement": agreement(), **changed}


@pytest.mark.parametrize("content", ["", "[]", '{"weights": [{}]}'])
def test_what_is_no_evaluation_is_refused_in_one_line(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "other.json"
    file.write_text(content)
    assert asked(monkeypatch, file) == 1
    said = capsys.readouterr().err
    assert str(file) in said and len(said.splitlines()) == 1


def test_networks_that_make_no_curve_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, weights = tmp_path / "curve.json", written(tmp_path / "tiny")
    for networks, told in (
        ([network(weights), network(weights, steps=4)], "networks of 3, 4 steps"),
        ([network(weights)], "does not say how many games"),
        ([], "at least two numbers of games"),
    ):
        file.write_text(json.dumps({"weights": networks}))
        assert asked(monkeypatch, file) == 1
        assert told in capsys.readouterr().err
