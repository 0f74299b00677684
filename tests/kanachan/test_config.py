"""Settings: where they come from, which of them are refused, and that a saved configuration repeats the run."""

from pathlib import Path

import pytest
import yaml

from kanachan.config import MODEL_SIZES, ModelConfig, OptimConfig, TrainConfig
from kanachan.training.command_line import requested, saved_config
from kanachan.training.run_folder import save_config


def config_of(*arguments: str) -> TrainConfig:
    return requested(["--stage", "rank", "--data.path", ".", *arguments]).config


def refusal_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as exit_:
        requested(arguments)
    assert exit_.value.code == 2
    usage, _, message = capsys.readouterr().err.rstrip("\n").rpartition("\n")
    assert usage.startswith("usage: kanachan-train")
    return message.removeprefix("kanachan-train: error: ")


def yaml_file(folder: Path, text: str) -> str:
    path = folder / "given.yaml"
    path.write_text(text)
    return str(path)


def run_folder(folder: Path, config: TrainConfig) -> str:
    """Makes a folder that looks as if a run with `config` had trained in it for a while."""
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "checkpoints" / "last.ckpt").write_bytes(b"")
    save_config(config, folder / "config.yaml")
    return str(folder)


def test_the_stage_file_overrides_the_defaults_of_the_program() -> None:
    assert config_of().run.out == "runs/rank"


def test_the_command_line_overrides_a_config_file_at_any_position(tmp_path: Path) -> None:
    given = yaml_file(tmp_path, "run: {seed: 5, steps: 7}")
    run = config_of("--run.seed", "6", "--config", given).run
    assert (run.seed, run.steps) == (6, 7)
    assert config_of("--config", given, "--run.seed", "6").run.seed == 6


@pytest.mark.parametrize(
    "arguments",
    [["--run.compile"], ["--run.compile", "--run.seed", "3"], ["--run.compile", "true"], ["--run.compile=yes"]],
)
def test_a_boolean_setting_without_a_value_is_true(arguments: list[str]) -> None:
    assert config_of(*arguments).run.compile


def test_passes_on_the_command_line_override_the_steps_of_a_config_file(tmp_path: Path) -> None:
    given = yaml_file(tmp_path, "run: {steps: 7}")
    run = config_of("--run.passes", "0.5", "--config", given).run
    assert (run.passes, run.steps) == (0.5, None)
    assert config_of("--run.passes", "0.5", "--config", given, "--run.steps", "9").run.steps == 9


def test_passes_of_a_config_file_override_the_steps_of_the_stage(tmp_path: Path) -> None:
    run = requested(
        ["--stage", "reward", "--data.path", ".", "--config", yaml_file(tmp_path, "run: {passes: 2}")]
    ).config.run
    assert (run.passes, run.steps) == (2, None)


def test_a_model_size_on_the_command_line_overrides_the_sizes_in_a_config_file(tmp_path: Path) -> None:
    given = yaml_file(tmp_path, "model: {width: 64, layers: 2, dropout: 0.25}")
    model = config_of("--model.layers", "3", "--config", given, "--model.size", "base").model
    assert model == ModelConfig(**{**vars(MODEL_SIZES["base"]), "layers": 3, "dropout": 0.25})


def test_a_saved_configuration_repeats_the_run(tmp_path: Path) -> None:
    config = config_of("--run.validate_batches", "null", "--model.size", "tiny")
    save_config(config, tmp_path / "config.yaml")
    assert requested(["--config", str(tmp_path / "config.yaml")]).config == config


def test_a_saved_configuration_with_an_unknown_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    save_config(config_of(), path)
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), "modle": {}}))
    with pytest.raises(ValueError, match="modle"):
        saved_config(path)


def test_a_resumed_run_takes_its_own_settings(tmp_path: Path) -> None:
    out = run_folder(tmp_path / "run", config_of("--model.size", "tiny"))
    request = requested(["--resume", out])
    assert request.resume
    assert (request.config.model, request.config.run.out) == (MODEL_SIZES["tiny"], out)


def test_no_run_is_started_in_the_folder_of_a_finished_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = Path(run_folder(tmp_path / "run", config_of()))
    (out / "checkpoints" / "last.ckpt").unlink()
    (out / "weights.safetensors").write_bytes(b"")
    started = ["--stage", "rank", "--data.path", ".", "--run.out", str(out)]
    assert f"{out} already holds a run" in refusal_of(started, capsys)
    assert requested([*started, "--resume", "auto"]).resume
    assert requested(["--resume", str(out)]).resume


@pytest.mark.parametrize("option", [["-o", "runs/x"], ["--output", "runs/x"], ["--output=runs/x"]])
def test_the_output_option_sets_the_folder_of_a_run(option: list[str]) -> None:
    assert config_of(*option).run.out == "runs/x"


def test_a_run_is_resumed_only_in_its_own_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = run_folder(tmp_path / "run", config_of())
    assert requested(["--resume", out, "--run.out", f"{out}/."]).resume
    assert "--output elsewhere" in refusal_of(["--resume", out, "--run.out", "elsewhere"], capsys)


@pytest.mark.parametrize("chosen", ["fp32", "bf16"])
def test_a_resumed_run_keeps_the_precision_that_was_chosen_for_it(
    chosen: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = run_folder(tmp_path / "run", config_of("--run.precision", chosen))
    again = ["--stage", "rank", "--data.path", ".", "--run.out", out, "--resume", "auto"]
    assert requested(again).config.run.precision == chosen
    other = "fp32" if chosen == "bf16" else "bf16"
    assert f"run.precision was {chosen}, is {other}" in refusal_of([*again, "--run.precision", other], capsys)


def test_a_resumed_run_keeps_what_was_chosen_when_it_began(tmp_path: Path) -> None:
    lengths = ["--data.batch", "96", "--data.micro_batch", "32", "--run.validation_interval", "7000"]
    out = run_folder(tmp_path / "run", config_of("--run.group", "runs/imitation", *lengths))
    config = requested(["--stage", "rank", "--data.path", ".", "--run.out", out, "--resume", "auto"]).config
    assert (config.run.group, config.run.validation_interval) == ("runs/imitation", 7000)
    assert (config.data.batch, config.data.micro_batch) == (96, 32)


def test_of_iterations_only_their_number_changes_and_only_if_the_run_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--stage", "policy", "--init", "reference", "--selfplay.games", "400"]
    out = run_folder(tmp_path / "run", requested([*given, "--run.out", str(tmp_path / "run")]).config)
    assert requested(["--resume", out, "--selfplay.iterations", "3"]).config.selfplay.iterations == 3
    again = [*given, "--run.out", out, "--resume", "auto", "--selfplay.iterations", "3"]
    assert f"give --resume {out} and only the new length" in refusal_of(again, capsys)
    for setting, value in (("run.passes", "3"), ("policy.magnet", "reference")):
        assert "start a new one" in refusal_of(["--resume", out, f"--{setting}", value], capsys)


@pytest.mark.parametrize(
    ("warmup", "steps", "expected"),
    [(None, 16_000, 200), (None, 1_600, 200), (None, 48, 6), (None, 1, 0), (200, 48, 200), (0, 48, 0), (0.25, 48, 12)],
)
def test_a_warmup_is_a_number_of_steps_or_a_share_of_them(warmup: float | None, steps: int, expected: int) -> None:
    assert OptimConfig(warmup=warmup).warmup_steps(steps) == expected


@pytest.mark.parametrize(("cooldown", "start"), [(0, 100), (0.2, 80), (1, 0), (30, 70), (300, 0)])
def test_a_cooldown_is_a_share_of_the_steps_or_a_number_of_them(cooldown: float, start: int) -> None:
    assert OptimConfig(cooldown=cooldown).cooldown_start(100) == start


@pytest.mark.parametrize(
    "arguments",
    [
        ["--optim.learning_rate", "1e-3", "--run.steps", "null", "--objective.rank_points", "[3, 1, -1, -3]"],
        ["--optim.warmup", "0.1", "--data.verify=true", "--run.group", "3", "--run.seed", "7"],
    ],
)
def test_valid_values_of_all_types_are_accepted(arguments: list[str]) -> None:
    assert config_of(*arguments).stage == "rank"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--stage", "rank", "--data.path", ".", "--run.out", "OUT"], "--resume OUT"),
        (["--resume", "OUT", "--model.size", "base"], "model.width was 16, is 768"),
        (["--resume", "OUT", "--run.seed", "4"], "run.seed was 3, is 4"),
    ],
)
def test_a_run_is_not_continued_without_resume_or_with_other_settings(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = run_folder(tmp_path / "run", config_of("--model.size", "tiny", "--run.seed", "3"))
    assert words.replace("OUT", out) in refusal_of([text.replace("OUT", out) for text in arguments], capsys)


def test_resume_auto_resumes_an_existing_run_whose_data_may_have_moved(tmp_path: Path) -> None:
    started = ["--stage", "rank", "--resume", "auto", "--run.out", str(tmp_path / "run"), "--data.path"]
    assert not requested([*started, "."]).resume
    run_folder(tmp_path / "run", config_of())
    request = requested([*started, str(tmp_path), "--run.wandb", "disabled"])
    assert request.resume and request.config.data.path == str(tmp_path)
