"""kanachan-predict: adds one field to each line."""

import io
import os
import re
import sys
import threading
from pathlib import Path

import pytest

from annotate.annotation import format_line
from annotate.vocabulary import FOUR_PLAYERS
from annotate.words import describe_action
from kanachan.cli.predict import explained, main
from kanachan.config import StageName
from kanachan.inference.policy import Policy
from kanachan.objectives.stages import STAGES
from tests.support.packed import write_lines
from tests.support.random_annotations import random_annotations
from tests.support.tiny_weights import written

ANNOTATIONS = random_annotations(9, seed=4)
LINES = [format_line(annotation) for annotation in ANNOTATIONS]


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    return Path(write_lines(tmp_path / "lines.txt", ANNOTATIONS))


@pytest.mark.parametrize("stage", STAGES)
def test_a_field_with_a_number_for_every_candidate_is_added(
    weights: dict[StageName, Path], lines: Path, tmp_path: Path, stage: StageName
) -> None:
    out = tmp_path / "out.txt"
    assert main([str(weights[stage]), str(lines), "-o", str(out)]) == 0
    predictions = Policy.load(weights[stage]).predictions(ANNOTATIONS)
    for text, line, prediction in zip(out.read_text().splitlines(), LINES, predictions, strict=True):
        before, _, added = text.rpartition("\t")
        assert before == line
        expected = prediction.score if stage != "imitation" else prediction.probability
        assert [float(number) for number in added.split(",")] == pytest.approx(expected.tolist(), rel=1e-3, abs=1e-4)


def test_lines_can_come_from_standard_input_or_a_pipe(
    weights: dict[StageName, Path],
    lines: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([str(weights["rank"]), str(lines)]) == 0
    expected = capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.read_bytes())))
    assert main([str(weights["rank"]), "-"]) == 0
    assert capsys.readouterr().out == expected
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(lines.read_bytes(),))
    writer.start()
    assert main([str(weights["rank"]), str(pipe)]) == 0
    writer.join()
    assert capsys.readouterr().out == expected


def test_standard_output_is_in_utf8_in_every_locale(
    weights: dict[StageName, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = Path(write_lines(tmp_path / "lines.txt", [each._replace(game="東風戦") for each in ANNOTATIONS]))
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="ascii"))
    assert main([str(weights["rank"]), str(lines)]) == 0
    starts = [line.rpartition("\t")[0] for line in out.getvalue().decode().splitlines()]
    assert starts == lines.read_text().splitlines()


def test_explained_values_that_differ_are_shown_differently(tmp_path: Path) -> None:
    policy = Policy.load(written(tmp_path, "rank", rank_points=(1.5, 0.5, -0.5, -1.5)))
    (prediction,) = policy.predictions(ANNOTATIONS[:1])
    shown = re.findall(r"[+-]\d\.\d{3}", explained(ANNOTATIONS[0], prediction, policy))
    assert shown == [f"{score:+z.3f}" for score in sorted(prediction.score, reverse=True)]


def test_explained_candidates_are_listed_from_the_best_to_the_worst(weights: dict[StageName, Path]) -> None:
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
