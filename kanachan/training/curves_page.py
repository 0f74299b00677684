"""Draws the curves of runs: as one self-contained HTML page, or as a picture.

The page loads nothing: its content security policy allows its own style and script, by hash, alone. Names are embedded
as JSON in which no character can end the element.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from kanachan.training.curves import Panel, Run, as_json, panels_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_UNSAFE = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
_COLUMNS = 3
_INCHES = (5.2, 3.1)  # of a panel
_LEFT_OUT = "By kind"  # of the picture, which would be too large with it
_COLOURS = ("#2f6fd0", "#c0392b", "#0f8a6a", "#7b3fb5", "#b7791f", "#556070", "#c2377f", "#2a93a8")


def page(runs: Sequence[Run]) -> str:
    """Returns the page of runs."""
    style, script = _asset("curves.css"), _asset("curves.js")
    data = json.dumps(as_json(runs), ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_UNSAFE)
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'"
    title = ", ".join(run.name for run in runs)
    return Template(_asset("curves.html")).substitute(
        policy=escape(policy), title=escape(title), style=style, script=script, data=data
    )


def draw_picture(runs: Sequence[Run], path: Path, kind: str) -> None:
    """Writes the curves as a picture, without the panels by kind of decision.

    Args:
        kind: the format, such as png, svg or pdf.

    Raises:
        ValueError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise ValueError("a picture needs matplotlib: pip install matplotlib, or write a page (.html)") from None

    sections = {name: panels for name, panels in panels_of(runs).items() if name != _LEFT_OUT}
    panels = [panel for of_section in sections.values() for panel in of_section]
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


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return files("kanachan.training").joinpath("assets", name).read_text(encoding="utf-8")
