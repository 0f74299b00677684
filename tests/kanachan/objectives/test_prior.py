"""A stage with a prior: it predicts the mixture of the outcomes that a reward predictor expects after the round."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import MODEL_SIZES, DataConfig, ObjectiveConfig, StageName, TrainConfig
from kanachan.data.batch import TokenLayout, batch_of_annotations, batch_of_columns
from kanachan.data.columns import columns_of_annotations
from kanachan.data.round_columns import RoundIndex
from kanachan.data.round_shards import open_rounds
from kanachan.data.round_state import RoundState
from kanachan.data.shards import open_shards
from kanachan.inference.policy import Policy
from kanachan.inference.reward_predictor import RewardPredictor
from kanachan.models.transformer import Output
from kanachan.objectives.rank import Rank
from kanachan.objectives.reward import Outcome, RewardObjective
from kanachan.objectives.targets import Results
from kanachan.training.initialization import InitialNetwork, initial_network
from tests.support.random_annotations import random_annotations
from tests.support.tiny_weights import written

ANNOTATIONS = random_annotations(60, seed=3)
COLUMNS = columns_of_annotations(ANNOTATIONS, FOUR_PLAYERS)
BATCH = batch_of_annotations(ANNOTATIONS, FOUR_PLAYERS)


def state_at_start() -> RoundState:
    """The states without the sticks that were paid in the round, decision by decision."""
    state = RoundState.of_observations(COLUMNS, FOUR_PLAYERS)
    for row, annotation in enumerate(ANNOTATIONS):
        has_drawn = any(FOUR_PLAYERS.sparse.block_of(token).name == "drawn" for token in annotation.sparse)
        past = annotation.progression if has_drawn else annotation.progression[:-1]
        events = [values for _, values in map(FOUR_PLAYERS.progression.describe, past)]
        for seat in {values["seat"] for values in events if values.get("riichi")}:
            state.score_XS[row, seat] += 1000
            state.deposits_X[row] -= 1
    return state


def after_round(reward: Path, points_H: Tensor) -> Outcome:
    """The plain version: predictions for the deciding seats after rounds with the given points [B, H, …]."""
    predictor = RewardPredictor.load(reward)
    network, state = predictor.network, state_at_start()
    row_B, seat_B = torch.arange(len(COLUMNS)), torch.from_numpy(COLUMNS.seat)
    outcomes = []
    for points in points_H:
        change_BSY = network.after_round(network.features(state), points.expand(len(row_B), 4, 1))[:, :, 0]
        outcome = predictor.objective.outcome(network(state).plus(change_BSY))
        outcomes.append(Outcome(*(tensor[row_B, seat_B] for tensor in outcome)))
    return Outcome(*(torch.stack(tensors, dim=1) for tensors in zip(*outcomes, strict=True)))


def bins() -> Tensor:
    return RewardObjective().round_bins.points_K


@pytest.fixture(scope="module")
def expected(reward: Path) -> tuple[Tensor, Tensor]:
    """The log probabilities of orders [B, O] and of bins of grading points [B, K] over all rounds."""
    outcome = after_round(reward, bins())
    weight_H1 = RewardPredictor.load(reward).network.points_logit.softmax(dim=0)[:, None]
    order_BO = (weight_H1 * outcome.order_log_probability.exp()).sum(dim=1).log()
    return order_BO, (weight_H1 * outcome.grading_logit.softmax(dim=-1)).sum(dim=1).log()


def untrained(stage: StageName, reward: Path, init: Path | None = None) -> InitialNetwork:
    config = TrainConfig(
        stage=stage,
        data=DataConfig(path="."),
        model=MODEL_SIZES["tiny"],
        objective=ObjectiveConfig(prior=str(reward)),
        init=None if init is None else str(init),
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


def test_a_batch_has_the_starts_of_the_rounds_of_its_decisions(rule_games: Path) -> None:
    shards, rounds = open_shards(rule_games, "train"), open_rounds(rule_games, "train")
    columns = shards.gather(np.arange(len(shards)))
    row_B = RoundIndex(rounds).rows_of(columns, FOUR_PLAYERS)
    batch = batch_of_columns(columns, FOUR_PLAYERS)
    assert (columns.numeric[:, FOUR_PLAYERS.numeric.index("deposits")] != rounds.deposits[row_B]).sum() > 100
    for name, ours, theirs in zip(
        RoundState._fields,
        RoundState.at_start_of(batch, TokenLayout(FOUR_PLAYERS)),
        RoundState.of_rounds(rounds).at(torch.from_numpy(row_B)),
        strict=True,
    ):
        assert torch.equal(ours, theirs), name


@pytest.mark.parametrize("use_bf16", [False, True], ids=["fp32", "bf16"])
def test_an_untrained_rank_network_predicts_ranks_and_orders_from_the_scores(
    reward: Path, expected: tuple[Tensor, Tensor], use_bf16: bool
) -> None:
    network, objective, *_ = untrained("rank", reward)
    assert isinstance(objective, Rank)
    batch = BATCH
    with in_bf16(use_bf16):
        output = network.train()(batch)
    log_BO, _ = expected
    close = {"rtol": 1e-2, "atol": 2e-2} if use_bf16 else {"rtol": 1e-4, "atol": 1e-4}  # the head's biases are in bf16
    torch.testing.assert_close(of_all_candidates(output), objective.orders.rank_log_probability(log_BO), **close)
    # the same outcomes of the games, counted from any seat
    order_B = objective.label_of_results(Results.of_batch(batch, FOUR_PLAYERS)).argmax(dim=1)
    found_B = objective.order_log_probability(output).gather(1, objective.order(batch)[:, None])
    torch.testing.assert_close(found_B, log_BO.gather(1, order_B[:, None]), **close)


def test_an_untrained_grading_network_predicts_points_from_the_scores(
    reward: Path, expected: tuple[Tensor, Tensor]
) -> None:
    network, objective, *_ = untrained("grading", reward)
    output = network.train()(BATCH)
    torch.testing.assert_close(of_all_candidates(output).exp(), expected[1].exp(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(output.summary_BK.exp(), expected[1].exp(), rtol=1e-4, atol=1e-5)


def test_the_ranks_of_an_action_are_a_mixture_by_its_distribution_of_points(reward: Path, tmp_path: Path) -> None:
    init = written(tmp_path, "round_delta")
    network, objective, *_ = untrained("rank", reward, init=init)
    assert isinstance(objective, Rank)
    batch, policy = BATCH, Policy.load(init)
    with torch.no_grad():
        output, points = network.eval()(batch), policy.network(batch)
    log_BHO = after_round(reward, bins()).order_log_probability
    rank_BHR = torch.stack([objective.orders.rank_log_probability(log_BO) for log_BO in log_BHO]).exp()
    for decision, action in zip(*batch.candidate_BA.nonzero(as_tuple=True), strict=True):
        weight_H = points.candidate_BAK[decision, action].softmax(dim=0)
        expected_R = sum(weight_H[number] * rank_BHR[decision, number] for number in range(len(weight_H)))
        torch.testing.assert_close(output.candidate_BAK[decision, action].exp(), expected_R, rtol=1e-4, atol=1e-5)


def test_the_loss_includes_that_of_the_points_of_the_round_which_are_learned_as_in_round_delta(
    reward: Path, tmp_path: Path
) -> None:
    init = written(tmp_path, "round_delta")
    network, objective, *_ = untrained("rank", reward, init=init)
    batch, round_delta = BATCH, Policy.load(init)
    with torch.no_grad():
        parts = objective.loss(network.eval()(batch), batch)
        points = round_delta.objective.loss(round_delta.network(batch), batch)
        of_rank = objective.loss(network(batch)._replace(points=None), batch)
    torch.testing.assert_close(parts["loss"], of_rank["loss"] + points["loss"])
    torch.testing.assert_close(parts["round_points"], points["cross_entropy"])


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
    batch = BATCH
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    objective.loss(network(batch), batch)["loss"].backward()
    torch.optim.AdamW([p for p in network.parameters() if p.requires_grad], lr=0.1).step()
    changed = {n.split(".")[0] for n, tensor in network.state_dict().items() if not torch.equal(tensor, before[n])}
    assert "head" in changed
    assert "prior" not in changed
