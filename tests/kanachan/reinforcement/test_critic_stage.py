"""Stage critic, end to end on tiny games of self-play."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import OptimConfig
from kanachan.data.batch import Batch, batch_of_annotations
from kanachan.data.round_shards import open_rounds
from kanachan.data.shards import open_shards
from kanachan.inference.policy import Policy
from kanachan.inference.reward_predictor import RewardPredictor
from kanachan.models.weights import read_weights
from kanachan.reinforcement.critic import Critic, CriticNetwork
from kanachan.reinforcement.critic_stage import CriticModule
from kanachan.reinforcement.returns import RoundReturns, Utility
from tests.support.played_folders import train_critic
from tests.support.random_annotations import random_annotations
from tests.support.tiny_rewards import written_reward
from tests.support.tiny_runs import assert_resumable, losses_of
from tests.support.tiny_stage import MODEL, make_trainer
from tests.support.tiny_weights import written


@pytest.fixture(scope="module")
def reward(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_reward(tmp_path_factory.mktemp("reward") / "reward.safetensors")


@pytest.fixture(scope="module")
def trained(rule_games: Path, reward: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that fits the few rounds of the training split."""
    out = tmp_path_factory.mktemp("runs") / "run"
    settings = ("--run.steps", "60", "--optim.learning_rate", "0.01", "--optim.average", "0.5")
    assert train_critic(rule_games, reward, out, *settings, "--model.dropout", "0.1") == 0
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
    trained: Path, rule_games: Path, reward: Path
) -> None:
    opened = open_shards(rule_games, "train", hidden=True, behaviour=True)
    columns = opened.gather(np.arange(len(opened)))
    return_BS = RoundReturns(
        open_rounds(rule_games, "train"), RewardPredictor.load(reward), Utility(), FOUR_PLAYERS
    ).of(columns)
    value_BS = Critic.load(trained).of(columns)
    assert np.isfinite(return_BS).all()
    assert np.mean((value_BS - return_BS) ** 2) < 0.8 * np.mean(return_BS**2)


def test_a_resumed_run_ends_with_the_same_weights(trained: Path, tmp_path: Path) -> None:
    assert_resumable(trained, tmp_path / "half")


def test_a_critic_starts_from_the_encoder_of_another_stage(rule_games: Path, reward: Path, tmp_path: Path) -> None:
    weights = written(tmp_path / "imitation")
    settings = ("--init", str(weights), "--run.steps", "1", "--optim.learning_rate", "1e-9")
    assert train_critic(rule_games, reward, tmp_path / "run", *settings) == 0
    mine, theirs = read_weights(tmp_path / "run"), read_weights(weights)
    for name, tensor in theirs.tensors.items():
        if name == "encoder.token_embedding.weight":  # as many rows are used as tokens differ in more than the suit
            tensor = tensor[theirs.tensors["encoder.suits.shared_N"].long()]
        if name.startswith("encoder."):
            assert np.allclose(mine.tensors[name][: len(tensor)], tensor, atol=1e-6), name
    assert [stage["stage"] for stage in mine.card["lineage"]] == ["imitation"]


def labelled(first: int, last: int) -> Batch:
    """Returns some decisions of a batch, two of which have an unknown return."""
    batch = batch_of_annotations(random_annotations(12, seed=3)[first:last], FOUR_PLAYERS)
    label_BS = torch.arange(48.0).view(12, 4)
    label_BS[[1, 2]] = torch.nan
    assert batch.labels is not None
    return replace(batch, labels=replace(batch.labels, label_BL=label_BS[first:last]))


def test_the_loss_of_a_batch_is_the_mean_of_those_of_its_parts_whatever_returns_are_unknown() -> None:
    torch.manual_seed(0)
    network = CriticNetwork(MODEL, FOUR_PLAYERS, scale=1, is_zero_sum=False)
    module = CriticModule(network, MODEL, OptimConfig(), 10, 1)
    module.trainer = make_trainer()
    whole, *parts = (module.training_step(labelled(*rows), 0) for rows in ((0, 12), (0, 4), (4, 8), (8, 12)))
    torch.testing.assert_close(torch.stack(parts).mean(), whole)
    (gradient,) = torch.autograd.grad(whole, network.head.bias)
    assert bool(gradient.isfinite().all()) and float(gradient.norm()) > 0


def test_a_critic_chooses_no_actions(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a critic, which sees hidden tiles and chooses no actions"):
        Policy.load(trained)
    with pytest.raises(ValueError, match="weights of stage imitation; a critic is expected here"):
        Critic.load(written(tmp_path))
