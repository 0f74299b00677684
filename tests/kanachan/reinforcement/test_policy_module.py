"""Stage policy on real decisions with a reward whose answer is known: it prefers the action that is rewarded."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from annotate.simulation.simulate import simulate_game
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import MODEL_SIZES, OptimConfig
from kanachan.data.batch import Batch, batch_of_annotations
from kanachan.objectives.networks import load_network
from kanachan.policy_config import PolicyConfig
from kanachan.reinforcement.policy_module import PolicyModule
from kanachan.training.tempered_network import TemperedNetwork, load_tempered
from tests.support.tiny_stage import Rows, make_trainer
from tests.support.tiny_weights import written

ROWS_PER_BATCH, STEPS = 64, 30
SETTINGS = PolicyConfig(clip=0.5, kl=0.05, magnet_kl=0.0, kl_limit=10.0)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("weights"), layers=1)


def fixed(weights: Path) -> TemperedNetwork:
    return load_tempered(weights, 1.0)[0]


def module(
    weights: Path, magnet: TemperedNetwork | None = None, frozen: tuple[str, ...] = (), start: Path | None = None
) -> PolicyModule:
    network, objective, _ = load_network(start or weights)
    optim = OptimConfig(learning_rate=1.5e-3, frozen=frozen, warmup=2, weight_decay=0.0)
    model = replace(MODEL_SIZES["tiny"], layers=1)
    policy = TemperedNetwork(network.train(), objective, 1.0)
    return PolicyModule(policy, fixed(weights), magnet, SETTINGS, optim, STEPS, STEPS, model)


@pytest.fixture(scope="module")
def games(weights: Path) -> list[list[Batch]]:
    """The decisions of simulated games, in batches, with actions that the policy has drawn: some to learn from, and
    some held out."""
    found, policy, generator = [], fixed(weights), torch.Generator().manual_seed(0)
    for seeds in ((0, 1, 2), (3, 4)):
        annotations = [a for seed in seeds for a in simulate_game(FOUR_PLAYERS, seed=seed).annotations]
        batches = []
        for first in range(0, len(annotations) - ROWS_PER_BATCH + 1, ROWS_PER_BATCH):
            rows = annotations[first : first + ROWS_PER_BATCH]
            batch = batch_of_annotations(rows, FOUR_PLAYERS)
            with torch.no_grad():
                log_BA = policy(batch)
            chosen_B = torch.multinomial(log_BA.exp(), 1, generator=generator)[:, 0]
            label_B3 = torch.stack([log_BA.gather(1, chosen_B[:, None])[:, 0], *torch.ones(2, len(batch))], dim=1)
            assert batch.labels is not None
            batches.append(replace(batch, labels=replace(batch.labels, chosen_B=chosen_B, label_BL=label_B3)))
        found.append(batches)
    return found


def rewarded(batch: Batch) -> Tensor:
    """Whether each candidate is the one that is rewarded: not to call."""
    return batch.candidate_BA == 1 + FOUR_PLAYERS.action["skip"].first


def with_rewards(batches: list[Batch], *, is_shuffled: bool = False) -> list[Batch]:
    """The batches with the standardised reward as advantage, where the reward is 1 for the rewarded action and 0 for
    others; on request the advantages are shuffled among the decisions."""
    reward_N = torch.cat([rewarded(b).gather(1, b.chosen_B[:, None])[:, 0] for b in batches]).float()
    advantage_N = (reward_N - reward_N.mean()) / reward_N.std()
    if is_shuffled:
        advantage_N = advantage_N[torch.randperm(len(advantage_N), generator=torch.Generator().manual_seed(1))]
    changed = []
    for batch, advantage_B in zip(batches, advantage_N.split(ROWS_PER_BATCH), strict=True):
        assert batch.labels is not None and batch.label_BL is not None
        label_B3 = torch.stack([batch.label_BL[:, 0], advantage_B, batch.label_BL[:, 2]], dim=1)
        changed.append(replace(batch, labels=replace(batch.labels, label_BL=label_B3)))
    return changed


def probability_of_reward(policy: TemperedNetwork, batches: list[Batch]) -> float:
    """The mean probability of the rewarded action over the decisions in which it is possible."""
    with torch.no_grad():
        found = [policy(batch).exp()[rewarded(batch)] for batch in batches]
    return float(torch.cat(found).mean())


def trained(weights: Path, train: list[Batch], validation: list[Batch]) -> tuple[PolicyModule, Rows]:
    torch.manual_seed(0)
    stage, rows = module(weights), Rows()
    loaders = (DataLoader(batches, batch_size=None) for batches in (train, validation))
    make_trainer(rows, STEPS, max_epochs=-1, check_val_every_n_epoch=None, val_check_interval=STEPS).fit(
        stage, *loaders
    )
    return stage, rows


def test_a_rewarded_action_becomes_more_probable_in_other_games(weights: Path, games: list[list[Batch]]) -> None:
    train, held_out = games
    stage, rows = trained(weights, with_rewards(train), with_rewards(held_out))
    before, after = (probability_of_reward(p, held_out) for p in (fixed(weights), stage._policy))
    assert before < 0.75
    assert after > 2 * before
    (covariance,) = rows.of("validation/covariance").values()
    assert covariance > 0.12


def test_shuffled_rewards_change_almost_nothing_in_other_games(weights: Path, games: list[list[Batch]]) -> None:
    train, held_out = games
    stage, rows = trained(weights, with_rewards(train, is_shuffled=True), with_rewards(held_out))
    before, after = (probability_of_reward(p, held_out) for p in (fixed(weights), stage._policy))
    assert after == pytest.approx(before, rel=0.2)
    (covariance,) = rows.of("validation/covariance").values()
    assert abs(covariance) < 0.05  # six shuffles: -0.022 to 0.019; the true rewards: 0.190


def test_a_step_without_finite_numbers_is_skipped_and_the_run_goes_on(weights: Path, games: list[list[Batch]]) -> None:
    train, held_out = (with_rewards(batches) for batches in games)
    train[3] = replace(train[3], numeric_BN=train[3].numeric_BN * torch.nan)
    stage, rows = trained(weights, train, held_out)
    assert max(rows.of("train/skipped_steps").values()) == STEPS // len(train) + 1  # one in each pass
    assert math.isfinite(stage.entropy_weight)
    assert probability_of_reward(stage._policy, held_out) > 2 * probability_of_reward(fixed(weights), held_out)


def test_a_frozen_encoder_is_computed_once_before_a_resumed_run_has_loaded_it(weights: Path, tmp_path: Path) -> None:
    assert module(weights, frozen=("encoder",), start=written(tmp_path, layers=1, seed=1))._shares_encoder


@pytest.mark.parametrize("magnet_seed", [None, 0, 1], ids=["no magnet", "magnet of this encoder", "of another"])
def test_computing_a_frozen_encoder_once_gives_the_same_losses_and_gradients(
    magnet_seed: int | None, weights: Path, games: list[list[Batch]], tmp_path: Path
) -> None:
    magnet = None if magnet_seed is None else fixed(written(tmp_path, layers=1, seed=magnet_seed))
    stage = module(weights, magnet, frozen=("encoder",))
    network = stage.network
    with torch.no_grad():
        network.head.weight.add_(0.1)  # after some steps
    assert stage._shares_encoder == (magnet_seed != 1)
    (batch, *_), _ = games
    found = stage._parts(batch)
    found["loss"].backward()
    gradients = {name: p.grad for name, p in network.named_parameters() if p.grad is not None}
    assert gradients.keys() >= {"head.weight", "decoder.candidate_embedding.weight"}
    network.zero_grad()
    stage._shares_encoder = False
    expected = stage._parts(batch)
    expected["loss"].backward()
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
    torch.testing.assert_close(
        gradients, {name: p.grad for name, p in network.named_parameters() if p.grad is not None}, rtol=0, atol=0
    )
