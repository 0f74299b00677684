"""The metrics of a validation in addition to the loss, against plain loops and the metrics of kanachan-evaluate."""

import math
from typing import Any

import lightning as L
import numpy as np
import pytest
import torch
from torch import Tensor

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import StageName
from kanachan.data.batch import Batch
from kanachan.evaluation.calibration import reliability
from kanachan.evaluation.decision_metrics import DecisionMeter, DecisionRows, decision_metrics
from kanachan.training.curriculum_stage import StageModule
from kanachan.training.distributed_sums import DistributedSums
from kanachan.training.logged_module import moments, with_explained_variance
from kanachan.training.validation_metrics import Values, kind_metrics, kind_sums
from kanachan.training.wandb_run import ReliabilityPoint
from tests.support.tiny_stage import Rows, batches, make_stage, make_trainer
from tests.support.two_ranks import ALONE, Ranks

NUM_ROWS = 211


def validated(stage: StageModule) -> Rows:
    """The rows of a validation in unequal batches."""
    rows = Rows()
    make_trainer(rows).validate(stage, batches(NUM_ROWS, rows_per_batch=25), verbose=False)
    return rows


@torch.no_grad()
def predictions(stage: StageModule) -> tuple[DecisionRows, Batch, Tensor]:
    """Rows of decisions, all of them as one batch, and their predicted values if there are any."""
    whole = batches(NUM_ROWS, rows_per_batch=NUM_ROWS).dataset[0]
    output = stage.network.eval()(whole)
    value_B = stage.objective.value(output, whole) if stage.objective.has_value else torch.zeros(0)
    return DecisionMeter(FOUR_PLAYERS).rows(stage.objective.score(output), whole), whole, value_B


@pytest.mark.parametrize("name", ["imitation", "rank"])
def test_metrics_by_kind_equal_an_evaluation(name: StageName) -> None:
    stage = make_stage(name)
    rows, _, _ = predictions(stage)
    is_imitation = name == "imitation"
    metrics = decision_metrics(rows, has_probability=is_imitation, replicates=1)
    expected = {
        f"kind/{key.replace('nll', 'loss')}": metric.value
        for key, metric in metrics.items()
        if "/" in key and key.rpartition("/")[2] in ("accuracy", "nll", "recall")
    }
    ((_, logged),) = validated(stage).rows
    found = {key: value for key, value in logged.items() if key.startswith("kind/")}
    assert found == pytest.approx(expected, rel=1e-5)
    assert ("kind/chi/loss" in found) == is_imitation and len(found) >= 12


def test_the_calibration_error_of_imitation_equals_an_evaluation() -> None:
    stage = make_stage()
    expected = decision_metrics(predictions(stage)[0], has_probability=True, replicates=1)["ece"].value
    assert validated(stage).of("calibration/error")[0] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", ["round_delta", "rank", "grading"])
def test_the_calibration_error_of_a_value_is_the_mean_distance_over_its_tenths(name: StageName) -> None:
    stage = make_stage(name)
    rows, whole, value_B = predictions(stage)
    bins = reliability(rows.game_B, value_B.double().numpy(), stage.objective.target(whole).double().numpy(), 1)
    expected = sum(abs(b.predicted - b.actual.value) * b.actual.decisions for b in bins) / NUM_ROWS
    assert validated(stage).of("calibration/error")[0] == pytest.approx(expected, rel=1e-5)


def test_tenths_are_taken_over_the_decisions_of_all_ranks() -> None:
    value_N, target_N = torch.randn(2, 73, generator=torch.Generator().manual_seed(0))

    def work(rank: int, trainer: L.Trainer) -> list[ReliabilityPoint]:
        values = Values()
        mine = slice(0, 20) if rank == 0 else slice(20, None)
        values.add(value_N[mine], target_N[mine])
        return values.tenths(trainer)

    whole = Values()
    whole.add(value_N, target_N)
    expected = whole.tenths(ALONE)
    for points in Ranks().run(work):
        assert np.allclose(points, expected)
        assert [point.decisions for point in points] == [8, 8, 8, 7, 7, 7, 7, 7, 7, 7]


def test_kinds_are_taken_over_the_decisions_of_all_ranks() -> None:
    stage, meter = make_stage(), DecisionMeter(FOUR_PLAYERS)
    parts = batches(50, rows_per_batch=30).dataset
    with torch.no_grad():
        scores = [stage.objective.score(stage.network(part)) for part in parts]

    def of(numbers: list[int], trainer: Any) -> dict[str, float]:
        sums = DistributedSums()
        for number in numbers:
            sums.add({"kinds": kind_sums(meter.measure(scores[number], parts[number]))})
        return kind_metrics(sums.totals(trainer)["kinds"], has_probability=True)

    expected = of([0, 1], ALONE)
    for metrics in Ranks().run(lambda rank, trainer: of([rank], trainer)):
        assert metrics == pytest.approx(expected)


def test_equal_targets_have_no_explained_variance() -> None:
    target_B = torch.full((7,), 6700.0)  # the mean of their squares is not exact in fp32
    row = {name: float(mean) for name, mean in moments(target_B, target_B + torch.arange(7)).items()}
    assert math.isnan(with_explained_variance(row)["validation/explained_variance"])
