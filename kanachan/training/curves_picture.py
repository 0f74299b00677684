"""Draws the curves of runs as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kanachan.training.curves import Panel, Run, panels_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLUMNS = 3
_INCHES = (5.2, 3.1)  # of a panel
_COLOURS = ("#2f6fd0", "#c0392b", "#0f8a6a", "#7b3fb5", "#b7791f", "#556070", "#c2377f", "#2a93a8")


def draw_picture(runs: Sequence[Run], path: Path, kind: str) -> None:
    """Writes the curves as a picture. `kind`: the format, png, svg or pdf. Raises ValueError: matplotlib is not
    installed."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise ValueError("a picture needs matplotlib: pip install matplotlib") from None

    panels = panels_of(runs)
    rows = -(-len(panels) // _COLUMNS)
    figure = Figure(figsize=(_COLUMNS * _INCHES[0], rows * _INCHES[1] + 0.6), layout="constrained")
    for number, panel in enumerate(panels):
        _draw_panel(figure.add_subplot(rows, _COLUMNS, number + 1), panel)
    lines = [figure.axes[0].plot([], [], color=_COLOURS[n % len(_COLOURS)], linewidth=3)[0] for n in range(len(runs))]
    names = [f"{run.name}, {run.stage}{'' if run.has_ended else ', has not ended'}" for run in runs]
    figure.legend(lines, names, loc="outside upper left", ncols=4, fontsize=9, frameon=False)
    figure.savefig(path, format=kind, dpi=90)


def _draw_panel(axes: "Axes", panel: Panel) -> None:
    for curve in panel.curves:
        x, y = zip(*curve.points, strict=True)
        style: dict[str, Any] = (
            {"linewidth": 1.6, "marker": "o", "markersize": 3} if curve.is_validation else {"linewidth": 0.7}
        )
        axes.plot(x, y, color=_COLOURS[curve.run % len(_COLOURS)], **style)
    axes.set_title(panel.title, fontsize=10)
    axes.set_xlabel("decisions seen", fontsize=8)
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.3)
