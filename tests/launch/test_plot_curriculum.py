"""The picture of what the curriculum is worth is drawn from evaluations, each of one network of a later stage."""

import json
from pathlib import Path

import pytest

from tests.support.launched import program


def written_evaluation(path: Path, stage: str, measure: str, value: float) -> Path:
    """An evaluation with the entries of `kanachan-evaluate --json` that the picture needs."""
    less = {"value": value, "low": value - 0.002, "high": value + 0.001, "decisions": 1000}
    network = {"stage": stage, "verdict": {"measure": measure, "less_scores": less}}
    path.write_text(json.dumps({"weights": [network]}))
    return path


def test_a_gain_is_that_of_the_verdict_with_its_interval(tmp_path: Path) -> None:
    path = written_evaluation(tmp_path / "rank.json", "rank", "nats", 0.005)
    encoder, stage, gain = program("plot_curriculum").gain_of(f"round delta:962={path}")
    assert (encoder, stage) == ("round delta", "rank")
    assert gain == (962, 0.005, pytest.approx(0.003), pytest.approx(0.006), "nats")


def test_stages_encoders_and_numbers_of_games_become_one_picture(tmp_path: Path) -> None:
    given = [
        f"{encoder}:{games}={written_evaluation(tmp_path / f'{stage}-{encoder}-{games}', stage, measure, 0.001)}"
        for stage, measure in (("rank", "nats"), ("grading", "squared error"))
        for encoder in ("imitation", "none")
        for games in (962, 10_050)
    ]
    program("plot_curriculum").draw(given, tmp_path / "picture.svg")
    drawn = (tmp_path / "picture.svg").read_text()
    assert drawn.count("PathCollection") + drawn.count("line2d_") > 8


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("imitation=rank.json", "ENCODER:GAMES=EVALUATION is expected"),
        ("imitation:many=rank.json", "ENCODER:GAMES=EVALUATION is expected"),
        ("imitation:962={folder}/nowhere", "nowhere: no such file or folder"),
        ("imitation:962={folder}/other.json", "other.json: no evaluation of one network of a later stage"),
    ],
)
def test_what_is_no_evaluation_is_refused(given: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"weights": [{"stage": "imitation"}]}')
    with pytest.raises(ValueError, match=words):
        program("plot_curriculum").gain_of(given.format(folder=tmp_path))
