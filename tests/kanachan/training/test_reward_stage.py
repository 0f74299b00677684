"""Stage reward, end to end on random rounds."""

from pathlib import Path

import pytest

from kanachan.models.weights import read_weights
from tests.support.round_folders import round_folder, train_reward
from tests.support.tiny_runs import assert_resumable, losses_of


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return round_folder(tmp_path_factory.mktemp("data") / "shards", train=60, validation=12)


def test_a_run_learns_and_writes_weights_with_a_card_and_can_be_resumed(shards: Path, tmp_path: Path) -> None:
    settings = ("--optim.average", "0.5", "--run.early_stopping", "50")
    assert train_reward(shards, tmp_path / "run", *settings) == 0
    losses = losses_of(tmp_path / "run")
    assert sum(losses[-5:]) < sum(losses[:5])
    card = read_weights(tmp_path / "run").card
    assert (card["stage"], card["lineage"]) == ("reward", [])
    assert card["metrics"].keys() >= {"loss", "cross_entropy", "grading_points", "explained_variance"}
    assert_resumable(tmp_path / "run", tmp_path / "half")


def test_a_run_needs_no_validation_split(tmp_path: Path) -> None:
    shards = round_folder(tmp_path / "shards", train=20)
    assert train_reward(shards, tmp_path / "run", "--run.steps", "1") == 0
    assert read_weights(tmp_path / "run").card["config"]["run"]["early_stopping"] is None
