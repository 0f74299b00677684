"""What is checked of a run before torch is loaded."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kanachan.config import MODEL_SIZES
from kanachan.training.command_line import Request, requested
from kanachan.training.run_folder import save_config
from tests.support.tiny_weights import written


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "shards"
    folder.mkdir()
    for split in ("train", "validation"):
        (folder / f"{split}-00000.arrow").write_bytes(b"")
    return folder


def asked(data: Path, stage: str, *more: str) -> Request:
    return requested(["--stage", stage, "--data.path", str(data), "--run.out", str(data.parent / "run"), *more])


def refusal_of(data: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    with pytest.raises(SystemExit):
        asked(data, *more)
    return capsys.readouterr().err


def test_a_run_as_it_is_meant_has_no_warning(data: Path, tmp_path: Path) -> None:
    init = str(written(tmp_path / "imitation"))
    assert asked(data, "imitation").warnings == ()
    assert asked(data, "round_delta", "--init", init).warnings == ()
    assert asked(data, "imitation", "--init", init).warnings == ()


def test_a_later_stage_without_init_is_warned_of(data: Path) -> None:
    (warning,) = asked(data, "rank").warnings
    assert "rank without --init starts with a new encoder" in warning and "a run of round_delta" in warning


def test_a_decoder_is_kept_only_of_given_weights(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = refusal_of(data, capsys, "rank", "--objective.keep_decoder", "true")
    assert "objective.keep_decoder=True needs --init: the weights whose decoder it keeps" in error


@pytest.mark.parametrize("stage", ["policy", "critic"])
def test_only_stages_of_the_curriculum_begin_with_some_of_the_blocks(
    stage: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    init = str(written(tmp_path / "imitation", layers=3))
    error = refusal_of(data, capsys, stage, "--init", init, "--model.layers", "2", f"--{stage}.reward", "reward")
    assert f"stage {stage} needs all of its 3 encoder blocks, and model.layers is 2: give --model.layers 3" in error


def test_fewer_blocks_without_a_teacher_are_warned_of(data: Path, tmp_path: Path) -> None:
    init = str(written(tmp_path / "imitation", layers=3))
    (warning,) = asked(data, "imitation", "--init", init, "--model.layers", "2").warnings
    assert "has 3 encoder blocks, of which the network begins with 2 (model.layers)" in warning
    assert asked(data, "imitation", "--init", init, "--model.layers", "2", "--objective.teacher", init).warnings == ()


def test_a_teacher_must_have_probabilities_of_actions(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = refusal_of(data, capsys, "imitation", "--objective.teacher", str(tmp_path / "nothing"))
    assert "objective.teacher: " in error and "nothing: no such file or folder" in error
    value = str(written(tmp_path / "rank", "rank"))
    error = refusal_of(data, capsys, "imitation", "--objective.teacher", value)
    assert "of stage rank, which has no probabilities of actions; weights of imitation or policy are expected" in error
    assert asked(data, "imitation", "--objective.teacher", str(written(tmp_path / "policy", "policy"))).config


def test_weights_of_a_later_stage_are_warned_of(data: Path, tmp_path: Path) -> None:
    (warning,) = asked(data, "rank", "--init", str(written(tmp_path / "grading", "grading"))).warnings
    assert "is of grading, which comes after rank" in warning


def test_shards_without_validation_are_warned_of(data: Path) -> None:
    (data / "validation-00000.arrow").unlink()
    (warning,) = asked(data, "imitation").warnings
    assert "no validation split" in warning and "--fractions" in warning


def test_without_validation_a_stage_is_not_stopped_early_unless_that_is_asked_for(data: Path) -> None:
    assert asked(data, "rank").config.run.early_stopping == 4
    (data / "validation-00000.arrow").unlink()
    assert asked(data, "rank").config.run.early_stopping is None
    assert asked(data, "rank", "--run.early_stopping", "3").config.run.early_stopping == 3


def test_the_settings_of_another_stage_are_warned_of(data: Path, tmp_path: Path) -> None:
    save_config(asked(data, "imitation").config, tmp_path / "config.yaml")
    init = str(written(tmp_path / "imitation"))
    given = ("--init", init, "--config", str(tmp_path / "config.yaml"), "--model.size", "tiny")
    (warning,) = asked(data, "round_delta", *given).warnings
    assert "is of stage imitation, and all its settings replace the defaults of round_delta" in warning


def test_the_sizes_of_init_are_taken_unless_they_are_given(data: Path, tmp_path: Path) -> None:
    init = str(written(tmp_path / "imitation"))
    assert asked(data, "rank", "--init", init, "--model.dropout", "0.1").config.model.width == MODEL_SIZES["tiny"].width
    assert asked(data, "rank", "--init", init, "--model.width", "16").config.model.layers == MODEL_SIZES["tiny"].layers


def test_a_run_that_resumes_if_there_is_one_takes_the_sizes_of_init_too(data: Path, tmp_path: Path) -> None:
    init = str(written(tmp_path / "imitation"))
    request = asked(data, "rank", "--init", init, "--resume", "auto")
    assert not request.resume and request.config.model.width == MODEL_SIZES["tiny"].width


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("--model.width", "32"), "model.width is 16 there, 32 here"),
        (("--model.size", "small"), "model.width is 16 there, 128 here"),
        (("--data.actor_first", "false"), "trained with data.actor_first true"),
    ],
)
def test_weights_that_do_not_fit_are_refused(
    given: tuple[str, str], named: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    init = str(written(tmp_path / "imitation"))
    assert named in refusal_of(data, capsys, "rank", "--init", init, *given)


def test_a_run_folder_without_weights_is_refused(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no weights.safetensors in it" in refusal_of(data, capsys, "rank", "--init", str(tmp_path))


def test_a_folder_without_shards_is_refused_before_torch_is_loaded(tmp_path: Path) -> None:
    program = (
        "import sys; from kanachan.cli.train import main\n"
        f"status = main(['--stage', 'imitation', '--data.path', {str(tmp_path)!r}])\n"
        "assert 'torch' not in sys.modules\n"
        "sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ}, capture_output=True, text=True)
    assert done.returncode == 1 and "no shards to train on" in done.stderr, done.stderr
