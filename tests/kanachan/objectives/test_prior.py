"""A stage with a prior: before the first step it predicts the same as the reward predictor."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from torch import Tensor

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import MODEL_SIZES, DataConfig, ObjectiveConfig, StageName, TrainConfig
from kanachan.data.batch import Batch, TokenLayout, batch_of_annotations
from kanachan.data.columns import columns_of_annotations
from kanachan.data.round_state import RoundState
from kanachan.inference.reward_predictor import RewardPredictor
from kanachan.models.transformer import Output
from kanachan.objectives.rank import Rank
from kanachan.objectives.reward import Outcome
from kanachan.objectives.targets import Results
from kanachan.training.initialization import InitialNetwork, initial_network
from tests.support.random_annotations import random_annotations

ANNOTATIONS = random_annotations(60, seed=3)
COLUMNS = columns_of_annotations(ANNOTATIONS, FOUR_PLAYERS)


@pytest.fixture(scope="module")
def expected(reward: Path) -> Outcome:
    """The predictions of the reward predictor at the decisions."""
    return RewardPredictor.load(reward).of_observations(COLUMNS)


def untrained(stage: StageName, reward: Path, **objective: str | float) -> InitialNetwork:
    settings = ObjectiveConfig(prior=str(reward), **objective)
    config = TrainConfig(
        stage=stage, data=DataConfig(path="."), model=MODEL_SIZES["tiny"], objective=settings, init=None
    )
    return initial_network(config, FOUR_PLAYERS, inherits=True)


@contextmanager
def in_bf16(use_bf16: bool) -> Iterator[None]:
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=use_bf16):
        yield


def of_all_candidates(output: Output) -> Tensor:
    """The outputs of the first candidate [B, K]; all other candidates must have the same outputs."""
    assert torch.equal(output.candidate_BAK, output.candidate_BAK[:, :1].expand_as(output.candidate_BAK))
    return output.candidate_BAK[:, 0]


def batch_of(actor_first: bool) -> Batch:
    return batch_of_annotations(ANNOTATIONS, FOUR_PLAYERS, actor_first=actor_first)


@pytest.mark.parametrize("actor_first", [False, True], ids=["seats as recorded", "actor first"])
def test_a_batch_has_the_round_states_of_its_decisions(actor_first: bool) -> None:
    found = RoundState.of_batch(batch_of(actor_first), TokenLayout(FOUR_PLAYERS))
    for name, ours, theirs in zip(
        RoundState._fields, found, RoundState.of_observations(COLUMNS, FOUR_PLAYERS), strict=True
    ):
        assert torch.equal(ours, theirs), name


@pytest.mark.parametrize("use_bf16", [False, True], ids=["fp32", "bf16"])
@pytest.mark.parametrize("actor_first", [False, True], ids=["seats as recorded", "actor first"])
def test_an_untrained_rank_network_predicts_the_priors_ranks_and_orders(
    reward: Path, expected: Outcome, actor_first: bool, use_bf16: bool
) -> None:
    network, objective, *_ = untrained("rank", reward)
    assert isinstance(objective, Rank)
    batch = batch_of(actor_first)
    with in_bf16(use_bf16):
        output = network.train()(batch)
    log_BO = expected.order_log_probability
    torch.testing.assert_close(of_all_candidates(output), objective.orders.rank_log_probability(log_BO))
    # the same outcomes of the games, counted from any seat
    order_B = objective.label_of_results(Results.of_batch(batch, FOUR_PLAYERS)).argmax(dim=1)
    found_B = objective.order_log_probability(output).gather(1, objective.order(batch)[:, None])
    torch.testing.assert_close(found_B, log_BO.gather(1, order_B[:, None]))


@pytest.mark.parametrize("use_bf16", [False, True], ids=["fp32", "bf16"])
@pytest.mark.parametrize("actor_first", [False, True], ids=["seats as recorded", "actor first"])
def test_an_untrained_grading_network_predicts_the_priors_points(
    reward: Path, expected: Outcome, actor_first: bool, use_bf16: bool
) -> None:
    network, objective, *_ = untrained("grading", reward)
    batch = batch_of(actor_first)
    with in_bf16(use_bf16):
        output = network.train()(batch)
    assert expected.grading_logit is not None
    assert torch.equal(of_all_candidates(output), expected.grading_logit.log_softmax(dim=1))
    torch.testing.assert_close(objective.value(output, batch), expected.grading_points, rtol=1e-5, atol=1e-3)
    torch.testing.assert_close(objective.situation_value(output, batch), expected.grading_points, rtol=1e-5, atol=1e-3)


def test_a_prior_does_not_change_the_initial_values_of_encoder_and_decoder(reward: Path) -> None:
    torch.manual_seed(5)
    with_prior = untrained("rank", reward).network
    torch.manual_seed(5)
    config = TrainConfig(stage="rank", data=DataConfig(path="."), model=MODEL_SIZES["tiny"])
    without = initial_network(config, FOUR_PLAYERS, inherits=True).network
    for part in ("encoder", "decoder"):
        found, expected = getattr(with_prior, part).state_dict(), getattr(without, part).state_dict()
        assert expected and all(torch.equal(found[name], tensor) for name, tensor in expected.items())


def test_a_step_changes_the_network_but_not_its_prior(reward: Path) -> None:
    network, objective, *_ = untrained("rank", reward)
    batch = batch_of(True)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    objective.loss(network(batch), batch)["loss"].backward()
    torch.optim.AdamW([p for p in network.parameters() if p.requires_grad], lr=0.1).step()
    changed = {n.split(".")[0] for n, tensor in network.state_dict().items() if not torch.equal(tensor, before[n])}
    assert "head" in changed
    assert "prior" not in changed
