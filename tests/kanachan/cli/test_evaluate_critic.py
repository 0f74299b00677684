"""kanachan-evaluate of critics."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.cli.evaluate import main
from kanachan.data.round_shards import open_rounds
from kanachan.data.shards import open_shards
from kanachan.inference.reward_predictor import RewardPredictor
from kanachan.reinforcement.critic import Critic
from kanachan.reinforcement.returns import RoundReturns
from tests.support.played_folders import played_folder, train_critic
from tests.support.tiny_rewards import written_reward


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shards, a reward predictor, and a critic of them."""
    folder = tmp_path_factory.mktemp("data")
    played_folder(folder / "shards", fractions="0.4,0.2,0.4", games=8)
    reward = written_reward(folder / "reward.safetensors")
    assert train_critic(folder / "shards", reward, folder / "run", "--optim.learning_rate", "0.01") == 0
    return folder


def evaluated(folder: Path, out: Path, *more: str) -> dict[str, Any]:
    arguments = [str(folder / "run"), str(folder / "shards"), "--json", str(out), "--bootstrap", "20", *more]
    assert main(arguments) == 0
    content: dict[str, Any] = json.loads(out.read_text())
    return content


def test_a_critic_is_measured_on_the_returns_of_the_split(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = evaluated(folder, tmp_path / "critic.json")
    shards = open_shards(folder / "shards", "test", hidden=True, behaviour=True)
    columns = shards.gather(np.arange(len(shards)))
    predictor, critic = RewardPredictor.load(folder / "reward.safetensors"), Critic.load(folder / "run")
    return_BS = RoundReturns(open_rounds(folder / "shards", "test"), predictor, critic.utility, FOUR_PLAYERS).of(
        columns
    )
    error_BS = critic.of(columns) - return_BS
    (entry,) = content["weights"]
    of_all = entry["mean_squared_error"]["of all seats"]["value"]
    of_actor = entry["explained_variance"]["the actor's"]["value"]
    actor = (np.arange(len(columns)), columns.seat)
    assert (content["decisions"], content["split"]) == (len(columns), "test")
    assert of_all == pytest.approx(np.mean(error_BS**2), rel=1e-3)
    assert of_actor == pytest.approx(1 - np.mean(error_BS[actor] ** 2) / np.var(return_BS[actor]), rel=1e-2, abs=1e-3)
    assert "explained variance, %" in capsys.readouterr().out
