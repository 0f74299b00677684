"""A policy computes only on its device. On `meta`, whose tensors have no contents, torch refuses tensors of another
device, and every operation that would make a CPU wait for a GPU."""

from pathlib import Path

import pytest
import torch

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.data.batch import Batch, batch_of_annotations
from kanachan.evaluation.decision_metrics import DecisionMeter
from kanachan.inference.policy import Policy
from kanachan.objectives.stages import scoring_stages
from kanachan.reinforcement.behaviour import Behaviour, divergence
from tests.support.other_device import CopiesRefused, ListsRefused
from tests.support.random_annotations import random_annotations
from tests.support.tiny_rewards import written_reward
from tests.support.tiny_weights import written

ELSEWHERE = "meta"


@pytest.fixture(scope="module")
def batch() -> Batch:
    return batch_of_annotations(random_annotations(6, seed=4), FOUR_PLAYERS).to(ELSEWHERE)


@torch.inference_mode()
def evaluate_elsewhere(policy: Policy, batch: Batch) -> None:
    """Computes everything that commands compute on a batch, except for results that they then copy from the device."""
    meter = DecisionMeter(policy.vocabulary)
    meter.measure(policy.objective.score(policy.output(batch)), batch)  # moves its tables
    with CopiesRefused(), ListsRefused():
        output = policy.output(batch)
        objective, score_BA = policy.objective, policy.objective.score(output)
        found = [score_BA, *objective.predictions(output).values(), *objective.measured(output, batch).values()]
        found += [part for classes in objective.calibratable(output, batch).values() for part in classes]
        log_BA = Behaviour(0.7, 0.05).log_probabilities(score_BA)
        found += [*meter.measure(score_BA, batch), log_BA, divergence(log_BA, log_BA)]
        if policy.objective.has_value:
            found.append(policy.objective.situation_value(output))
    assert {tensor.device.type for tensor in found} == {ELSEWHERE}


@pytest.mark.parametrize("stage", scoring_stages())
def test_every_stage_computes_only_on_its_device(stage: str, batch: Batch, tmp_path: Path) -> None:
    evaluate_elsewhere(Policy.load(written(tmp_path, stage), ELSEWHERE), batch)


@pytest.mark.parametrize("stage", ["rank", "grading"])
def test_a_prior(stage: str, batch: Batch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: False)  # torch does not know it for `meta`
    reward = written_reward(tmp_path / "reward.safetensors")
    evaluate_elsewhere(Policy.load(written(tmp_path / "weights", stage, prior=str(reward)), ELSEWHERE), batch)
