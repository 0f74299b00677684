"""A review and a match that several tests read."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.review_runs import Reviewed


@pytest.fixture(scope="package")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> "Reviewed":
    from tests.support.review_runs import review_of_all_stages  # heavy, and not every test reviews

    return review_of_all_stages(tmp_path_factory.mktemp("review"))


@pytest.fixture(scope="package")
def arena_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of two walls, one game after another, with its records."""
    from tests.support.matches import arena

    folder = tmp_path_factory.mktemp("run")
    assert arena(folder, "--records", str(folder / "records"), "--together", "1", games=7) == 0
    return folder
