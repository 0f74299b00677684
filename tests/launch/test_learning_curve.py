"""launch/reports/learning_curve.py: a forecast for more games."""

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


def forecast(monkeypatch: pytest.MonkeyPatch, evaluation: Path) -> int:
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
    evaluation = tmp_path / "curve.json"
    command = [*runs[::-1], str(folders[16]), "--split", "validation", "--json", str(evaluation), "--bootstrap", "5"]
    assert evaluate(command) == 0
    content = json.loads(evaluation.read_text())
    for values, message in (
        ((1.8, 1.9, 2.1), "100 times the games"),
        ((2.1, 1.9, 1.8), "do not improve it here; no forecast"),
    ):
        for entry, value in zip(content["weights"], values, strict=True):  # of 16, 8 and 4 games
            entry["agreement"]["nll"]["value"] = value
        evaluation.write_text(json.dumps(content))
        capsys.readouterr()
        assert forecast(monkeypatch, evaluation) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split(" | ")[0] for line in lines[2:5]] == ["| 4", "| 8", "| 16"]
        assert lines[-3].startswith("negative log-likelihood: games ** ") and lines[-3].endswith(message)
        assert "±" in lines[-3] and "--" not in lines[-3]
    evaluation.write_text(json.dumps({**content, "weights": content["weights"][:2]}))
    assert forecast(monkeypatch, evaluation) == 0
    printed = capsys.readouterr().out
    assert "±" not in printed and "nan" not in printed


def agreement(**changed: float) -> dict[str, Any]:
    return {key: {"value": changed.get(key, 0.5)} for key in ("nll", "top1", "discard/accuracy")}


def network(path: Path, **changed: Any) -> dict[str, Any]:
    return {"path": str(path), "stage": "imitation", "steps": 3, "agreement": agreement(), **changed}


@pytest.mark.parametrize("content", ["", "[]", '{"weights": [{}]}'])
def test_a_file_that_is_not_an_evaluation_is_refused_in_one_line(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "other.json"
    file.write_text(content)
    assert forecast(monkeypatch, file) == 1
    printed = capsys.readouterr().err
    assert str(file) in printed and len(printed.splitlines()) == 1


def test_networks_that_make_no_curve_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, weights = tmp_path / "curve.json", written(tmp_path / "tiny")
    for networks, message in (
        ([network(weights), network(weights, steps=4)], "networks of 3, 4 steps"),
        ([network(weights)], "does not contain the number of games"),
        ([], "at least two numbers of games"),
    ):
        file.write_text(json.dumps({"weights": networks}))
        assert forecast(monkeypatch, file) == 1
        assert message in capsys.readouterr().err


def test_weights_of_the_package_are_found_by_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "curve.json"
    file.write_text(json.dumps({"weights": [network(Path("reference"))]}))
    assert forecast(monkeypatch, file) == 1
    assert "at least two numbers of games" in capsys.readouterr().err
