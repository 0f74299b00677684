"""Command lines that kanachan-train refuses before it loads torch."""

import shlex
from pathlib import Path

import pytest

from kanachan.training.command_line import requested

REFUSALS = [
    ("", "", "--stage and --data.path are required"),
    ("", "--data.path .", "--stage is required; the stages are imitation"),
    ("", "--stage ranks --data.path .", "ranks"),
    ("", "--stage rank", "--data.path is required"),
    ("", "--resume /no/run", "/no/run"),
    ("", "--stage imitate --data.path .", "round_delta, rank, grading, reward, policy expected, got 'imitate'"),
    ("rank", "--model.widht 8", "--model.widht"),
    ("rank", "--model.width wide", "model.width"),
    ("rank", "--model.size huge", "huge"),
    ("rank", "--run.seed -1", "run.seed must be from 0 to 4294967295, not -1"),
    ("rank", "--objective.rank_points '[1,.nan,0,0]'", "a list of numbers such as [90,45,0,-135] expected"),
    ("rank", "--objective.rank_points '[[1],2,3,4]'", "a list of numbers such as [90,45,0,-135] expected"),
    ("rank", "--model.heads 3", "model.heads=3 does not divide"),
    ("rank", "--model.heads 64", "give each head 2 numbers"),
    ("rank", "--data.batch 16 --data.micro_batch 7", "data.micro_batch=7 does not divide"),
    ("rank", "-o ''", "run.out is empty: name a folder"),
    ("rank", "--data.bach 3", "unknown setting --data.bach: did you mean --data.batch?"),
    ("rank", "--lr 1e-3", "unknown setting --lr: did you mean --optim.learning_rate?"),
    ("rank", "--epochs 3", "unknown setting --epochs: did you mean --run.passes?"),
    ("rank", "--batch_size=3", "unknown setting --batch_size: did you mean --data.batch?"),
    ("rank", "--nonsense 3", "unknown setting --nonsense; kanachan-train --help lists all"),
    ("rank", "--data shards", "--data is a group of settings: did you mean --data.path shards?"),
    ("rank", "shards", "shards: no option before it; did you mean --data.path shards?"),
    ("rank", "--run.steps abc", "run.steps: a whole number (or null) expected, got 'abc'"),
    ("rank", "--run.compile maybe", "run.compile: true or false expected, got 'maybe'"),
    ("rank", "--optim.clip x", "optim.clip: a number expected, got 'x'"),
    ("rank", "--objective.baseline nan", "objective.baseline: a number expected, got 'nan'"),
    ("rank", "--model.layers 1001", "model.layers must be at most 1,000, not 1001"),
    ("rank", "--run.steps", "--run.steps: a value is missing"),
    ("rank", "-j 2", "unknown option -j; kanachan-train --help lists all"),
    ("rank", "-o -", "-: a folder cannot be written to standard output"),
    ("rank", "--objective.rank_points [x]", "objective.rank_points: a list of numbers such as [90,45,0,-135] expected"),
    ("rank", "--model.feedforward 99999999999", "model.feedforward must be at most 1,048,576, not 99999999999"),
    ("imitation", "--objective.teacher_share 0.1", "teacher_share=0.1 has no effect without --objective.teacher"),
    ("imitation", "--objective.teacher_share 0", "objective.teacher_share must be more than 0 to 1, not 0.0"),
    ("rank", "--reward.width 32", "reward.width=32 has no effect in stage rank; leave it at 64"),
    ("rank", "--policy.reward reference/reward", "policy.reward=reference/reward has no effect in stage rank"),
    ("reward", "--init reference", "--init reference: stage reward has no encoder to start from; remove --init"),
    ("reward", "--optim.optimizer muon", "optim.optimizer=muon has no effect in stage reward; leave it at adamw"),
    ("reward", "--reward.width 0", "reward.width must be at least 1, not 0"),
    ("policy", "--policy.utility rank", "policy.utility: one of ranks, grading_points expected"),
    ("policy", "--policy.utility grading_points --policy.points '[1,0,0,-1]'", "has no effect with policy.utility"),
    ("policy", "--init reference --policy.points [90,0,-90]", "-90.0]: --init reference is for games of 4 players"),
    ("policy", "--policy.points [1,1,1,1]", "the points of the ranks are all equal: [1.0, 1.0, 1.0, 1.0]"),
    ("policy", "--init reference --policy.magnet reference/rank", "policy.magnet=reference/rank: of stage rank, which"),
    ("policy", "--init reference --policy.reward reference/3p/reward", "reference/3p/reward is for games of 3 players"),
    (
        "policy",
        "--init reference --run.seed 4294967295 --selfplay.games 9 --selfplay.iterations 2 --data.path ''",
        "run.seed must be from 0 to 4294967295, not 4294967296",
    ),
    ("policy", "--init reference --selfplay.games 20 --data.path ''", "selfplay.games=20: at least 64 games an iter"),
    ("policy", "--model.dropout 0.1", "model.dropout=0.1 has no effect in stage policy"),
    ("policy", "--policy.keep 0", "policy.keep must be a share above 0 and at most 1, not 0"),
    ("rank", "--optim.warmup 1.5", "optim.warmup must be a number of steps, or a share"),
    ("rank", "--model.dropout 1", "model.dropout"),
    ("policy", "--selfplay.opponents [rule]", "selfplay.opponents: rule: PLAYER=SHARE expected"),
    ("policy", "--selfplay.opponents [rule=0.6,reference@1=0.4]", "their shares leave no seat to the policy"),
]
"""stage, arguments and words of the message; the arguments follow the stage and a data folder, if there is a stage"""
FILES = [
    ("model: {widht: 8}", "model.widht"),
    ("modle: {width: 8}", "unknown setting modle"),
    ("run: {stepz: 3}", "unknown setting run.stepz: did you mean run.steps?"),
    ("run: {steps: abc}", "run.steps: a whole number (or null) expected, got 'abc'"),
    ("stage: imitate", "stage: one of imitation, round_delta, rank, grading, reward, policy expected"),
    ("- 8", "settings"),
    ("data: 8", "data is a group of settings: `data: {name: value}` is expected, not 8"),
    ("{", "YAML"),
    ("? [run]\n: 8", "not YAML"),
    ("run: {steps: 1}\nmodel: {width: 8}\nrun: {wandb: disabled}", "run occurs twice"),
    ("\udcff", "not YAML"),
    ("run: {group: 2020-99-99}", "not YAML: month must be in 1..12"),
]
"""text of the file that --config names, and words of the message"""


def refusal_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as error:
        requested(arguments)
    usage, _, message = capsys.readouterr().err.rstrip("\n").rpartition("\n")
    assert error.value.code == 2 and usage.startswith("usage: kanachan-train")
    return message.removeprefix("kanachan-train: error: ")


@pytest.mark.parametrize(("stage", "arguments", "words"), REFUSALS)
def test_a_wrong_command_line_is_refused_in_one_line(
    stage: str, arguments: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--stage", stage, "--data.path", "."] if stage else []
    assert words in refusal_of([*given, *shlex.split(arguments)], capsys)


@pytest.mark.parametrize(("text", "words"), FILES)
def test_the_refusal_of_a_wrong_settings_file_names_the_file(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "given.yaml"
    file.write_bytes(text.encode(errors="surrogateescape"))
    message = refusal_of(["--stage", "rank", "--data.path", ".", "--config", str(file)], capsys)
    assert message.startswith(f"{file}: ") and words in message
