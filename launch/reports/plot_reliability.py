"""Draws reliability diagrams from kanachan-evaluate's output: networks' predictions against empirical outcomes.

python launch/reports/plot_reliability.py evaluation.json -o reliability.png

Needs matplotlib: pip install '.[pictures]'
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annotate.runtime.files import replacing
from annotate.runtime.json_output import read_json
from annotate.runtime.terminal import run_cleanly
from kanachan.extras import require_extra
from kanachan.objectives.networks import objective_class
from kanachan.objectives.stages import scoring_stages

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PROBABILITIES = {
    "best action": "probability of the top-1 action",
    "rank": "probability of a rank",
    "rank, last round": "probability of a rank, last round",
    "rank at starts of rounds, situation": "probability of a rank, starts of rounds",
}
"""titles of the panels for networks of any stage, by group of predictions"""
_BY_SCORES = {"rank at starts of rounds, situation": "rank at starts of rounds, scores"}
"""for a group, the group of the baseline that uses only scores and round, drawn in the same panel"""
_COLUMNS = 4
_INCHES = 3.4  # size of a panel


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="launch/reports/plot_reliability.py",
        description="Draws the reliability of networks: tenths of their predictions with each tenth's mean outcome and "
        "95 % interval. If a network is calibrated, its points lie on the diagonal.",
    )
    parser.add_argument("evaluation", type=Path, help="JSON file written by kanachan-evaluate --json")
    parser.add_argument("-o", "--output", type=Path, required=True, help="picture: .png, .svg or .pdf")
    arguments = parser.parse_args()
    return run_cleanly(parser.prog, lambda: draw(arguments.evaluation, arguments.output))


def draw(evaluation: Path, out: Path) -> None:
    """Draws the diagrams. Raises ValueError if kanachan-evaluate did not write the file, or if it has no networks."""
    report = read_json(evaluation)
    networks = report.get("weights", []) if isinstance(report, dict) else []
    panels = [
        (title, what, found)
        for title, stage, what in _panels()
        if (found := [n for n in networks if stage in (None, n["stage"]) and n.get("reliability", {}).get(what)])
    ]
    if not panels:
        raise ValueError(f"{evaluation}: holds no network that kanachan-evaluate --json has measured on one SHARDS")
    columns = min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    require_extra("pictures", ("matplotlib",), "a picture")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(columns * _INCHES, rows * _INCHES), layout="constrained")
    for number, (title, what, found) in enumerate(panels, start=1):
        drawn = {_name(network, found): network["reliability"][what] for network in found}
        by_scores = found[0]["reliability"].get(_BY_SCORES.get(what, ""))
        axes = figure.add_subplot(rows, columns, number)
        _panel(axes, title, drawn | ({"scores and round only": by_scores} if by_scores else {}))
    with replacing(out) as temporary:
        figure.savefig(temporary, format=out.suffix.removeprefix(".") or "png", dpi=110)


def _panels() -> Iterator[tuple[str, str | None, str]]:
    """Yields the title, stage and group of predictions of each panel; None: panels of probabilities, for any stage."""
    for what, title in _PROBABILITIES.items():
        yield title, None, what
    for stage in scoring_stages():
        yield objective_class(stage).prediction_fields["scores"].meaning, stage, "points"


def _name(network: dict[str, Any], others: list[dict[str, Any]]) -> str:
    """Returns the previous stage, or the path if the previous stage does not distinguish the networks."""
    if "lineage" not in network:  # probabilities from a file
        return str(network["path"])
    lineage = [step["stage"] for step in network["lineage"] or []]
    names = [(other.get("lineage") or [{"stage": ""}])[-1]["stage"] for other in others]
    if len(set(names)) < len(names):
        return str(network["path"])
    return f"after {lineage[-1]}" if lineage else "from scratch"


def _panel(axes: "Axes", title: str, networks: dict[str, list[dict[str, Any]]]) -> None:
    values = [bin_["predicted"] for bins in networks.values() for bin_ in bins]
    values += [bin_["actual"]["value"] for bins in networks.values() for bin_ in bins]
    axes.plot([min(values), max(values)], [min(values), max(values)], color="0.8", linewidth=1, zorder=0)
    for name, bins in networks.items():
        predicted = [bin_["predicted"] for bin_ in bins]
        actual = [bin_["actual"] for bin_ in bins]
        middle = [estimate["value"] for estimate in actual]
        # the interval of a few resamples may not contain its estimate
        errors = [
            [max(0.0, estimate["value"] - estimate["low"]) for estimate in actual],
            [max(0.0, estimate["high"] - estimate["value"]) for estimate in actual],
        ]
        axes.errorbar(predicted, middle, errors, marker="o", markersize=4, linewidth=1, capsize=2, label=name)
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("predicted")
    axes.set_ylabel("observed")
    if len(networks) > 1:
        axes.legend(fontsize=7)


if __name__ == "__main__":
    sys.exit(main())
