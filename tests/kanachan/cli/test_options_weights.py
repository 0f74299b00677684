"""Every command takes the weights of the package by name."""

import io
import json
import os
from pathlib import Path

import pytest

from annotate.annotation import format_line
from kanachan.cli import arena, bot, calibrate, evaluate, export, predict, review, train
from kanachan.models.reference import FOLDER
from kanachan.models.weights import read_weights
from tests.support.packed import packed
from tests.support.paths import CONFIGS
from tests.support.random_annotations import random_annotations
from tests.support.reviewed import events_of, write_record

NOT_SHIPPED = "reference/nope: not among the weights of this package, which are reference"


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


def test_review_shows_the_name(tmp_path: Path) -> None:
    record = write_record(tmp_path / "game.jsonl", events_of(5))
    out = [*("-o", str(tmp_path / "page.html")), "--json", str(tmp_path / "page.json")]
    assert review.main([str(record), "reference", "--seat", "0", *out]) == 0
    assert [model["name"] for model in json.loads((tmp_path / "page.json").read_text())["models"]] == ["reference"]


def test_bot(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"type":"start_game"}\n')))
    assert bot.main(["reference", "2"]) == 0
    assert json.loads(capsys.readouterr().out) == {"type": "none"}


@pytest.mark.slow
def test_arena(tmp_path: Path) -> None:
    options = [
        "-n",
        "4",
        "--style",
        "east",
        "--bootstrap",
        "10",
        "--processes",
        "1",
        "--json",
        str(tmp_path / "a.json"),
    ]
    assert arena.main(["reference/rank@0.5", "random", *options]) == 0
    assert json.loads((tmp_path / "a.json").read_text())["match"]["players"] == [
        "reference/rank@0.5",
        "random",
    ]


def test_evaluate_writes_nothing_into_the_package(shards: Path, tmp_path: Path) -> None:
    assert evaluate.main(["reference", str(shards), "--bootstrap", "10"]) == 0
    assert evaluate.main(["reference", str(shards), "--bootstrap", "10", "--json", str(tmp_path / "e.json")]) == 0
    assert json.loads((tmp_path / "e.json").read_text())["weights"][0]["path"] == "reference"


def test_calibrate_reads_the_weights_of_the_package(shards: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = calibrate.main(["reference", str(shards), "--bootstrap", "10"])
    printed = capsys.readouterr()
    # random decisions have no best temperature, which only a network that was loaded can find out
    assert "temperature" in printed.out if status == 0 else "no temperature up to" in printed.err


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


@pytest.mark.parametrize(
    "command",
    [
        lambda shards, out: predict.main(["reference/nope", os.devnull, "-o", out]),
        lambda shards, out: bot.main(["reference/nope", "2"]),
        lambda shards, out: arena.main(["reference/nope", "rule", "-n", "4"]),
        lambda shards, out: evaluate.main(["reference/nope", shards]),
        lambda shards, out: calibrate.main(["reference/nope", shards, "-o", out]),
        lambda shards, out: export.main(["reference/nope", "-o", out]),
    ],
    ids=["predict", "bot", "arena", "evaluate", "calibrate", "export"],
)
def test_a_name_that_is_not_shipped_is_refused_with_those_that_are(
    command: object, shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(command)
    assert command(str(shards), str(tmp_path / "out")) != 0
    assert NOT_SHIPPED in capsys.readouterr().err


def test_training_from_a_name_that_is_not_shipped_is_refused(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["--data.path", str(shards), "--run.out", str(tmp_path / "out")]
    with pytest.raises(SystemExit):
        train.main(["--stage", "rank", *run, "--init", "reference/nope"])
    assert NOT_SHIPPED in capsys.readouterr().err
