"""launch/benchmark/three_players.py: the decisions that it counts, and what it prints."""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from annotate.vocabulary import THREE_PLAYERS
from kanachan.config import MODEL_SIZES
from kanachan.data.shards import open_shards
from kanachan.training.batch_sizes import DEFAULT_BATCH
from tests.support.launched import LAUNCH, program_of


@pytest.fixture(scope="module")
def benchmark() -> Iterator[ModuleType]:
    with program_of(LAUNCH / "benchmark", ("three_players",)) as modules:
        yield modules["three_players"]


def test_games_of_three_are_simulated_annotated_learned_from_and_played_without_a_word(
    benchmark: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    games = benchmark._Games.simulated(THREE_PLAYERS, 2, tmp_path)
    assert benchmark._annotating(games)() == len(open_shards(games.shards, "train")) > 100
    assert benchmark._training(games, MODEL_SIZES["tiny"])() == benchmark.STEPS * DEFAULT_BATCH
    assert benchmark._playing(games, 1)() > 100
    assert capfd.readouterr() == ("", "")
