"""Probabilities that any program gives for annotation lines are read, checked and measured like a network's."""

import gzip
import json
from pathlib import Path

import pytest

from kanachan.cli import evaluate, predict
from kanachan.evaluation.predictions_file import held_out_lines, predictions_in
from kanachan.inference.reward_predictor import RewardPredictor
from tests.support.packed import packed, write_lines
from tests.support.random_annotations import random_annotations
from tests.support.tiny_weights import written

ANNOTATIONS = random_annotations(60, seed=2)
OTHER = (ANNOTATIONS[0].chosen + 1) % len(ANNOTATIONS[0].actions)
IMPOSSIBLE = ",".join("1" if i == OTHER else "0" for i in range(len(ANNOTATIONS[0].actions)))
"""probabilities for the first decision, with 0 for the action taken"""
DRAWS = ["--bootstrap", "20"]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_lines(tmp_path_factory.mktemp("lines") / "lines.txt", ANNOTATIONS)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(written(tmp_path_factory.mktemp("weights")))


def uniform() -> list[str]:
    return [",".join([repr(1 / len(a.actions))] * len(a.actions)) for a in ANNOTATIONS]


@pytest.mark.parametrize("limit", [(), ("--limit", "20")])
def test_the_output_of_predict_gives_the_metrics_of_the_weights(
    limit: tuple[str, ...], weights: str, lines: str, tmp_path: Path
) -> None:
    predictions, out = str(tmp_path / "predictions.txt.zst"), tmp_path / "out.json"
    assert predict.main([weights, lines, "-o", predictions]) == 0
    assert evaluate.main([weights, lines, "--predictions", predictions, "--json", str(out), *limit, *DRAWS]) == 0
    network, file = json.loads(out.read_text())["weights"]
    assert file["path"] == predictions
    assert network["agreement"].keys() == file["agreement"].keys()
    for name, estimate in network["agreement"].items():
        assert file["agreement"][name] == pytest.approx(estimate, abs=1e-5), name
    differences = file["comparison"]["differences"]
    assert differences["agreement/top1"]["difference"]["value"] == 0
    assert differences["agreement/nll"]["difference"]["value"] == pytest.approx(0, abs=1e-5)


def test_lines_and_shards_of_the_same_decisions_give_the_same_metrics(weights: str, tmp_path: Path) -> None:
    folder = packed(tmp_path / "shards", train=0, test=60)  # by the same seed, the same decisions as ANNOTATIONS
    for name, source in (("shards", str(folder)), ("lines", write_lines(tmp_path / "lines.txt", ANNOTATIONS))):
        assert evaluate.main([weights, source, "--json", str(tmp_path / f"{name}.json"), *DRAWS]) == 0
    of_shards, of_lines = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("shards", "lines"))
    assert (of_shards["split"], of_lines["split"]) == ("test", "lines")
    for name, estimate in of_shards["weights"][0]["agreement"].items():
        assert of_lines["weights"][0]["agreement"][name]["value"] == pytest.approx(estimate["value"], abs=1e-5)


def test_a_byte_order_mark_is_not_part_of_the_first_game(weights: str, lines: str, tmp_path: Path) -> None:
    marked, predictions, out = (tmp_path / name for name in ("marked.txt", "predictions.txt", "out.json"))
    assert predict.main([weights, lines, "-o", str(predictions)]) == 0
    for path, source in ((marked, Path(lines)), (predictions, predictions)):
        path.write_bytes(b"\xef\xbb\xbf" + source.read_bytes())
    given = ["--predictions", str(predictions), "--json", str(out), *DRAWS]
    assert evaluate.main([weights, str(marked), *given]) == 0
    assert json.loads(out.read_text())["games"] == len({annotation.game for annotation in ANNOTATIONS})


def test_a_file_may_have_only_probabilities_and_uniform_ones_equal_chance(
    weights: str, lines: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine, out = tmp_path / "mine.txt.gz", tmp_path / "out.json"
    mine.write_bytes(gzip.compress("".join(f"{line}\n" for line in uniform()).encode()))
    assert evaluate.main([weights, lines, "--predictions", str(mine), "--json", str(out), *DRAWS]) == 0
    entry = json.loads(out.read_text())["weights"][1]
    assert entry["agreement"]["nll"] == pytest.approx(entry["chance"]["nll"])
    assert entry["verdict"]["result"] == "no_better_than_chance"
    assert "B - A" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: [*rows[:4], rows[4] + ",0.0", *rows[5:]], ":5: {more} probabilities, but the decision has {n}"),
        (lambda rows: ["nan" + rows[0][rows[0].index(",") :], *rows[1:]], ":1: nan is not a probability"),
        (lambda rows: ["a" + rows[0], *rows[1:]], ":1: not probabilities separated by commas"),
        (lambda rows: ["", *rows[1:]], ":1: not probabilities separated by commas"),
        (lambda rows: ["0.5\t" + rows[0], *rows[1:]], ":1: before the probabilities is not line 1 of "),
        (lambda rows: rows[:-1], ": ends after line 59; "),
        (lambda rows: [*rows, "1"], ":61: more lines than the 60 of "),
        (lambda rows: [IMPOSSIBLE, *rows[1:]], ":1: the action taken has probability 0"),
    ],
)
def test_invalid_probabilities_are_refused_with_file_and_line(
    change: object, message: str, lines: str, tmp_path: Path
) -> None:
    assert callable(change)
    size = len(ANNOTATIONS[4].actions)
    path = tmp_path / "mine.txt"
    path.write_text("".join(f"{row}\n" for row in change(uniform())))
    with pytest.raises(ValueError) as error:
        predictions_in(str(path), held_out_lines(lines, RewardPredictor.load("reference/reward"), None, 10, ()))
    assert str(error.value).startswith(f"{path}{message.format(n=size, more=size + 1)}")
