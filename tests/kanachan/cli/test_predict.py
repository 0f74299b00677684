"""kanachan-predict: adds one field to each line."""

import gzip
import io
import json
import sys
from pathlib import Path

import pytest
from safetensors.torch import save_file

from annotate.annotation import format_line
from annotate.vocabulary import FOUR_PLAYERS, THREE_PLAYERS
from annotate.words import describe_action
from kanachan.cli.predict import explained, main
from kanachan.config import StageName
from kanachan.inference.policy import Policy
from kanachan.models.weights import read_weights
from kanachan.objectives.stages import STAGES
from tests.support.random_annotations import random_annotations
from tests.support.three_players import decisions_of_three
from tests.support.tiny_weights import written

ANNOTATIONS = random_annotations(9, seed=4)
LINES = [format_line(annotation) for annotation in ANNOTATIONS]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> dict[StageName, str]:
    folder = tmp_path_factory.mktemp("weights")
    return {stage: str(written(folder / stage, stage)) for stage in STAGES}


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"{line}\n" for line in LINES))
    return path


def test_what_holds_no_annotations_is_refused_by_what_it_is(
    weights: dict[StageName, str], lines: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "game.mjlog"
    record.write_text('<mjloggm ver="2.3"><SHUFFLE seed="mt19937ar" ref=""/></mjloggm>')
    events, cut_off = tmp_path / "game.jsonl", tmp_path / "cut.txt"
    events.write_text('{"type":"start_game"}\n')
    cut_off.write_text("game-1\t1,2")
    for path, why in (
        (record, f"{record}: looks like a game record: run kanachan-annotate first"),
        (events, f"{events}: looks like a game record: run kanachan-annotate first"),
        (cut_off, f"{cut_off}:1: not an annotation, or cut off; kanachan-annotate makes annotations from game records"),
        (tmp_path / "none.txt", "no such file or folder"),
        (tmp_path, "kanachan-pack --unpack makes them from shards"),
    ):
        assert main([weights["rank"], str(path)]) == 1
        assert why in capsys.readouterr().err
    before = lines.read_text()
    assert main([weights["rank"], str(lines), "-o", str(lines)]) == 1
    assert lines.read_text() == before


@pytest.mark.parametrize("stage", STAGES)
def test_a_field_with_a_number_for_every_candidate_is_added(
    weights: dict[StageName, str], lines: Path, tmp_path: Path, stage: StageName
) -> None:
    out = tmp_path / "out.txt"
    assert main([weights[stage], str(lines), "-o", str(out), "--batch", "2"]) == 0
    predictions = Policy.load(weights[stage]).predictions(ANNOTATIONS)
    for text, line, prediction in zip(out.read_text().splitlines(), LINES, predictions, strict=True):
        before, _, added = text.rpartition("\t")
        assert before == line
        expected = prediction.score if stage != "imitation" else prediction.probability
        assert [float(number) for number in added.split(",")] == pytest.approx(expected.tolist(), rel=1e-3, abs=1e-4)


def test_the_numbers_are_written_with_all_their_digits(
    weights: dict[StageName, str], lines: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([weights["grading"], str(lines)]) == 0
    added = capsys.readouterr().out.splitlines()[0].rpartition("\t")[2].split(",")
    expected = Policy.load(weights["grading"]).scores(ANNOTATIONS)[0]
    assert [float(number) for number in added] == [float(str(score)) for score in expected]


def test_files_may_be_compressed(weights: dict[StageName, str], lines: Path, tmp_path: Path) -> None:
    packed = tmp_path / "lines.txt.gz"
    packed.write_bytes(gzip.compress(lines.read_bytes()))
    assert main([weights["imitation"], str(packed), "-o", str(tmp_path / "out.gz")]) == 0
    assert main([weights["imitation"], str(lines), "-o", str(tmp_path / "out.txt")]) == 0
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()) == (tmp_path / "out.txt").read_bytes()


def test_a_file_is_replaced_only_by_force(
    weights: dict[StageName, str], lines: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.txt"
    out.write_text("mine")
    command = [weights["imitation"], str(lines), "-o", str(out)]
    assert main(command) == 1
    assert f"{out}: exists: name another file, or replace it with --force" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert main([*command, "--force"]) == 0
    assert len(out.read_text().splitlines()) == len(LINES)


def test_lines_can_come_from_standard_input(
    weights: dict[StageName, str],
    lines: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([weights["rank"], str(lines)]) == 0
    expected = capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.read_bytes())))
    assert main([weights["rank"], "-"]) == 0
    assert capsys.readouterr().out == expected


def test_explained_candidates_are_listed_from_the_best_to_the_worst(weights: dict[StageName, str]) -> None:
    policy = Policy.load(weights["imitation"])
    for annotation, prediction in zip(ANNOTATIONS, policy.predictions(ANNOTATIONS), strict=True):
        text = explained(annotation, prediction, policy)
        assert prediction.probability is not None
        order = sorted(range(len(annotation.actions)), key=lambda i: -prediction.score[i])
        names = [describe_action(annotation.actions[i], FOUR_PLAYERS) for i in order]
        starts = [text.index(f" {name}  ") for name in names]
        assert starts == sorted(starts)
        taken = describe_action(annotation.actions[annotation.chosen], FOUR_PLAYERS)
        (row,) = [line for line in text.splitlines() if line.startswith("-> ")]
        assert row.split("  ")[0] == f"-> {taken}"
        assert row.endswith(f"{prediction.probability[annotation.chosen]:.1%}")


def test_explained_ranks_have_probabilities(
    weights: dict[StageName, str], lines: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([weights["rank"], str(lines), "--explain"]) == 0
    text = capsys.readouterr().out
    assert text.count("probability of each rank") == len(LINES)
    assert text.count(" 4: ") == sum(len(annotation.actions) for annotation in ANNOTATIONS)


def test_a_bad_line_is_named_and_nothing_is_written(
    weights: dict[StageName, str], lines: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = LINES[0].split("\t")
    out = tmp_path / "out.txt"
    for bad, why in (
        ("\t".join([*good[:4], "600,601", *good[5:]]), "600 is not in 0 ... 536"),
        ("\t".join(good[:6]), "7 tab-separated fields expected, 6 found"),
        ("\t".join([*good[:5], "99", good[6]]), "field 5 (chosen) is 99"),
        ("", "1 found"),
    ):
        lines.write_text(f"{LINES[0]}\n{LINES[1]}\n{bad}\n{LINES[2]}\n")
        assert main([weights["imitation"], str(lines), "-o", str(out)]) == 1
        error = capsys.readouterr().err
        assert f"{lines}:3: " in error and why in error
        assert not out.exists()


def test_empty_missing_and_cut_off_files_are_refused(
    weights: dict[StageName, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty, cut = tmp_path / "empty.txt", tmp_path / "cut.txt.gz"
    empty.touch()
    cut.write_bytes(gzip.compress("".join(f"{line}\n" for line in LINES).encode())[:-20])
    for path, why in ((empty, "empty"), (tmp_path / "none.txt", "none.txt"), (cut, "cut off or damaged")):
        assert main([weights["imitation"], str(path), "-o", str(tmp_path / "out.txt")]) == 1
        error = capsys.readouterr().err
        assert why in error and len(error.splitlines()) == 1
        assert not (tmp_path / "out.txt").exists()


def test_weights_of_another_size_than_in_their_card_are_refused(
    tmp_path: Path, lines: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "run")
    read = read_weights(path)
    card = {**read.card, "model": {**read.card["model"], "width": 32}}
    save_file(read.tensors, path, metadata={"card": json.dumps(card)})
    assert main([str(tmp_path / "run"), str(lines)]) == 1
    assert f"{path}: the tensors do not fit its card" in capsys.readouterr().err


def test_rank_of_three_players_has_three_ranks_for_each_action(
    lines: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    points = (135.0, 0.0, -135.0)
    rank = str(written(tmp_path / "three", "rank", vocabulary=THREE_PLAYERS, rank_points=points))
    path = tmp_path / "three.txt"
    path.write_text("".join(f"{format_line(annotation)}\n" for annotation in decisions_of_three(3)))
    assert main([rank, str(path), "--explain"]) == 0
    printed = capsys.readouterr().out
    assert " 3: " in printed and " 4: " not in printed
    assert main([rank, str(lines)]) == 1
    assert f"{lines}:1: " in capsys.readouterr().err
