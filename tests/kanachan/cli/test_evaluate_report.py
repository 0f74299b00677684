"""What kanachan-evaluate prints and writes, and what it refuses."""

import io
import json
import sys
from pathlib import Path

import pytest

from kanachan.cli.evaluate import main
from kanachan.config import StageName
from tests.support.packed import packed
from tests.support.tiny_weights import written

NUM_TRAIN, NUM_TEST = 150, 90
DRAWS = ["--bootstrap", "20", "--baseline", "fitted"]


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed(tmp_path_factory.mktemp("data") / "shards", train=NUM_TRAIN, test=NUM_TEST)


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
