"""Games of three players from records to a trained network, by the commands for games of four."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from datasets import Dataset

from annotate.annotation import parse_line
from kanachan.cli import annotate, evaluate, pack, predict, review, train
from kanachan.data.batch import TokenLayout
from kanachan.data.shard_folder import shards_of
from kanachan.data.shards import open_shards
from kanachan.models.weights import read_weights
from tests.support.paths import GOLDEN
from tests.support.rounds import V3
from tests.support.three_players import write_records
from tests.support.tiny_runs import run
from tests.support.tiny_weights import written

SHARES = ("--fractions", "0.5,0.25,0.25")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_records(tmp_path_factory.mktemp("records"))


@pytest.fixture(scope="module")
def lines(records: Path) -> Path:
    path = records.parent / "lines3.txt"
    assert annotate.main([str(records), "-o", str(path), "-j", "1", "--hidden"]) == 0
    return path


@pytest.fixture(scope="module")
def shards(records: Path) -> Path:
    folder = records.parent / "shards3"
    assert annotate.main([str(records), "--pack", str(folder), "-j", "1", "--hidden", *SHARES]) == 0
    return folder


@pytest.fixture(scope="module")
def trained(shards: Path) -> Path:
    out = shards.parent / "run3"
    assert run("imitation", shards, out, "--run.steps", "2", "--run.wandb", "disabled") == 0
    return out


def test_packing_records_and_packing_their_lines_give_the_same_shards(
    lines: Path, shards: Path, tmp_path: Path
) -> None:
    assert pack.main([str(lines), "-o", str(tmp_path / "shards"), *SHARES]) == 0

    for name in ("train", "validation"):
        (one,), (other,) = (shards_of(str(folder), name) for folder in (shards, tmp_path / "shards"))
        tables = [Dataset.from_file(str(path)).with_format("arrow")[:] for path in (one, other)]
        assert tables[0].equals(tables[1])


def test_shards_of_three_name_their_vocabulary_and_hold_lists_of_three(shards: Path) -> None:
    opened = open_shards(str(shards), "train")
    assert opened.vocabulary is V3
    columns = opened.gather(np.arange(len(opened)))
    assert (columns.numeric.shape[1], columns.results.shape[1]) == (5, 10)


def test_a_network_learns_from_games_of_three_and_predicts_them(
    trained: Path, shards: Path, lines: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate.main([str(trained), str(shards), "--bootstrap", "20", "--json", str(tmp_path / "e.json")]) == 0
    assert "kita" in (tmp_path / "e.json").read_text()
    capsys.readouterr()

    first = lines.read_text().splitlines(keepends=True)[:3]
    (tmp_path / "first.txt").write_text("".join(first))
    assert predict.main([str(trained), str(tmp_path / "first.txt"), "--explain"]) == 0
    assert "seat 2" in capsys.readouterr().out


def test_weights_name_the_vocabulary_of_three(trained: Path) -> None:
    assert json.loads((trained / "card.json").read_text())["vocabulary"] == V3.name


def test_a_network_of_three_starts_from_weights_of_four(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    init, out = written(tmp_path / "four"), tmp_path / "run"
    capsys.readouterr()
    arguments = ("--init", str(init), "--run.steps", "2", "--run.validation_interval", "64", "--run.wandb", "disabled")
    assert run("imitation", shards, out, *arguments, "--optim.learning_rate", "1e-9") == 0

    assert f"encoder and decoder from {init} (kanachan-4p: 1,588 tokens, 5 numbers" in capsys.readouterr().out
    mine, theirs = read_weights(out), read_weights(init)
    assert (mine.vocabulary, mine.card["lineage"][-1]["mapped"]["tokens"]) == (V3, 1588)
    begin = (TokenLayout(v).event_first + v.progression["begin"].first for v in (V3, theirs.vocabulary))
    rows = [w.tensors["encoder.token_embedding.weight"][row] for w, row in zip((mine, theirs), begin, strict=True)]
    assert torch.allclose(*rows, atol=1e-6)

    assert train.main(["--resume", str(out), "--run.steps", "3"]) == 0
    assert read_weights(out).card["lineage"] == mine.card["lineage"]


def test_lines_of_three_and_of_four_are_not_packed_together(
    lines: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pack.main([str(lines), str(GOLDEN / "golden.txt"), "-o", str(tmp_path / "shards")]) == 1
    assert "golden.txt:1: " in capsys.readouterr().err


def test_a_game_is_reviewed_by_a_network_of_three(
    trained: Path, records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = str(next(records.glob("*.mjlog")))
    assert review.main([record, str(trained), "--seat", "2", "-o", str(tmp_path / "page.html")]) == 0
    assert "decisions of seat 2" in capsys.readouterr().err


def test_every_line_is_of_three_players(lines: Path) -> None:
    for line in lines.read_text().splitlines()[::20]:
        assert parse_line(line, V3).hidden is not None
