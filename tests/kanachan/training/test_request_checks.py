"""Checks of a run before torch is loaded."""

from pathlib import Path

import pytest

from kanachan.config import MODEL_SIZES
from kanachan.models.weights import read_weights, write_weights
from kanachan.training.command_line import Request, requested
from kanachan.training.run_folder import save_config
from tests.support.tiny_weights import written

TARGET = ["--objective.target", "game"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "shards"
    folder.mkdir()
    for split in ("train", "validation"):
        (folder / f"{split}-00000.arrow").write_bytes(b"")
    return folder


def asked(data: Path, stage: str, *more: str) -> Request:
    return requested(["--stage", stage, "--data.path", str(data), "--run.out", str(data.parent / "run"), *more])


def test_a_usual_run_has_no_warning(data: Path, tmp_path: Path) -> None:
    init = str(written(tmp_path / "imitation"))
    assert asked(data, "imitation").warnings == ()
    assert asked(data, "round_delta", "--init", init).warnings == ()
    assert asked(data, "imitation", "--init", init).warnings == ()


def test_without_validation_a_run_does_not_stop_early_unless_this_is_requested(data: Path) -> None:
    assert asked(data, "rank").config.run.early_stopping == 10
    (data / "validation-00000.arrow").unlink()
    assert asked(data, "rank").config.run.early_stopping is None
    assert asked(data, "rank", "--run.early_stopping", "3").config.run.early_stopping == 3


def test_a_decision_is_credited_with_its_round_if_the_data_has_rounds(data: Path) -> None:
    assert asked(data, "rank").config.objective.target == "game"
    (data / "rounds").mkdir()
    (data / "rounds" / "train-00000.arrow").touch()
    assert asked(data, "rank").config.objective.target == "game", "those of the validation are missing"
    (data / "rounds" / "validation-00000.arrow").touch()
    assert asked(data, "rank").config.objective.target == "round"
    assert not any("lacks rounds" in text for text in asked(data, "rank").warnings)
    assert asked(data, "rank", "--objective.prior", "null").config.objective.target == "game"
    assert asked(data, "rank", "--objective.target", "game").config.objective.target == "game"


def test_the_sizes_of_init_are_taken_unless_they_are_given(data: Path, tmp_path: Path) -> None:
    init = str(written(tmp_path / "imitation"))
    assert asked(data, "rank", "--init", init, "--model.dropout", "0.1").config.model.width == MODEL_SIZES["tiny"].width
    assert asked(data, "rank", "--init", init, "--model.width", "16").config.model.layers == MODEL_SIZES["tiny"].layers


@pytest.mark.parametrize(
    ("stage", "arguments", "words"),
    [
        ("rank", TARGET, "rank without --init starts with a new encoder"),
        ("rank", ["--init", "{round_delta}"], "lacks rounds of a split, so stage rank learns outcomes"),
        ("rank", [*TARGET, "--init", "{grading}"], "is of grading, which comes after rank"),
        ("imitation", ["--init", "{deep}", "--model.layers", "2"], "of which the network begins with 2 (model.layers)"),
        ("round_delta", ["--init", "{imitation}", "--config", "{config}", "--model.size", "tiny"], "replace the"),
        ("imitation", [], "no validation split"),
    ],
)
def test_a_probable_mistake_gives_a_warning(
    stage: str, arguments: list[str], words: str, data: Path, tmp_path: Path
) -> None:
    save_config(asked(data, "imitation").config, tmp_path / "config.yaml")
    paths = {"config": str(tmp_path / "config.yaml"), "deep": str(written(tmp_path / "deep", layers=3))}
    paths |= {name: str(written(tmp_path / name, name)) for name in ("imitation", "round_delta", "grading")}
    if "validation" in words:
        (data / "validation-00000.arrow").unlink()
    (warning,) = asked(data, stage, *(argument.format(**paths) for argument in arguments)).warnings
    assert words in warning


@pytest.mark.parametrize(
    ("stage", "arguments", "words"),
    [
        ("policy", ["--init", "{deep}", "--model.layers", "2"], "needs all of its 3 encoder blocks"),
        ("imitation", ["--objective.teacher", "{rank}"], "of stage rank, which has no probabilities of actions"),
        ("imitation", ["--objective.teacher", "nowhere"], "nowhere: no such file or folder"),
        ("rank", ["--init", "{deep}", "--model.width", "32"], "model.width is 16 there, 32 here"),
        ("rank", ["--init", "{deep}", "--model.size", "small"], "model.width is 16 there, 128 here"),
        ("rank", ["--init", "{gone}"], "of stage critic, which this version does not have; weights of another stage"),
        ("rank", ["--init", "reference/reward"], "a reward predictor, which predicts how games end"),
        ("rank", ["--init", "."], "no weights.safetensors in it"),
    ],
)
def test_weights_that_do_not_fit_are_refused(
    stage: str, arguments: list[str], words: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = {"deep": str(written(tmp_path / "deep", layers=3)), "rank": str(written(tmp_path / "rank", "rank"))}
    gone = read_weights(written(tmp_path / "gone"))
    write_weights(gone.path, gone.tensors, {**gone.card, "stage": "critic"})
    paths |= {"gone": str(gone.path)}
    reward = ["--policy.reward", "reward"] if stage == "policy" else []
    with pytest.raises(SystemExit):
        asked(data, stage, *(argument.format(**paths) for argument in arguments), *reward)
    assert words in capsys.readouterr().err
