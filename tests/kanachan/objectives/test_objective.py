"""Properties that all objectives share, against plain loops."""

import pytest
import torch

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import ObjectiveConfig
from kanachan.data.batch import Batch
from kanachan.models.transformer import Output
from kanachan.objectives.networks import objective_class
from kanachan.objectives.stages import STAGES
from tests.support.random_outputs import random_output

VALUE_STAGES = ("round_delta", "rank", "grading")


@pytest.mark.parametrize("stage", STAGES)
def test_padded_candidates_score_minus_infinity_and_do_not_change_the_loss(batch: Batch, stage: str) -> None:
    objective = objective_class(stage)(ObjectiveConfig(), FOUR_PLAYERS)
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
    objective = objective_class(stage)(ObjectiveConfig(baseline=0.7), FOUR_PLAYERS)
    parts = objective.loss(random_output(objective, batch), batch)
    expected = parts["cross_entropy"] + 0.7 * parts["baseline"]
    torch.testing.assert_close(parts["loss"], expected)


def test_rank_and_grading_take_their_targets_from_the_results(batch: Batch) -> None:
    rank = objective_class("rank")(ObjectiveConfig(rank_points=(3.0, 1.0, -1.0, -2.0)), FOUR_PLAYERS)
    assert rank.target(batch).tolist() == [(3.0, 1.0, -1.0, -2.0)[r] for r in batch.result_BR[:, 9].tolist()]
    grading = objective_class("grading")(ObjectiveConfig(), FOUR_PLAYERS)
    assert grading.target(batch).tolist() == batch.result_BR[:, 11].tolist()


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


@pytest.mark.parametrize("stage", STAGES)
def test_losses_are_computed_in_full_precision(batch: Batch, stage: str) -> None:
    objective = objective_class(stage)(ObjectiveConfig(), FOUR_PLAYERS)
    output = random_output(objective, batch)
    output = Output(output.candidate_BAK.bfloat16(), output.summary_BK.bfloat16(), output.mask_BA)
    assert objective.loss(output, batch)["loss"].dtype == torch.float32
    assert objective.score(output).dtype == torch.float32
    with torch.autocast("cpu", torch.bfloat16):  # as Lightning calls them
        scores, loss = objective.score(output), objective.loss(output, batch)["loss"]
    assert scores.equal(objective.score(output)) and loss.equal(objective.loss(output, batch)["loss"])
