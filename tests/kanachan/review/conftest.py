"""The browser and the networks of the tests of pages."""

from collections.abc import Iterator

import pytest

from tests.support.browser import Browser, browser


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The paths of a network of each stage."""
    from kanachan.objectives.stages import STAGES  # heavy, and not every test shows networks
    from tests.support.tiny_weights import written

    folder = tmp_path_factory.mktemp("weights")
    return [str(written(folder / stage, stage)) for stage in STAGES]
