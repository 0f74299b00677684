"""The browser and the networks for the tests of pages."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotate.vocabulary import Vocabulary
from tests.support.browser import Browser, browser
from tests.support.reviewed import events_of, write_record
from tests.support.rounds import V3, V

PLAYERS = ["\u4e00", "\u4e8c", "\u4e09", "\u56db"]
"""names without Latin letters"""


@pytest.fixture(scope="package")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="package")
def weights(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The paths of a network of each stage."""
    return _of_all_stages(tmp_path_factory.mktemp("weights"), V)


@pytest.fixture(scope="package")
def weights_of_three(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Likewise, for three players."""
    return _of_all_stages(tmp_path_factory.mktemp("weights3"), V3)


@pytest.fixture(scope="package")
def all_seats(weights: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The page of all seats of a simulated game by networks of all stages, and its data."""
    return page_of_all_seats(weights, V, tmp_path_factory.mktemp("all-seats"))


def page_of_all_seats(weights: list[str], vocabulary: Vocabulary, folder: Path) -> tuple[Path, Any]:
    from tests.support.review_page import reviewed

    events = events_of(5, "8", vocabulary)
    events[0] = {**events[0], "names": PLAYERS[: vocabulary.num_seats]}
    return reviewed(write_record(folder / "game.jsonl", events), weights, folder, "all")


def _of_all_stages(folder: Path, vocabulary: Vocabulary) -> list[str]:
    from kanachan.objectives.stages import STAGES  # heavy, and not every test shows networks
    from tests.support.tiny_weights import written

    settings = {"rank": {"rank_points": (1.0, 0.0, -1.0)}} if vocabulary is V3 else {}
    return [str(written(folder / stage, stage, vocabulary=vocabulary, **settings.get(stage, {}))) for stage in STAGES]
