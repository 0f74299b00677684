"""The extrapolation of learning curves: it recovers the curve that made the losses, and draws it."""

import csv
from pathlib import Path

import numpy as np
import pytest

from tests.support.launched import program

FLOOR, EXPONENT = 0.4, -0.3


def loss_at(decisions: float) -> float:
    return FLOOR + 30 * decisions**EXPONENT


def written_run(folder: Path, *, validations: int = 40) -> Path:
    """A run at a constant rate up to its last validation, whose loss has fallen by a tenth of what is above the floor
    in the cool-down."""
    folder.mkdir()
    with (folder / "metrics.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["step", "train/samples", "train/learning_rate", "validation/loss"])
        for step in np.arange(1, validations + 1):
            is_last, decisions = step == validations, 100_000 * step
            loss = loss_at(decisions)
            rows.writerow([step, decisions, 0.0 if is_last else 0.001, ""])
            rows.writerow([step, decisions, "", loss - 0.1 * (loss - FLOOR) if is_last else loss])
    return folder


def test_a_longer_run_is_expected_on_the_curve_with_its_cool_down(tmp_path: Path) -> None:
    run = written_run(tmp_path / "long")
    text = program("plot_learning").report([f"{run}=1000"], tmp_path / "picture.png", [10])
    expected = FLOOR + 0.9 * (loss_at(36_000_000) - FLOOR)
    assert float(text.splitlines()[1].split()[-1]) == pytest.approx(expected, abs=0.005)
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_a_run_that_is_too_short_for_a_fit_is_refused(tmp_path: Path) -> None:
    run = written_run(tmp_path / "short", validations=3)
    with pytest.raises(ValueError, match="short: fewer than three validations"):
        program("plot_learning").report([f"{run}=1000"], tmp_path / "picture.png", [10])
