"""Predictions of a policy do not depend on how it is evaluated."""

import numpy as np
import pytest
import torch

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import StageName
from kanachan.data.batch import batch_of_annotations
from kanachan.data.decisions import Rows
from kanachan.inference.policy import Policy
from kanachan.objectives.stages import STAGES
from tests.support.random_annotations import random_annotations
from tests.support.tiny_weights import written

ANNOTATIONS = random_annotations(24, seed=7)


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> dict[StageName, Policy]:
    folder = tmp_path_factory.mktemp("weights")
    return {stage: Policy.load(written(folder / stage, stage)) for stage in STAGES}


def scores_of(policy: Policy, annotations: Rows, batch: int = 256) -> list[np.ndarray]:
    return [prediction.score for prediction in policy.predictions(annotations, batch)]


def assert_close(left: list[np.ndarray], right: list[np.ndarray], scale: float = 1.0) -> None:
    assert len(left) == len(right) > 0
    for one, other in zip(left, right, strict=True):
        np.testing.assert_allclose(one / scale, other / scale, rtol=0, atol=3e-5)  # 1.3e-5 was measured


def test_candidates_are_scored_with_the_actor_as_seat_0(policies: dict[StageName, Policy]) -> None:
    policy = policies["imitation"]
    batch = batch_of_annotations(ANNOTATIONS, FOUR_PLAYERS)
    with torch.inference_mode():
        score_BA = policy.objective.score(policy.network(batch)).numpy()
    expected = [score_A[: len(a.actions)] for score_A, a in zip(score_BA, ANNOTATIONS, strict=True)]
    assert_close(scores_of(policy, ANNOTATIONS), expected)


@pytest.mark.parametrize("stage", STAGES)
def test_a_batch_of_one_equals_a_batch_of_many(policies: dict[StageName, Policy], stage: StageName) -> None:
    policy = policies[stage]
    scale = policy.objective.scale
    many = scores_of(policy, ANNOTATIONS)
    assert max(np.ptp(scores) for scores in many) / scale > 0.01
    assert_close(scores_of(policy, ANNOTATIONS, batch=1), many, scale)
    assert_close(scores_of(policy, ANNOTATIONS, batch=7), many, scale)


def test_no_annotations_no_scores(policies: dict[StageName, Policy]) -> None:
    assert scores_of(policies["imitation"], []) == []


def test_predictions_need_neither_an_action_taken_nor_results(policies: dict[StageName, Policy]) -> None:
    policy = policies["rank"]
    observations = [annotation.observation for annotation in ANNOTATIONS]
    scores = [prediction.score for prediction in policy.predictions([each._asdict() for each in observations])]
    for rows in (ANNOTATIONS, observations):
        assert_close(scores_of(policy, rows), scores)
