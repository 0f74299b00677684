"""A review that several tests read."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.review_runs import Reviewed


@pytest.fixture(scope="package")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> "Reviewed":
    from tests.support.review_runs import review_of_all_stages  # heavy, and not every test reviews

    return review_of_all_stages(tmp_path_factory.mktemp("review"))
