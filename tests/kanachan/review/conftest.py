"""The browser and the networks of the tests of pages."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from annotate.vocabulary import Vocabulary
from tests.support.browser import Browser, browser
from tests.support.rounds import V3, V


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The paths of a network of each stage."""
    return _of_all_stages(tmp_path_factory.mktemp("weights"), V)


@pytest.fixture(scope="module")
def weights_of_three(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Likewise, for three players."""
    return _of_all_stages(tmp_path_factory.mktemp("weights3"), V3)


def _of_all_stages(folder: Path, vocabulary: Vocabulary) -> list[str]:
    from kanachan.objectives.stages import STAGES  # heavy, and not every test shows networks
    from tests.support.tiny_weights import written

    settings = {"rank": {"rank_points": (1.0, 0.0, -1.0)}} if vocabulary is V3 else {}
    return [str(written(folder / stage, stage, vocabulary=vocabulary, **settings.get(stage, {}))) for stage in STAGES]
