"""What is said about wrong settings."""

from pathlib import Path

import pytest

from kanachan.training.command_line import requested

RUN = ["--stage", "rank", "--data.path", "."]


def message_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit):
        requested(arguments)
    return capsys.readouterr().err.rstrip("\n").rpartition("kanachan-train: error: ")[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data.bach", "3"], "unknown setting --data.bach: did you mean --data.batch?"),
        (["--lr", "1e-3"], "unknown setting --lr: did you mean --optim.learning_rate?"),
        (["--epochs", "3"], "unknown setting --epochs: did you mean --run.passes?"),
        (["--batch_size=3"], "unknown setting --batch_size: did you mean --data.batch?"),
        (["--batch-size=3"], "unknown setting --batch-size: did you mean --data.batch?"),
        (["--batch=3"], "unknown setting --batch: did you mean --data.batch?"),
        (["--learning_rate", "1e-3"], "unknown setting --learning_rate: did you mean --optim.learning_rate?"),
        (["--nonsense", "3"], "unknown setting --nonsense; kanachan-train --help lists all"),
        (["--data", "shards"], "--data is a group of settings: did you mean --data.path shards?"),
        (["shards"], "shards: no option before it; did you mean --data.path shards?"),
        (["--run.steps", "abc"], "run.steps: a whole number (or null) expected, got 'abc'"),
        (["--data.batch", "2.5"], "data.batch: a whole number (or null) expected, got '2.5'"),
        (["--run.compile", "maybe"], "run.compile: true or false expected, got 'maybe'"),
        (["--optim.beta1", "x"], "optim.beta1: a number expected, got 'x'"),
        (["--objective.baseline", "nan"], "objective.baseline: a number expected, got 'nan'"),
        (["--objective.conservative", "1e400"], "objective.conservative: a number expected, got '1e400'"),
        (["--model.layers", "1001"], "model.layers must be at most 1,000, not 1001"),
        (["--model.feedforward", "9" * 20], f"model.feedforward must be at most 1,048,576, not {'9' * 20}"),
        (["--objective.sigma", "[1]"], "objective.sigma: a number expected, got '[1]'"),
        (
            ["--run.validate_every", "3"],
            "unknown setting --run.validate_every: there is --run.validation_interval, a number of decisions",
        ),
        (["--run.steps"], "--run.steps: a value is missing"),
        (["--run.steps", "--run.seed", "1"], "--run.steps: a value is missing"),
        (["--config", "/no.yaml"], "--config /no.yaml: no such file or folder"),
        (["--config", "/"], "--config /: a folder, not a YAML file"),
    ],
)
def test_a_wrong_option_is_named_with_what_was_probably_meant(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message_of([*RUN, *arguments], capsys) == message


def test_a_wrong_list_is_named_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    found = message_of([*RUN, "--objective.rank_points", "[x]"], capsys)
    assert found == "objective.rank_points: a list of numbers such as [90,45,0,-135] expected, got '[x]'"


def test_a_stage_that_is_misspelt_is_named_with_the_stages(capsys: pytest.CaptureFixture[str]) -> None:
    expected = "stage: one of imitation, round_delta, rank, grading, reward, critic, policy expected, got 'imitate'"
    assert message_of(["--stage", "imitate", "--data.path", "."], capsys) == f"{expected}; did you mean imitation?"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("run: {stepz: 3}", "unknown setting run.stepz: did you mean run.steps?"),
        ("rum: {steps: 3}", "unknown setting rum: did you mean run.steps?"),
        ("run: {steps: abc}", "run.steps: a whole number (or null) expected, got 'abc'"),
        (
            "stage: imitate",
            "stage: one of imitation, round_delta, rank, grading, reward, critic, policy expected, got 'imitate'",
        ),
    ],
)
def test_a_wrong_setting_in_a_file_is_named_with_the_file(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "given.yaml"
    file.write_text(text)
    found = message_of([*RUN, "--config", str(file)], capsys)
    assert found.startswith(f"{file}: ")
    if not text.startswith("rum"):
        assert found.startswith(f"{file}: {message}")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--optim.learning_rate", "1e-3", "--run.steps", "null", "--objective.rank_points", "[3, 1, -1, -3]"],
        ["--optim.warmup", "0.1", "--data.verify=true", "--run.name", "3", "--run.seed", "7"],
        ["--data", '{"path": ".", "batch": 64}'],
    ],
)
def test_right_values_of_all_types_are_taken(arguments: list[str]) -> None:
    assert requested([*RUN, *arguments]).config.stage == "rank"


def test_the_help_names_what_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        requested(["--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert (
        "stage of the curriculum, reward, critic or policy (required" in text
        and "made by kanachan-pack; required without selfplay.games" in text
    )
