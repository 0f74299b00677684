"""Stage policy, end to end on tiny games of self-play."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from kanachan.config import DataConfig, TrainConfig
from kanachan.data.batch import TokenLayout, collate, with_hidden
from kanachan.data.columns import Ragged
from kanachan.data.loader import Share
from kanachan.data.shards import open_shards
from kanachan.models.weights import read_weights
from kanachan.objectives.networks import load_network
from kanachan.policy_config import PolicyConfig
from kanachan.reinforcement.behaviour import Behaviour
from kanachan.reinforcement.policy_gradient import Played
from kanachan.reinforcement.policy_stage import PlayedSource
from kanachan.training.checkpointing import read_checkpoint
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


def test_probabilities_computed_again_are_those_of_the_games(played: PlayedGames) -> None:
    config = TrainConfig(
        stage="policy",
        data=DataConfig(path=str(played.shards), batch=16, micro_batch=16, exchange_suits=False),
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
    assert not {"train/hidden_share", "train/rejected"} & rows[0].keys()


def test_a_magnet_is_another_policy_than_that_of_the_start(played: PlayedGames, tmp_path: Path) -> None:
    magnet = written(tmp_path / "magnet", "policy", seed=1, layers=1)
    assert run(played, tmp_path / "run", "--policy.magnet", str(magnet), "--run.steps", "1") == 0
    row = next(row for row in rows_of(tmp_path / "run") if row["train/loss"])
    assert float(row["train/divergence"]) == 0 < float(row["train/magnet_divergence"])


@pytest.mark.parametrize("name", ["trained", "guided"])
def test_a_resumed_run_ends_with_the_same_weights(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    assert_resumable(request.getfixturevalue(name), tmp_path / "half")


@pytest.mark.parametrize("minutes", ["0", "15"])
def test_a_run_ends_when_the_policy_has_moved_too_far(
    minutes: str, played: PlayedGames, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ("--policy.kl_limit", "1e-9", "--optim.learning_rate", "1e-2", "--run.checkpoint_minutes", minutes)
    assert run(played, tmp_path / "run", *more) == 0
    assert "more than policy.kl_limit=1e-09: the run ends here" in capsys.readouterr().out
    assert read_weights(tmp_path / "run").card["steps"] == 4


GUIDED = ("--policy.oracle", "1")


@pytest.fixture(scope="module")
def guided(played: PlayedGames, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of which the last two of eight steps have no hidden tokens."""
    out = tmp_path_factory.mktemp("runs") / "guided"
    assert run(played, out, *GUIDED, "--policy.kl_limit", "1", "--optim.warmup", "0", "--optim.cooldown", "0") == 0
    return out


def test_a_guided_run_starts_from_the_policy_that_played_and_loses_sight_of_hidden_tiles(guided: Path) -> None:
    rows = [row for row in rows_of(guided) if row["train/loss"]]
    assert [float(row["train/hidden_share"]) for row in rows] == pytest.approx([1 - n / 6 for n in range(6)] + [0, 0])
    assert float(rows[0]["train/divergence"]) == 0 < float(rows[1]["train/divergence"])
    rates = [float(row["train/learning_rate"]) for row in rows]  # of the next step
    assert rates == pytest.approx([1e-4] * 5 + [1e-5] * 3)
    assert not any(float(row["train/rejected"]) for row in rows[:6])
    assert not any(row["validation/rejected"] for row in rows_of(guided) if "validation/rejected" in row)


def test_the_weights_of_a_guided_run_are_like_any_others_and_see_nothing_hidden(
    guided: Path, trained: Path, played: PlayedGames
) -> None:
    ours, plain = read_weights(guided).tensors, read_weights(trained).tensors
    assert {name: tensor.shape for name, tensor in ours.items()} == {name: t.shape for name, t in plain.items()}
    learned = read_checkpoint(guided / "checkpoints/last.ckpt")["state_dict"]["network.encoder.hidden_embedding.weight"]
    assert bool(learned.any())  # and yet they are not in the file
    shards = open_shards(played.shards, "train", hidden=True, behaviour=True)
    columns = shards.gather(np.arange(64))
    assert columns.hidden is not None
    scrambled = replace(columns, hidden=Ragged((columns.hidden.values + 7) % 408, columns.hidden.starts))
    network, objective, _ = load_network(guided)
    layout, random = TokenLayout(shards.vocabulary), np.random.default_rng(0)
    with torch.no_grad():
        one, other = (
            objective.score(network(with_hidden(collate(each, layout), each, layout, 1.0, random)))
            for each in (columns, scrambled)
        )
    assert torch.equal(one, other)
