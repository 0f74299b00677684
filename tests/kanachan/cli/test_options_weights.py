"""Every command takes the weights of the package by name."""

import io
import json
from pathlib import Path

import pytest

from annotate.annotation import format_line
from kanachan.cli import bot, evaluate, export, predict, train
from kanachan.models.reference import FOLDER
from kanachan.models.weights import read_weights
from tests.support.packed import packed
from tests.support.paths import CONFIGS
from tests.support.random_annotations import random_annotations


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed(tmp_path_factory.mktemp("data") / "shards", train=60, validation=60, test=60)


@pytest.fixture(autouse=True)
def untouched_package() -> None:
    """Every test leaves the folder of the package as it was."""
    before = {path: path.stat().st_mtime_ns for path in FOLDER.iterdir()}
    yield
    assert {path: path.stat().st_mtime_ns for path in FOLDER.iterdir()} == before


def test_predict(tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("".join(f"{format_line(a)}\n" for a in random_annotations(3, seed=1)))
    assert predict.main(["reference", str(lines), "-o", str(tmp_path / "out.txt")]) == 0
    assert len((tmp_path / "out.txt").read_text().splitlines()) == 3


def test_bot(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"type":"start_game"}\n')))
    assert bot.main(["reference", "2"]) == 0
    assert json.loads(capsys.readouterr().out) == {"type": "none"}


def test_evaluate_writes_nothing_into_the_package(shards: Path, tmp_path: Path) -> None:
    assert evaluate.main(["reference", str(shards), "--bootstrap", "10"]) == 0
    assert evaluate.main(["reference", str(shards), "--bootstrap", "10", "--json", str(tmp_path / "e.json")]) == 0
    assert json.loads((tmp_path / "e.json").read_text())["weights"][0]["path"] == "reference"


def test_export(tmp_path: Path) -> None:
    assert export.main(["reference", "-o", str(tmp_path / "encoder")]) == 0
    assert (tmp_path / "encoder" / "config.json").is_file()


def test_training_starts_from_the_encoder_and_records_the_name(shards: Path, tmp_path: Path, threads: None) -> None:
    model = read_weights("reference").model
    sizes = [f"--model.{name}={getattr(model, name)}" for name in ("width", "layers", "heads", "feedforward")]
    command = ["--stage", "round_delta", "--config", str(CONFIGS / "debug.yaml"), "--data.path", str(shards)]
    run = ["--run.out", str(tmp_path / "run"), "--run.steps", "1", "--run.threads", "1", "--run.measure_peak", "false"]
    assert train.main([*command, *run, "--init", "reference", *sizes]) == 0
    card = read_weights(tmp_path / "run").card
    assert card["config"]["init"] == "reference"
    assert card["lineage"][-1]["name"] == "reference"
