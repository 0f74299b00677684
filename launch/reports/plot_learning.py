"""Draws what networks of several shapes learn over decisions and over core-hours, and extrapolates it.

python launch/reports/plot_learning.py RUN=DECISIONS_PER_SECOND … -o PICTURE [--hours 10 30 100]

The speeds are arguments, as those in metrics.csv depend on the load of the machine. Fitted to the validation losses at
the constant learning rate: loss = floor + factor * decisions ** exponent, with one floor for all runs. The cool-down is
assumed to lower the loss by the same share of what is above the floor at any length.

Shapes: R runs, P validations of a run.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from annotate.runtime.files import replacing
from annotate.runtime.terminal import run_cleanly
from kanachan.extras import require
from kanachan.training.curves import Run, read_runs
from kanachan.training.metric_names import AXIS

LOSS, RATE = "validation/loss", "train/learning_rate"
_FIRST = 200_000
"""decisions from which on a curve is fitted: before, it follows the warm-up"""
_FLOORS = np.linspace(0, 0.95, 96)
"""floors that are tried, as shares of the lowest loss"""


class Learning(NamedTuple):
    """The validation losses of one run, and what is fitted to them."""

    name: str
    decisions_P: NDArray[np.float64]
    loss_P: NDArray[np.float64]
    is_constant_P: NDArray[np.bool_]
    """whether the learning rate was at its peak"""
    per_second: float

    def expected_loss(self, hours: float, floor: float) -> float:
        """Returns the loss after a run of so many core-hours with its cool-down."""
        exponent, factor = power_law(self, floor)
        decisions = np.array([hours * 3600 * self.per_second, self.decisions_P[-1]])
        above = np.exp(factor + exponent * np.log(decisions))
        return float(floor + above[0] * (self.loss_P[-1] - floor) / above[1])


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="launch/reports/plot_learning.py",
        description="Draws the validation losses of runs over decisions and core-hours, and extrapolates them.",
    )
    parser.add_argument("runs", metavar="RUN=RATE", nargs="+", help="run folder and its decisions per core-second")
    parser.add_argument("-o", "--output", type=Path, required=True, help="picture: .png, .svg or .pdf")
    parser.add_argument("--hours", type=float, nargs="+", default=[1, 10, 30, 100], help="core-hours of the table")
    arguments = parser.parse_args()
    return run_cleanly(parser.prog, lambda: print(report(arguments.runs, arguments.output, arguments.hours)))


def report(runs: Sequence[str], output: Path, hours: Sequence[float]) -> str:
    """Draws the picture and returns the table of expected losses. Raises ValueError: a run without a speed, or without
    validations enough for a fit; or matplotlib is not installed."""
    require("pictures", ("matplotlib",))
    if min(hours) <= 0:
        raise ValueError(f"--hours {min(hours):g}: must be positive")
    learned = []
    for given in runs:
        folder, _, rate = given.rpartition("=")
        if not folder or not rate.replace(".", "", 1).isdigit() or not float(rate):
            raise ValueError(f"{given}: RUN=DECISIONS_PER_SECOND is expected, such as runs/imitation=560")
        learned.append(learning_of(read_runs([Path(folder)])[0], float(rate)))
    floor = common_floor(learned)
    _draw(learned, output)
    lines = [f"{'':<16}{'loss':>8}{'decisions':>12}{'exponent':>10}" + "".join(f"{f'{h:g} h':>9}" for h in hours)]
    for each in learned:
        start = f"{each.name:<16}{each.loss_P[-1]:8.4f}{each.decisions_P[-1]:12,.0f}{power_law(each, floor)[0]:10.3f}"
        lines.append(start + "".join(f"{each.expected_loss(h, floor):9.4f}" for h in hours))
    return "\n".join([*lines, f"floor {floor:.3f}; hours: expected loss of a run of that length"])


def learning_of(run: Run, per_second: float) -> Learning:
    """Returns the validations of a run; raises ValueError for fewer than three at the constant rate."""
    rows = [row for row in run.rows if LOSS in row and AXIS in row]
    rates = {row["step"]: row[RATE] for row in run.rows if RATE in row}
    constant = [step for step, rate in rates.items() if rate > 0.999 * max(rates.values())]
    learning = Learning(
        run.name,
        np.array([row[AXIS] for row in rows]),
        np.array([row[LOSS] for row in rows]),
        np.array([row["step"] <= max(constant) and row[AXIS] >= _FIRST for row in rows]),
        per_second,
    )
    if learning.is_constant_P.sum() < 3:
        raise ValueError(f"{run.name}: fewer than three validations at the constant learning rate")
    return learning


def power_law(of: Learning, floor: float) -> tuple[float, float]:
    """Returns the exponent and the logarithm of the factor of what is above the floor, by least squares."""
    chosen = of.is_constant_P
    exponent, factor = np.polyfit(np.log(of.decisions_P[chosen]), np.log(of.loss_P[chosen] - floor), 1)
    return float(exponent), float(factor)


def common_floor(runs: Sequence[Learning]) -> float:
    """Returns the floor with the least sum of squared errors over all runs."""

    def error(floor: float) -> float:
        total = 0.0
        for run in runs:
            exponent, factor = power_law(run, floor)
            fitted_P = floor + np.exp(factor + exponent * np.log(run.decisions_P[run.is_constant_P]))
            total += float(np.square(fitted_P - run.loss_P[run.is_constant_P]).sum())
        return total

    lowest = min(float(run.loss_P.min()) for run in runs)
    return min((float(share) * lowest for share in _FLOORS), key=error)


def _draw(runs: Sequence[Learning], output: Path) -> None:
    from matplotlib.figure import Figure
    from matplotlib.ticker import FormatStrFormatter, NullFormatter

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for run in runs:
        left.plot(run.decisions_P / 1e6, run.loss_P, marker="o", markersize=2.5, label=run.name)
        right.plot(run.decisions_P / run.per_second / 3600, run.loss_P, marker="o", markersize=2.5)
    for axes, title in ((left, "million decisions"), (right, "core-hours")):
        axes.set_xlabel(title)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.grid(alpha=0.3, which="both")
    left.set_ylabel("validation loss, nats")
    left.legend(fontsize=8)
    with replacing(output) as temporary:
        figure.savefig(temporary, format=output.suffix.removeprefix("."), dpi=110)


if __name__ == "__main__":
    raise SystemExit(main())
