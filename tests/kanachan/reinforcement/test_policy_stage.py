"""Stage policy, end to end on tiny games of self-play."""

from pathlib import Path

import pytest
import torch

from kanachan.config import DataConfig, TrainConfig
from kanachan.data.loader import Share
from kanachan.models.weights import read_weights
from kanachan.objectives.networks import load_network
from kanachan.policy_config import PolicyConfig
from kanachan.reinforcement.behaviour import Behaviour
from kanachan.reinforcement.policy_gradient import Played
from kanachan.reinforcement.policy_stage import PlayedSource
from kanachan.training.devices import Devices
from kanachan.training.processes import World
from kanachan.training.tempered_network import TemperedNetwork
from tests.kanachan.conftest import CARD_TEMPERATURE, EXPLORE, TEMPERATURE, PlayedGames
from tests.support.played_folders import train_policy
from tests.support.tiny_runs import assert_resumable, rows_of, same_weights
from tests.support.tiny_weights import written

ON_CPU = Devices(is_gpu=False, use_bf16=False, use_varlen=False, world=World(1, 1))


def run(played: PlayedGames, out: Path, *more: str) -> int:
    return train_policy(played.shards, played.weights, played.reward, out, *more)


@pytest.fixture(scope="module")
def trained(played: PlayedGames, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    assert run(played, out, "--policy.kl_limit", "1") == 0
    return out


def test_recomputed_probabilities_equal_the_recorded_ones(played: PlayedGames) -> None:
    config = TrainConfig(
        stage="policy",
        data=DataConfig(path=str(played.shards), batch=16, micro_batch=16),
        policy=PolicyConfig(reward=str(played.reward)),
        init=str(played.weights),
    )
    source = PlayedSource(config, ON_CPU)
    assert (source.behaviour.temperature, source.behaviour.explore) == (TEMPERATURE, EXPLORE)
    network, objective, _ = load_network(played.weights)
    policy, num_decisions = TemperedNetwork(network, objective, TEMPERATURE * CARD_TEMPERATURE), 0
    for batch in source.validation_batches(Share(0, 1), limit=2):
        with torch.no_grad():
            again_BA = Behaviour(1.0, EXPLORE).log_probabilities(policy(batch)).float()
        again_B = again_BA.gather(1, batch.chosen_B[:, None])[:, 0]
        assert torch.allclose(again_B, Played.of_batch(batch).log_behaviour_B, atol=1e-4)
        num_decisions += len(batch)
    assert num_decisions > 100
    assert source.difference_of(policy) < 1e-4
    assert source.difference_of(TemperedNetwork(network, objective, 2.0)) > 0.05


def test_a_run_moves_the_policy_a_little_and_writes_weights_with_a_card(trained: Path, played: PlayedGames) -> None:
    card = read_weights(trained).card
    assert (card["stage"], [entry["stage"] for entry in card["lineage"]]) == ("policy", ["imitation"])
    assert card["config"]["policy"]["reward"] == str(played.reward)
    assert card["temperature"] == CARD_TEMPERATURE  # so that it plays at the temperature at which it was trained
    rows = rows_of(trained)
    assert [float(rows[0][f"train/{name}"]) for name in ("divergence", "clipped", "entropy_weight")] == [0, 0, 0]
    assert float(rows[0]["train/importance"]) == pytest.approx(1, abs=0.2)
    assert 0 < card["metrics"]["divergence"] < 1
    assert card["metrics"].keys() >= {"loss", "magnet_divergence", "entropy", "importance", "advantage", "covariance"}
    assert not same_weights(trained, played.weights.parent)
    assert {"train/divergence", "train/entropy_weight", "train/clipped", "validation/covariance"} <= rows[0].keys()


def test_a_magnet_can_be_another_policy_than_the_initial_one(played: PlayedGames, tmp_path: Path) -> None:
    magnet = written(tmp_path / "magnet", "policy", seed=1, layers=1)
    assert run(played, tmp_path / "run", "--policy.magnet", str(magnet), "--run.steps", "1") == 0
    row = next(row for row in rows_of(tmp_path / "run") if row["train/loss"])
    assert float(row["train/divergence"]) == 0 < float(row["train/magnet_divergence"])


def test_a_resumed_run_ends_with_the_same_weights(trained: Path, tmp_path: Path) -> None:
    assert_resumable(trained, tmp_path / "half")


@pytest.mark.parametrize("minutes", ["0", "15"])
def test_a_run_ends_when_the_policy_has_moved_too_far(
    minutes: str, played: PlayedGames, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ("--policy.kl_limit", "1e-9", "--optim.learning_rate", "1e-2", "--run.checkpoint_minutes", minutes)
    assert run(played, tmp_path / "run", *more) == 0
    assert "more than policy.kl_limit=1e-09: the run ends here" in capsys.readouterr().out
    assert read_weights(tmp_path / "run").card["steps"] == 4
