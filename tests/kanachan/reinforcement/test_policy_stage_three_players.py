"""Critic and policy of three players: from their own games to a policy whose gain is measured, on tiny models."""

import json
from contextlib import chdir
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from annotate.vocabulary import THREE_PLAYERS
from kanachan.cli import evaluate
from kanachan.data.shards import open_shards
from kanachan.models.weights import read_weights
from kanachan.reinforcement.critic import Critic
from kanachan.reinforcement.policy_iteration import Iteration
from kanachan.training.command_line import requested
from tests.support.played_folders import played_folder, train_critic, train_policy
from tests.support.tiny_rewards import written_reward
from tests.support.tiny_weights import written


class ThreePlayers(NamedTuple):
    """Self-play of a policy of three players against rule-based ones, and what learns from it."""

    weights: Path
    shards: Path
    reward: Path


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> ThreePlayers:
    folder = tmp_path_factory.mktemp("played")
    weights = written(folder / "weights", layers=1, vocabulary=THREE_PLAYERS)
    shards = folder / "shards"
    with chdir(folder):  # the names of players and their files determine the games
        player = f"{weights.relative_to(folder)}@0.5=0.8"
        played_folder(shards, player, "rule=0.2", games=12, fractions="0.4,0.3,0.3")
    return ThreePlayers(weights, shards, written_reward(folder / "reward.safetensors", vocabulary=THREE_PLAYERS))


@pytest.fixture(scope="module")
def critic(played: ThreePlayers) -> Path:
    out = played.shards.parent / "critic"
    assert train_critic(played.shards, played.reward, out, "--optim.learning_rate", "0.01") == 0
    return out


@pytest.fixture(scope="module")
def policy(played: ThreePlayers, critic: Path) -> Path:
    out = played.shards.parent / "policy"
    more = ("--policy.critic", str(critic), "--policy.kl_limit", "1")
    assert train_policy(played.shards, played.weights, played.reward, out, *more) == 0
    return out


def test_a_critic_of_three_seats_predicts_returns_that_add_up_to_nothing(played: ThreePlayers, critic: Path) -> None:
    weights = read_weights(critic)
    assert weights.vocabulary is THREE_PLAYERS
    assert weights.card["critic"]["utility"] == {"kind": "ranks", "points": [1, 0, -1]}
    columns = open_shards(played.shards, "validation", hidden=True, behaviour=True).gather(np.arange(50))
    value_BS = Critic.load(critic).of(columns)
    assert value_BS.shape == (50, 3) and value_BS.any()
    assert value_BS.sum(axis=1) == pytest.approx(np.zeros(50), abs=1e-5)


def test_a_policy_of_three_learns_from_its_games_and_its_gain_is_measured(
    policy: Path, played: ThreePlayers, critic: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    card = read_weights(policy).card
    assert (card["vocabulary"], card["stage"]) == (THREE_PLAYERS.name, "policy")
    assert card["config"]["policy"]["points"] == [1, 0, -1]
    assert 0 < card["metrics"]["divergence"] < 1
    out = tmp_path / "gain.json"
    command = ["--gain", str(policy), str(played.weights), str(played.shards), "--bootstrap", "20"]
    assert evaluate.main([*command, "--reward", str(played.reward), "--json", str(out)]) == 0
    content = json.loads(out.read_text())
    assert (content["unit"], content["utility"]) == ("ranks", {"kind": "ranks", "points": [1, 0, -1]})
    assert content["gain"]["low"] <= content["gain"]["value"] <= content["gain"]["high"]
    capsys.readouterr()
    assert evaluate.main([*command, "--critic", str(critic)]) == 0
    assert "gain in ranks, a game" in capsys.readouterr().out


def test_iterations_of_a_policy_of_three_have_its_points(played: ThreePlayers, tmp_path: Path) -> None:
    games = ["--selfplay.games", "10", "--selfplay.critic", "true", "-o", str(tmp_path / "run")]
    config = requested(["--stage", "policy", "--init", str(played.weights), *games]).config
    iteration = Iteration(config, 0, str(played.weights))
    iteration.folder.mkdir(parents=True)
    commands = dict(iteration.fits())
    assert "[1.0, 0.0, -1.0]" in commands["critic"].arguments
