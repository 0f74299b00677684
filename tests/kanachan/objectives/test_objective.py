"""The objectives against numbers worked out by hand and plain loops."""

import math
from dataclasses import replace
from itertools import permutations

import pytest
import torch
from torch import Tensor

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import ObjectiveConfig
from kanachan.data.batch import Batch, Labels, batch_of_annotations
from kanachan.models.transformer import Output
from kanachan.objectives.objective import Objective
from kanachan.objectives.rank import Rank
from kanachan.objectives.registry import objective_class
from kanachan.objectives.stages import STAGES, previous_stage
from kanachan.objectives.value import HLGauss, RoundDelta, ValueObjective
from tests.support.random_annotations import random_annotations

VALUE_STAGES = ("round_delta", "rank", "grading")


@pytest.fixture(scope="module")
def batch() -> Batch:
    return batch_of_annotations(random_annotations(12, seed=3), FOUR_PLAYERS)


def random_output(objective: Objective, batch: Batch, seed: int = 0) -> Output:
    generator = torch.Generator().manual_seed(seed)
    shape = (*batch.candidate_BA.shape, objective.num_candidate_outputs)
    return Output(
        torch.randn(shape, generator=generator),
        torch.randn(len(batch), objective.num_summary_outputs, generator=generator),
        batch.candidate_BA != 0,
    )


def log_softmax(values: list[float]) -> list[float]:
    total = math.log(sum(math.exp(v) for v in values))
    return [v - total for v in values]


def test_the_table_has_the_stages_in_the_order_of_the_curriculum() -> None:
    assert list(STAGES) == ["imitation", "round_delta", "rank", "grading"]
    assert all(objective_class(stage).stage == stage for stage in STAGES)
    assert [previous_stage(stage) for stage in STAGES] == [None, *list(STAGES)[:-1]]


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_imitation_is_the_cross_entropy_over_real_candidates(batch: Batch, smoothing: float) -> None:
    objective = objective_class("imitation")(ObjectiveConfig(label_smoothing=smoothing), FOUR_PLAYERS)
    output = random_output(objective, batch)
    expected = []
    for row in range(len(batch)):
        logits = output.candidate_BAK[row, batch.candidate_BA[row] != 0, 0].tolist()
        log_probability = log_softmax(logits)
        spread = sum(log_probability) / len(logits)
        expected.append(-(1 - smoothing) * log_probability[int(batch.chosen_B[row])] - smoothing * spread)
    assert float(objective.loss(output, batch)["loss"]) == pytest.approx(sum(expected) / len(expected), abs=1e-5)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("loss", ["hl_gauss", "mse"])
def test_padded_candidates_score_minus_infinity_and_change_no_loss(batch: Batch, stage: str, loss: str) -> None:
    config = ObjectiveConfig(loss=loss) if stage in ("round_delta", "grading") else ObjectiveConfig()
    objective = objective_class(stage)(config, FOUR_PLAYERS)
    output = random_output(objective, batch)
    garbage = torch.where(output.mask_BA[:, :, None], output.candidate_BAK, 50.0)
    score_BA = objective.score(output)
    assert torch.equal(score_BA.isinf(), ~output.mask_BA)
    assert (score_BA[~output.mask_BA] < 0).all()
    changed = output._replace(candidate_BAK=garbage)
    assert float(objective.loss(changed, batch)["loss"]) == pytest.approx(float(objective.loss(output, batch)["loss"]))


@pytest.mark.parametrize("stage", STAGES)
def test_gradients_are_finite_and_none_reach_padding(batch: Batch, stage: str) -> None:
    objective = objective_class(stage)(ObjectiveConfig(), FOUR_PLAYERS)
    output = random_output(objective, batch)
    candidate_BAK = output.candidate_BAK.requires_grad_()
    objective.loss(output, batch)["loss"].backward()
    assert candidate_BAK.grad is not None and candidate_BAK.grad.isfinite().all()
    assert not candidate_BAK.grad[~output.mask_BA].any()


@pytest.mark.parametrize("stage", VALUE_STAGES)
def test_the_loss_is_the_weighted_sum_of_its_parts(batch: Batch, stage: str) -> None:
    objective = objective_class(stage)(ObjectiveConfig(conservative=0.3, baseline=0.7), FOUR_PLAYERS)
    parts = objective.loss(random_output(objective, batch), batch)
    expected = parts["cross_entropy"] + 0.3 * parts["conservative"] + 0.7 * parts["baseline"]
    torch.testing.assert_close(parts["loss"], expected)


@pytest.mark.parametrize("stage", VALUE_STAGES)
def test_the_conservative_term_is_logsumexp_less_the_score_of_the_action_taken(batch: Batch, stage: str) -> None:
    objective = objective_class(stage)(ObjectiveConfig(), FOUR_PLAYERS)
    output = random_output(objective, batch)
    score_BA = objective.score(output)
    terms = []
    for row in range(len(batch)):
        scores = [s / objective.scale for s in score_BA[row, batch.candidate_BA[row] != 0].tolist()]
        terms.append(-log_softmax(scores)[int(batch.chosen_B[row])])
    assert float(objective.loss(output, batch)["conservative"]) == pytest.approx(sum(terms) / len(terms), rel=1e-4)


def test_the_round_delta_is_that_of_the_actor(batch: Batch) -> None:
    target_B = objective_class("round_delta")(ObjectiveConfig(), FOUR_PLAYERS).target(batch)
    expected = [int(batch.result_BR[row, 1 + int(batch.seat_B[row])]) for row in range(len(batch))]
    assert target_B.tolist() == expected


def test_rank_and_grading_read_their_results(batch: Batch) -> None:
    rank = objective_class("rank")(ObjectiveConfig(rank_points=(3.0, 1.0, -1.0, -2.0)), FOUR_PLAYERS)
    assert rank.target(batch).tolist() == [(3.0, 1.0, -1.0, -2.0)[r] for r in batch.result_BR[:, 9].tolist()]
    grading = objective_class("grading")(ObjectiveConfig(), FOUR_PLAYERS)
    assert grading.target(batch).tolist() == batch.result_BR[:, 11].tolist()


def test_orders_are_numbered_as_the_permutations_of_the_ranks(batch: Batch) -> None:
    objective = Rank(ObjectiveConfig(), FOUR_PLAYERS)
    orders = list(permutations(range(4)))
    expected = [orders.index(tuple(row)) for row in batch.result_BR[:, 5:9].tolist()]
    assert objective.order(batch).tolist() == expected


def test_the_actors_rank_is_the_sum_over_the_orders_that_give_it(batch: Batch) -> None:
    objective = Rank(ObjectiveConfig(), FOUR_PLAYERS)
    output = random_output(objective, batch)
    probability_BR = objective.baseline_rank_probability(output, batch)
    for row in range(len(batch)):
        probability = output.summary_BK[row].softmax(dim=0).tolist()
        expected = [0.0] * 4
        for order, ranks in enumerate(permutations(range(4))):
            expected[ranks[int(batch.seat_B[row])]] += probability[order]
        assert probability_BR[row].tolist() == pytest.approx(expected, abs=1e-6)


def test_bins_hold_the_gaussian_mass_around_the_target() -> None:
    bins = HLGauss(count=11, sigma=0.75, unit=1000.0, reach=100_000.0)
    limit = math.log1p(100)
    width = 2 * limit / 10
    for points in (0.0, 300.0, -8000.0, 96_000.0):
        compressed = math.copysign(math.log1p(abs(points) / 1000), points)
        edges = [-math.inf, *(-limit + (k + 0.5) * width for k in range(10)), math.inf]
        below = [(1 + math.erf((edge - compressed) / (0.75 * width) / math.sqrt(2))) / 2 for edge in edges]
        expected = [high - low for low, high in zip(below, below[1:], strict=False)]
        assert bins.smooth(torch.tensor([points]))[0].tolist() == pytest.approx(expected, abs=1e-6)


def test_targets_beyond_the_reach_fall_into_the_edge_bins() -> None:
    bins = HLGauss(count=101, sigma=0.75, unit=1000.0, reach=100_000.0)
    target_BK = bins.smooth(torch.tensor([-1e7, 1e7]))
    assert target_BK.argmax(dim=1).tolist() == [0, 100]
    torch.testing.assert_close(target_BK.sum(dim=1), torch.ones(2))


@pytest.mark.parametrize("stage, share", [("round_delta", 0.0028), ("grading", 0.00075)])
def test_a_perfect_prediction_gives_back_the_target_up_to_the_stated_bias(stage: str, share: float) -> None:
    objective = objective_class(stage)(ObjectiveConfig(), FOUR_PLAYERS)
    assert isinstance(objective, ValueObjective)
    target = objective.unit * torch.linspace(-9, 9, 997)
    error = (objective.bins.smooth(target) @ objective.bins.points_K - target).abs()
    assert (error <= share * (target.abs() + objective.unit)).all()


@pytest.mark.parametrize("loss", ["hl_gauss", "mse"])
def test_a_fitted_objective_predicts_the_mean_of_its_targets(batch: Batch, loss: str) -> None:
    """Outputs that are parameters, one situation, two outcomes: the score must become their mean."""
    objective = RoundDelta(ObjectiveConfig(loss=loss, conservative=0.0), FOUR_PLAYERS)
    result_BR = batch.result_BR[:2].clone()
    result_BR[:, 1:5] = torch.tensor([[8000], [-2000]])
    two = replace(
        batch,
        **{name: getattr(batch, name)[:2] for name in ("table_BS", "candidate_BA", "seat_B")},
        labels=Labels(batch.game_B[:2], batch.chosen_B[:2], result_BR),
    )
    chosen_K = torch.zeros(objective.num_candidate_outputs, requires_grad=True)
    optimizer = torch.optim.Adam([chosen_K], lr=0.1)

    def output() -> Output:
        candidate_BAK = chosen_K.expand(2, two.candidate_BA.shape[1], -1)
        return Output(candidate_BAK, chosen_K.expand(2, -1), two.candidate_BA != 0)

    for _ in range(300):
        optimizer.zero_grad()
        objective.loss(output(), two)["loss"].backward()
        optimizer.step()
    assert objective.value(output(), two)[0].item() == pytest.approx(3000, abs=60)
    assert objective.baseline_value(output(), two)[0].item() == pytest.approx(3000, abs=60)


@pytest.mark.parametrize(
    "stage, changed",
    [
        ("imitation", {"conservative": 0.5}),
        ("imitation", {"loss": "mse"}),
        ("round_delta", {"label_smoothing": 0.1}),
        ("round_delta", {"rank_points": (1.0, 0.0, 0.0, -1.0)}),
        ("round_delta", {"loss": "mse", "bins": 51}),
        ("rank", {"sigma": 1.0}),
        ("grading", {"rank_points": (1.0, 0.0, 0.0, -1.0)}),
    ],
)
def test_a_changed_setting_without_effect_is_refused_by_name(stage: str, changed: dict) -> None:
    with pytest.raises(ValueError, match=rf"objective\.{list(changed)[-1]}=.* has no effect in stage {stage}"):
        objective_class(stage)(ObjectiveConfig(**changed), FOUR_PLAYERS)


@pytest.mark.parametrize("points", [(1.0, 0.0), (2.0, 2.0, 2.0, 2.0)])
def test_useless_rank_points_are_refused(points: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match=r"objective\.rank_points"):
        Rank(ObjectiveConfig(rank_points=points), FOUR_PLAYERS)


def test_without_a_baseline_nothing_is_asked_of_the_summary(batch: Batch) -> None:
    for stage in VALUE_STAGES:
        objective = objective_class(stage)(ObjectiveConfig(baseline=0.0), FOUR_PLAYERS)
        assert objective.num_summary_outputs == 0
        assert "baseline" not in objective.loss(random_output(objective, batch), batch)
        with pytest.raises(ValueError, match="objective.baseline=0"):
            objective.baseline_value(random_output(objective, batch), batch)


def half(tensor: Tensor) -> Tensor:
    return tensor.bfloat16()


@pytest.mark.parametrize("stage", STAGES)
def test_losses_are_computed_in_full_precision(batch: Batch, stage: str) -> None:
    objective = objective_class(stage)(ObjectiveConfig(), FOUR_PLAYERS)
    output = random_output(objective, batch)
    output = Output(half(output.candidate_BAK), half(output.summary_BK), output.mask_BA)
    assert objective.loss(output, batch)["loss"].dtype == torch.float32
    assert objective.score(output).dtype == torch.float32
    with torch.autocast("cpu", torch.bfloat16):  # as Lightning calls them
        scores, loss = objective.score(output), objective.loss(output, batch)["loss"]
    assert scores.equal(objective.score(output)) and loss.equal(objective.loss(output, batch)["loss"])
