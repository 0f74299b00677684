"""The files that an installed package holds in addition to its modules."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kanachan.objectives.stages import trained_stages
from tests.support.paths import CONFIGS, ROOT

PARTS = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "annotate", "kanachan", "configs")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the wheel, without the checkout around them."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in PARTS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / "source" / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            (folder / "source").mkdir(exist_ok=True)
            shutil.copy(ROOT / name, folder / "source" / name)
    command = [sys.executable, "setup.py", "-q", "build", "--build-lib", str(folder / "lib")]
    subprocess.run(command, cwd=folder / "source", check=True, capture_output=True)
    return folder / "lib"


def test_all_modules_are_in_the_wheel(installed: Path) -> None:
    for package in ("annotate", "kanachan"):
        modules = {path.relative_to(ROOT) for path in (ROOT / package).rglob("*.py")}
        assert {path.relative_to(installed) for path in (installed / package).rglob("*.py")} == modules


def files_below(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_configs_the_review_page_and_reference_models_are_in_the_wheel(installed: Path) -> None:
    folders = ("kanachan/review/assets", "kanachan/reference")
    for source, place in ((CONFIGS, "kanachan/configs"), *((ROOT / folder, folder) for folder in folders)):
        expected = files_below(source)
        assert expected and files_below(installed / place) == expected


def test_an_installed_program_finds_the_file_of_every_stage(installed: Path) -> None:
    program = (
        f"from kanachan.training.settings import stage_path; print(*map(stage_path, {trained_stages()}), sep='\\n')"
    )
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=installed, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        str(installed / "kanachan" / "configs" / f"{stage}.yaml") for stage in trained_stages()
    ]
