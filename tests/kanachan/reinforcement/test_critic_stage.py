"""Stage critic, end to end on tiny games of self-play."""

from pathlib import Path

import numpy as np
import pytest

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.cli import train
from kanachan.data.round_shards import open_rounds
from kanachan.data.shards import open_shards
from kanachan.inference.policy import Policy
from kanachan.inference.reward_predictor import RewardPredictor
from kanachan.models.weights import read_weights
from kanachan.reinforcement.critic import Critic
from kanachan.reinforcement.returns import RoundReturns, Utility
from tests.support.played_folders import train_critic
from tests.support.tiny_rewards import written_reward
from tests.support.tiny_runs import assert_resumable, losses_of
from tests.support.tiny_weights import written


@pytest.fixture(scope="module")
def shards(rule_games: Path) -> Path:
    return rule_games


@pytest.fixture(scope="module")
def reward(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_reward(tmp_path_factory.mktemp("reward") / "reward.safetensors")


@pytest.fixture(scope="module")
def trained(shards: Path, reward: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that fits the few rounds of the training split."""
    out = tmp_path_factory.mktemp("runs") / "run"
    settings = ("--run.steps", "60", "--optim.learning_rate", "0.01", "--optim.average", "0.5")
    assert train_critic(shards, reward, out, *settings, "--model.dropout", "0.1") == 0
    return out


def test_a_run_learns_and_writes_weights_with_a_card(trained: Path, reward: Path) -> None:
    losses = losses_of(trained)
    assert sum(losses[-5:]) < 0.8 * sum(losses[:5])
    card = read_weights(trained).card
    assert (card["stage"], card["model"]["width"], card["lineage"]) == ("critic", 16, [])
    assert card["critic"]["utility"] == {"kind": "ranks", "points": [1.5, 0.5, -0.5, -1.5]}
    assert card["critic"]["reward"] == str(reward) and card["critic"]["sha256"]
    assert card["metrics"].keys() >= {"loss", "explained_variance"}


def test_the_weights_that_are_read_back_explain_the_returns_of_the_rounds(
    trained: Path, shards: Path, reward: Path
) -> None:
    opened = open_shards(shards, "train", hidden=True, behaviour=True)
    columns = opened.gather(np.arange(len(opened)))
    return_BS = RoundReturns(open_rounds(shards, "train"), RewardPredictor.load(reward), Utility(), FOUR_PLAYERS).of(
        columns
    )
    value_BS = Critic.load(trained).of(columns)
    assert np.isfinite(return_BS).all()
    assert np.mean((value_BS - return_BS) ** 2) < 0.8 * np.mean(return_BS**2)


def test_a_resumed_run_ends_with_the_same_weights(trained: Path, tmp_path: Path) -> None:
    assert_resumable(trained, tmp_path / "half")


def test_a_critic_starts_from_the_encoder_of_another_stage(shards: Path, reward: Path, tmp_path: Path) -> None:
    weights = written(tmp_path / "imitation")
    settings = ("--init", str(weights), "--run.steps", "1", "--optim.learning_rate", "1e-9")
    assert train_critic(shards, reward, tmp_path / "run", *settings) == 0
    mine, theirs = read_weights(tmp_path / "run"), read_weights(weights)
    for name, tensor in theirs.tensors.items():
        if name.startswith("encoder."):
            assert np.allclose(mine.tensors[name][: len(tensor)], tensor, atol=1e-6), name
    assert [stage["stage"] for stage in mine.card["lineage"]] == ["imitation"]


def test_a_run_is_not_resumed_with_another_reward_predictor(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reward = written_reward(tmp_path / "reward.safetensors")
    assert train_critic(shards, reward, tmp_path / "run", "--run.steps", "2") == 0
    written_reward(reward, seed=1)
    assert train.main(["--resume", str(tmp_path / "run"), "--run.steps", "3"]) != 0
    assert "was started with labels=" in capsys.readouterr().err


def test_a_critic_chooses_no_actions(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a critic, which sees hidden tiles and chooses no actions"):
        Policy.load(trained)
    with pytest.raises(ValueError, match="weights of stage imitation; a critic is expected here"):
        Critic.load(written(tmp_path))
