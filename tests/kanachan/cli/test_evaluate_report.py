"""What kanachan-evaluate prints and writes, and what it refuses."""

import io
import json
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from annotate.vocabulary import FOUR_PLAYERS as V
from kanachan.cli.evaluate import main
from kanachan.config import StageName
from kanachan.data.pack import pack
from kanachan.data.pack_options import Packing
from kanachan.objectives.stages import STAGES
from tests.support.packed import packed, write_lines
from tests.support.random_annotations import random_annotations
from tests.support.tiny_weights import written

NUM_TRAIN, NUM_TEST = 150, 90
DRAWS = ["--bootstrap", "20", "--baseline", "fitted"]


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed(tmp_path_factory.mktemp("data") / "shards", train=NUM_TRAIN, test=NUM_TEST)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> dict[StageName, Path]:
    folder = tmp_path_factory.mktemp("weights")
    return {stage: written(folder / stage, stage) for stage in STAGES}


def test_the_same_call_gives_the_same_output_and_fits_the_screen(
    weights: dict[StageName, Path], shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*(str(path.parent) for path in weights.values()), str(shards), *DRAWS]
    texts = []
    for number in range(2):
        out = tmp_path / f"{number}.json"
        assert main([*arguments, "--json", str(out)]) == 0
        texts.append((capsys.readouterr().out, out.read_text()))
    assert texts[0] == texts[1]
    tables = texts[0][0].split("Imitation:")[1]  # the text before it contains paths
    assert max(map(len, tables.splitlines())) <= 110  # untrained networks are very wrong


def test_some_of_the_decisions_are_distinguished_from_all_of_them(
    weights: dict[StageName, Path], shards: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.json"
    assert main([str(weights["imitation"]), str(shards), "--limit", "20", "--json", str(out), *DRAWS]) == 0
    content = json.loads(out.read_text())
    assert (content["decisions"], content["limit"]) == (20, 20)


def test_metrics_are_written_only_on_request_and_over_no_file_without_force(
    weights: dict[StageName, Path], shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = weights["imitation"], tmp_path / "out.json"
    before = sorted(path.parent.iterdir())
    assert main([str(path), str(shards), *DRAWS]) == 0
    assert sorted(path.parent.iterdir()) == before
    out.write_text("mine")
    command = [str(path), str(shards), "--json", str(out), *DRAWS]
    assert main(command) == 1
    assert f"{out}: exists: name another file, or replace it with --force" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert main([*command, "--force"]) == 0
    assert json.loads(out.read_text())["split"] == "test"


def test_without_a_train_split_there_is_no_baseline(
    weights: dict[StageName, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = packed(tmp_path / "shards", train=0, test=40)
    out = tmp_path / "out.json"
    assert main([str(weights["rank"]), str(weights["grading"]), str(folder), "--json", str(out), *DRAWS]) == 0
    rank, grading = json.loads(out.read_text())["weights"]
    assert set(rank["values"]) == set(grading["values"]) == {"action", "situation"}
    assert set(rank["log_likelihood"]["rank"]) == {"action", "situation"}
    assert not rank["less_scores"] and "rank at starts of rounds, scores" not in rank["reliability"]
    assert "no baseline" in capsys.readouterr().out


@pytest.mark.parametrize(("games", "is_marked"), [(1, False), (8, True)])
def test_a_difference_from_the_scores_is_marked_only_where_games_are_not_too_few(
    weights: dict[StageName, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], games: int, is_marked: bool
) -> None:
    sources = {
        split: (write_lines(tmp_path / split, random_annotations(60, seed, of)),)
        for seed, (split, of) in enumerate({"train": 8, "test": games}.items())
    }
    pack(sources, tmp_path / "shards", Packing())
    assert main([str(weights["rank"]), str(tmp_path / "shards"), *DRAWS]) == 0
    (line, *_) = (line for line in capsys.readouterr().out.splitlines() if "action taken, less scores" in line)
    assert ("*" in line) == is_marked


def test_a_network_without_a_value_baseline_is_measured_on_the_actions_alone(shards: Path, tmp_path: Path) -> None:
    path, out = written(tmp_path, "rank", baseline=0.0), tmp_path / "out.json"
    assert main([str(path), str(shards), "--json", str(out), *DRAWS]) == 0
    (entry,) = json.loads(out.read_text())["weights"]
    assert set(entry["values"]) == {"action", "scores"}
    assert set(entry["log_likelihood"]["order"]) == {"scores"}
    assert set(entry["less_scores"]) == {"rank"}


def test_the_metrics_are_written_if_the_table_cannot_be(
    weights: dict[StageName, Path], shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError("no space left on device")

    monkeypatch.setattr(sys, "stdout", Gone())
    assert main([str(weights["rank"]), str(shards), "--json", str(tmp_path / "out.json"), *DRAWS]) == 1
    assert json.loads((tmp_path / "out.json").read_text())["decisions"] == NUM_TEST


def test_what_cannot_be_measured_is_refused_in_one_line(
    weights: dict[StageName, Path], shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "nothing").mkdir()
    other = packed(tmp_path / "other", train=0, test=30)
    shard = other / "test-00000.arrow"
    with pa.ipc.open_stream(shard.read_bytes()) as stream:
        table = stream.read_all()
    description = table.schema.metadata[b"kanachan"].replace(V.fingerprint.encode(), b"0123456789abcdef")
    table = table.replace_schema_metadata({b"kanachan": description})
    with pa.ipc.new_stream(shard, table.schema) as stream:
        stream.write_table(table)
    cut = tmp_path / "cut.safetensors"
    cut.write_bytes(weights["rank"].read_bytes()[:-100])
    good = str(weights["imitation"])
    for arguments, why in (
        ([good, str(shards), "--split", "validation"], "no shards of the split 'validation'; there are: train, test"),
        ([good, str(tmp_path / "nothing")], "it holds no shards"),
        ([good, str(tmp_path / "none")], "none: "),
        ([good, str(other)], f"0123456789abcdef, but this program's is {V.name} {V.fingerprint}"),
        ([good, str(cut), str(shards)], f"{cut}: not a complete weights file"),
        ([good, str(tmp_path / "nothing"), str(shards)], "has the run ended?"),
        ([good, str(shards), "--device", "abacus"], "--device abacus"),
    ):
        assert main(arguments) == 1
        captured = capsys.readouterr()
        assert why in captured.err and len(captured.err.splitlines()) == 1
        assert not captured.out


def test_a_missing_split_is_refused_with_advice(
    weights: dict[StageName, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = packed(tmp_path / "shards", train=40)
    assert main([str(weights["rank"]), str(folder), *DRAWS]) == 1
    error = capsys.readouterr().err
    assert "no shards of the split 'test'; there are: train" in error and "--split" in error and "--fractions" in error


def test_each_network_has_a_verdict_and_chance_stands_in_its_tables(
    weights: dict[StageName, Path], shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    assert main([*(str(path) for path in weights.values()), str(shards), "--json", str(out), *DRAWS]) == 0
    printed = capsys.readouterr().out
    entries = json.loads(out.read_text())["weights"]
    for letter, entry in zip("ABCD", entries, strict=True):
        start = f"{letter}: {entry['verdict']['sentence']}"[:80]
        assert start in printed
        assert entry["chance"]["top1"]["decisions"] == NUM_TEST
    assert printed.count("all, chance") == len(STAGES) and "chance (the mean of all)" in printed
