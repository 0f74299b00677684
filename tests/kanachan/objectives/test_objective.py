"""Properties that all objectives share, against plain loops."""

import pytest
import torch

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import ObjectiveConfig
from kanachan.models.transformer import Output
from kanachan.objectives.networks import objective_class
from kanachan.objectives.stages import STAGES
from tests.support.random_outputs import random_batch, random_output

BATCH = random_batch()
VALUE_STAGES = ("round_delta", "rank", "grading")


@pytest.mark.parametrize("stage", STAGES)
def test_padded_candidates_score_minus_infinity_and_do_not_change_the_loss(stage: str) -> None:
    objective = objective_class(stage)(ObjectiveConfig(), FOUR_PLAYERS)
    output = random_output(objective, BATCH)
    garbage = torch.where(output.mask_BA[:, :, None], output.candidate_BAK, 50.0)
    score_BA = objective.score(output)
    assert torch.equal(score_BA.isinf(), ~output.mask_BA)
    assert (score_BA[~output.mask_BA] < 0).all()
    changed = output._replace(candidate_BAK=garbage)
    assert float(objective.loss(changed, BATCH)["loss"]) == pytest.approx(float(objective.loss(output, BATCH)["loss"]))


@pytest.mark.parametrize("stage", STAGES)
def test_gradients_are_finite_and_none_reach_padding(stage: str) -> None:
    objective = objective_class(stage)(ObjectiveConfig(), FOUR_PLAYERS)
    output = random_output(objective, BATCH)
    candidate_BAK = output.candidate_BAK.requires_grad_()
    objective.loss(output, BATCH)["loss"].backward()
    assert candidate_BAK.grad is not None and candidate_BAK.grad.isfinite().all()
    assert not candidate_BAK.grad[~output.mask_BA].any()


@pytest.mark.parametrize("stage", VALUE_STAGES)
def test_a_score_is_the_mean_of_the_points(stage: str) -> None:
    objective = objective_class(stage)(ObjectiveConfig(), FOUR_PLAYERS)
    output = random_output(objective, BATCH)
    points = torch.tensor(ObjectiveConfig.rank_points) if stage == "rank" else objective.bins.points_K
    wanted_BA = output.candidate_BAK.softmax(dim=2) @ points
    error_BA = objective.score(output) - wanted_BA
    assert error_BA[output.mask_BA].abs().max() < 1e-4 * objective.scale


@pytest.mark.parametrize("stage", VALUE_STAGES)
def test_the_loss_is_the_weighted_sum_of_its_parts(stage: str) -> None:
    objective = objective_class(stage)(ObjectiveConfig(baseline=0.7), FOUR_PLAYERS)
    parts = objective.loss(random_output(objective, BATCH), BATCH)
    expected = parts["cross_entropy"] + 0.7 * parts["baseline"]
    torch.testing.assert_close(parts["loss"], expected)


@pytest.mark.parametrize(
    "stage, changed",
    [
        ("imitation", {"rank_points": (1.0, 0.0, 0.0, -1.0)}),
        ("round_delta", {"rank_points": (1.0, 0.0, 0.0, -1.0)}),
        ("rank", {"teacher": "reference"}),
        ("grading", {"rank_points": (1.0, 0.0, 0.0, -1.0)}),
    ],
)
def test_a_changed_setting_without_effect_is_refused_by_name(stage: str, changed: dict) -> None:
    with pytest.raises(ValueError, match=rf"objective\.{list(changed)[-1]}=.* has no effect in stage {stage}"):
        objective_class(stage)(ObjectiveConfig(**changed), FOUR_PLAYERS)


@pytest.mark.parametrize("points", [(1.0, 0.0), (2.0, 2.0, 2.0, 2.0)])
def test_useless_rank_points_are_refused(points: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match=r"objective\.rank_points"):
        objective_class("rank")(ObjectiveConfig(rank_points=points), FOUR_PLAYERS)


@pytest.mark.parametrize("stage", STAGES)
def test_losses_are_computed_in_full_precision(stage: str) -> None:
    objective = objective_class(stage)(ObjectiveConfig(), FOUR_PLAYERS)
    output = random_output(objective, BATCH)
    output = Output(output.candidate_BAK.bfloat16(), output.summary_BK.bfloat16(), output.mask_BA)
    assert objective.loss(output, BATCH)["loss"].dtype == torch.float32
    assert objective.score(output).dtype == torch.float32
    with torch.autocast("cpu", torch.bfloat16):  # as Lightning calls them
        scores, loss = objective.score(output), objective.loss(output, BATCH)["loss"]
    assert scores.equal(objective.score(output)) and loss.equal(objective.loss(output, BATCH)["loss"])
