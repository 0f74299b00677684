"""Every file in configs/ is a configuration that the program takes, and the wheel carries them."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kanachan.objectives.stages import trained_stages
from kanachan.training.command_line import requested
from kanachan.training.settings import stage_path
from tests.support.paths import CONFIGS

SWEEP = CONFIGS / "sweep.yaml"


@pytest.mark.parametrize("path", sorted({*CONFIGS.glob("*.yaml")} - {SWEEP}), ids=lambda path: path.stem)
def test_a_configuration_file_is_accepted(path: Path) -> None:
    name = path.stem.partition("-")[0]
    stage = name if name in trained_stages() else "imitation"
    assert requested(["--stage", stage, "--data.path", ".", "--config", str(path)]).config.stage == stage


@pytest.mark.parametrize("stage", trained_stages())
def test_the_file_of_a_stage_names_the_stage_and_a_folder_of_its_own(stage: str) -> None:
    config = requested(["--config", str(stage_path(stage)), "--data.path", "."]).config
    assert (config.stage, config.run.out) == (stage, f"runs/{stage}")


def drawn() -> Iterator[dict[str, Any]]:
    """Settings that the sweep may draw: all first values, all last values, and all first values except for one."""
    parameters: dict[str, dict[str, Any]] = yaml.safe_load(SWEEP.read_text())["parameters"]
    values = {
        name: parameter.get("values") or [parameter[key] for key in ("value", "min", "max") if key in parameter]
        for name, parameter in parameters.items()
    }
    first = {name: of_name[0] for name, of_name in values.items()}
    yield first
    yield {name: of_name[-1] for name, of_name in values.items()}
    for name, of_name in values.items():
        yield from ({**first, name: value} for value in of_name[1:])


def received(settings: dict[str, Any], folder: Path) -> list[str]:
    """The arguments that the sweep gives to its program: wandb's agent makes the command from the file and the settings
    that it has drawn."""
    from wandb.sdk.launch.sweeps.utils import create_sweep_command, create_sweep_command_args  # takes a second

    sweep = yaml.safe_load(SWEEP.read_text())
    program = folder / sweep["program"]
    program.write_text('#!/bin/sh\nfor argument; do echo "$argument"; done\n')
    program.chmod(0o755)
    args = {name: {"value": value} for name, value in settings.items()}
    filled = {
        "${env}": ["/usr/bin/env"],
        "${program}": [sweep["program"]],
        "${args}": create_sweep_command_args({"args": args})["args"],
    }
    command = [part for chunk in create_sweep_command(sweep["command"]) for part in filled.get(chunk, [chunk])]
    environment = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "WANDB_RUN_ID": "a1b2c3"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()


def test_all_settings_that_the_sweep_may_draw_are_accepted(tmp_path: Path) -> None:
    for settings in drawn():
        config = requested([*received(settings, tmp_path), "--data.path", str(tmp_path)]).config
        for name, value in settings.items():
            section, _, key = name.partition(".")
            assert getattr(getattr(config, section), key) == value, name


def test_every_run_of_the_sweep_has_a_folder_of_its_own(tmp_path: Path) -> None:
    config = requested([*received(next(drawn()), tmp_path), "--data.path", "."]).config
    assert config.run.out == "runs/sweep/a1b2c3"
