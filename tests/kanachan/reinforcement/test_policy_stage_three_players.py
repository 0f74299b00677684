"""A policy of three players learns from its own games, and its gain is measured, on tiny models."""

import json
from contextlib import chdir
from pathlib import Path

import pytest

from annotate.vocabulary import THREE_PLAYERS
from kanachan.cli import evaluate
from kanachan.models.weights import read_weights
from tests.kanachan.conftest import PlayedGames
from tests.support.played_folders import played_folder, train_policy
from tests.support.tiny_rewards import written_reward
from tests.support.tiny_weights import written


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> PlayedGames:
    folder = tmp_path_factory.mktemp("played")
    weights = written(folder / "weights", layers=1, vocabulary=THREE_PLAYERS)
    shards = folder / "shards"
    with chdir(folder):  # the names of players and their files determine the games
        player = f"{weights.relative_to(folder)}@0.5=0.4"
        played_folder(shards, player, "rule=0.6", games=12, fractions="0.6,0.2,0.2")
    return PlayedGames(weights, shards, written_reward(folder / "reward.safetensors", vocabulary=THREE_PLAYERS))


@pytest.fixture(scope="module")
def policy(played: PlayedGames) -> Path:
    out = played.shards.parent / "policy"
    assert train_policy(played.shards, played.weights, played.reward, out, "--policy.kl_limit", "1") == 0
    return out


def test_a_policy_of_three_learns_from_its_games_and_its_gain_is_measured(
    policy: Path, played: PlayedGames, tmp_path: Path
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
