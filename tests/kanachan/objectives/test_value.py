"""The objectives of round delta and grading points against numbers computed by hand."""

import math

import pytest
import torch

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import ObjectiveConfig
from kanachan.objectives.hl_gauss import HLGauss
from kanachan.objectives.networks import objective_class
from kanachan.objectives.value import ValueObjective


def test_bins_hold_the_gaussian_mass_around_the_target() -> None:
    bins = HLGauss(unit=1000.0, reach=100_000.0)
    limit = math.log1p(100)
    width = 2 * limit / 100
    for points in (0.0, 300.0, -8000.0, 96_000.0):
        compressed = math.copysign(math.log1p(abs(points) / 1000), points)
        edges = [-math.inf, *(-limit + (k + 0.5) * width for k in range(100)), math.inf]
        below = [(1 + math.erf((edge - compressed) / (0.75 * width) / math.sqrt(2))) / 2 for edge in edges]
        expected = [high - low for low, high in zip(below, below[1:], strict=False)]
        assert bins.smooth(torch.tensor([points]))[0].tolist() == pytest.approx(expected, abs=1e-6)


def test_targets_beyond_the_reach_fall_into_the_edge_bins() -> None:
    bins = HLGauss(unit=1000.0, reach=100_000.0)
    target_BK = bins.smooth(torch.tensor([-1e7, 1e7]))
    assert target_BK.argmax(dim=1).tolist() == [0, 100]
    torch.testing.assert_close(target_BK.sum(dim=1), torch.ones(2))


@pytest.mark.parametrize("stage, share", [("round_delta", 0.0028), ("grading", 0.00075)])
def test_a_perfect_prediction_gives_back_the_target_up_to_the_stated_bias(stage: str, share: float) -> None:
    objective = objective_class(stage)(ObjectiveConfig(), FOUR_PLAYERS)
    assert isinstance(objective, ValueObjective)
    target = objective.bins.unit * torch.linspace(-9, 9, 997)
    error = (objective.bins.smooth(target) @ objective.bins.points_K - target).abs()
    assert (error <= share * (target.abs() + objective.bins.unit)).all()
