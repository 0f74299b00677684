"""Every file in configs/ is a configuration that the program takes, and the wheel carries them."""

from pathlib import Path

import pytest

from kanachan.config import STAGES
from kanachan.settings import requested, stage_file

CONFIGS = Path(__file__).parent.parent / "configs"


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_configuration_file_is_accepted(path: Path) -> None:
    stage = path.stem if path.stem in STAGES else "imitation"
    assert requested(["--stage", stage, "--data.path", ".", "--config", str(path)]).config.stage == stage


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_has_its_file(stage: str) -> None:
    assert stage_file(stage).is_file()


@pytest.mark.parametrize("stage", STAGES)
def test_the_file_of_a_stage_names_the_stage_and_a_folder_of_its_own(stage: str) -> None:
    config = requested(["--config", str(stage_file(stage)), "--data.path", "."]).config
    assert (config.stage, config.run.out) == (stage, f"runs/{stage}")
