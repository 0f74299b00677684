"""A training step computes on one device. On `meta`, whose tensors have no contents, torch refuses tensors of another
device and every operation that would make a CPU wait for a GPU."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing._internal.distributed.fake_pg import FakeStore

from annotate.vocabulary import FOUR_PLAYERS, NUM_TILES34
from kanachan.config import MODEL_SIZES, ObjectiveConfig, OptimConfig, RewardConfig, StageName
from kanachan.data.batch import Batch, TokenLayout, with_varlen_layout
from kanachan.data.round_batch import Games, RoundBatch
from kanachan.models.weights import read_weights
from kanachan.objectives.networks import build_network, load_network
from kanachan.objectives.reward import build_reward_predictor
from kanachan.objectives.stages import STAGES
from kanachan.policy_config import PolicyConfig
from kanachan.reinforcement.policy_module import PolicyModule
from kanachan.training.curriculum_stage import StageModule
from kanachan.training.logged_module import LoggedModule
from kanachan.training.muon import MuonWithAdamW
from kanachan.training.optimizers import gradient_norms, parameter_groups
from kanachan.training.reward_stage import RewardModule
from kanachan.training.stopping import Wish, _sent
from kanachan.training.tempered_network import TemperedNetwork
from tests.support.other_device import CopiesRefused, ListsRefused
from tests.support.random_rounds import random_rounds
from tests.support.tiny_rewards import written_reward
from tests.support.tiny_stage import batches, make_trainer
from tests.support.tiny_weights import written

ROWS, SEATS, STEPS = 8, FOUR_PLAYERS.num_seats, 6
TINY, OPTIM = replace(MODEL_SIZES["tiny"], layers=1), OptimConfig()


@pytest.fixture
def batch() -> Batch:
    (made,) = batches(ROWS, ROWS)
    assert made.labels is not None
    counts_BHK = torch.ones(ROWS, SEATS - 1, NUM_TILES34, dtype=torch.uint8)
    return replace(made, labels=replace(made.labels, hand_count_BHK=counts_BHK))


def train_elsewhere(module: LoggedModule, batch: Any) -> Any:
    """Takes a step on `meta`, without the update of the weights: torch has no fused kernel there. Returns the batch."""
    module.trainer = make_trainer()
    module.to("meta")
    optimizer = module.configure_optimizers()["optimizer"]
    there = batch.to("meta")
    module.training_step(there, 0)  # moves the tensors that are not trained
    with CopiesRefused(), ListsRefused():
        loss = module.training_step(there, 0)
        assert loss.device.type == "meta"
        loss.backward()
        assert gradient_norms(module.network, lambda parameter: parameter.grad)
        module.skipped.clip(optimizer, 1.0)
    return there


@torch.no_grad()
def validate_elsewhere(module: LoggedModule, there: Any) -> None:
    module.on_validation_epoch_start()
    module.validation_step(there, 0)  # moves tables
    with CopiesRefused(), ListsRefused():
        module.validation_step(there, 0)


def stage_module(stage: StageName, *, teacher: TemperedNetwork | None = None, **loss: Any) -> StageModule:
    network, objective = build_network(stage, TINY, ObjectiveConfig(**loss), FOUR_PLAYERS)
    return StageModule(network, objective, OPTIM, STEPS, STEPS, TINY, teacher)


def tempered(path: Path) -> TemperedNetwork:
    network, objective, _ = load_network(path)
    return TemperedNetwork(network, objective, 1.0)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("loss", [{}, {"hidden_hands": 0.5, "round_winner": 0.5}], ids=["plain", "auxiliary"])
def test_a_stage_of_the_curriculum_computes_on_one_device(stage: StageName, loss: dict[str, Any], batch: Batch) -> None:
    module = stage_module(stage, **loss)
    validate_elsewhere(module, train_elsewhere(module, batch))


@pytest.mark.parametrize("stage", ["rank", "grading"])
def test_a_prior_computes_on_one_device(
    stage: StageName, batch: Batch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: False)  # torch cannot tell this of `meta`
    reward = written_reward(tmp_path / "reward.safetensors")
    settings = ObjectiveConfig(prior=str(reward))
    network, objective = build_network(stage, TINY, settings, FOUR_PLAYERS, read_weights(reward).card)
    module = StageModule(network, objective, OPTIM, STEPS, STEPS, TINY)
    validate_elsewhere(module, train_elsewhere(module, batch))


def test_muon_computes_on_one_device(batch: Batch) -> None:
    module, settings = stage_module("imitation"), replace(OPTIM, optimizer="muon")
    train_elsewhere(module, batch)
    groups = [group for group in parameter_groups(module.network, settings) if group["is_muons"]]
    optimizer = MuonWithAdamW(groups)
    for _ in range(2):
        module.skipped.clip(optimizer, 1.0)
        optimizer.step()
    assert all(optimizer.state[matrix]["step"].device.type == "meta" for group in groups for matrix in group["params"])


@pytest.mark.parametrize("stage", STAGES)
def test_packed_batches_are_computed_on_one_device(stage: StageName, batch: Batch) -> None:
    module = stage_module(stage)
    packed = with_varlen_layout(batch, TokenLayout(FOUR_PLAYERS))
    validate_elsewhere(module, train_elsewhere(module, packed))


def test_distillation_computes_on_one_device(batch: Batch, tmp_path: Path) -> None:
    teacher = tempered(written(tmp_path, layers=1))
    train_elsewhere(stage_module("imitation", teacher=teacher), batch)


def test_stage_policy_computes_on_one_device(batch: Batch, tmp_path: Path) -> None:
    path = written(tmp_path, layers=1)
    networks = [tempered(path) for _ in range(3)]
    module = PolicyModule(*networks, PolicyConfig(), OPTIM, STEPS, STEPS, TINY)
    validate_elsewhere(module, train_elsewhere(module, batch.with_soft_labels(torch.ones(ROWS, 3))))


def test_stage_reward_computes_on_one_device() -> None:
    settings = RewardConfig(width=8)
    predictor, objective = build_reward_predictor(settings, FOUR_PLAYERS)
    rounds = random_rounds(3, 0)
    games = RoundBatch.of(rounds, Games.of(rounds), np.arange(3))
    train_elsewhere(RewardModule(predictor, objective, OPTIM, STEPS, STEPS), games)


def test_processes_ask_each_other_on_one_device_whether_to_stop() -> None:
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=8)
    try:
        with CopiesRefused(), ListsRefused():
            _sent(Wish.STOP, torch.device("meta"))
    finally:
        torch.distributed.destroy_process_group()
