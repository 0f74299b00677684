"""Fixtures that tests of several folders share: games of self-play, which take seconds to play, and weights."""

from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from kanachan.config import StageName

TEMPERATURE, EXPLORE = 0.5, 0.1
CARD_TEMPERATURE = 0.8
"""the temperature in the card of the weights, by which scores are divided too"""


class PlayedGames(NamedTuple):
    """Shards of self-play in which a policy had half of the seats, with its weights and a reward predictor."""

    weights: Path
    shards: Path
    reward: Path


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> PlayedGames:
    from kanachan.models.weights import read_weights, write_weights
    from tests.support.played_folders import played_folder  # slow to import, and few tests play
    from tests.support.tiny_rewards import written_reward
    from tests.support.tiny_weights import written

    folder = tmp_path_factory.mktemp("played")
    with chdir(folder):  # the names of players and their files determine the games
        weights = written(Path("weights"), layers=1)
        calibrated = read_weights(weights)
        write_weights(weights, calibrated.tensors, calibrated.card | {"temperature": CARD_TEMPERATURE})
        played_folder(Path("shards"), f"{weights}@{TEMPERATURE}=0.5", "rule=0.5", "--explore", str(EXPLORE), games=4)
    return PlayedGames(folder / weights, folder / "shards", written_reward(folder / "reward.safetensors"))


@pytest.fixture(scope="session")
def rule_games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shards of four games of rule-based players; no test changes them."""
    from tests.support.played_folders import played_folder

    return played_folder(tmp_path_factory.mktemp("rule-games") / "shards")


@pytest.fixture(scope="session")
def reward(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights of a tiny reward predictor; no test changes them."""
    from tests.support.tiny_rewards import written_reward

    return written_reward(tmp_path_factory.mktemp("reward") / "reward.safetensors")


@pytest.fixture(scope="session")
def run_of(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[["StageName"], Path]:
    """Returns a function that gives the folder of a finished run of a stage, of 20 steps; no test changes it."""
    from tests.support.tiny_runs import run

    folder = tmp_path_factory.mktemp("runs")

    def made(stage: "StageName") -> Path:
        if not (folder / stage).exists():
            assert run(stage, shards, folder / stage) == 0
        return folder / stage

    return made


@pytest.fixture(scope="session")
def imitation(run_of: Callable[["StageName"], Path]) -> Path:
    return run_of("imitation")


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> dict["StageName", Path]:
    """Weights of a tiny network of each stage of the curriculum; no test changes them."""
    from kanachan.objectives.stages import STAGES
    from tests.support.tiny_weights import written

    folder = tmp_path_factory.mktemp("stages")
    return {stage: written(folder / stage, stage) for stage in STAGES}
