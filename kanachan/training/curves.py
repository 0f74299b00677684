"""Draws the curves of runs from metrics.csv as a picture of panels; also for runs that are still training."""

import csv
import os
import re
from collections.abc import Sequence
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from annotate.runtime.files import MISSING
from kanachan.config import WEIGHTS_NAME
from kanachan.extras import require_extra
from kanachan.training.metric_names import AXIS, BY_STAGE, METRICS_NAME, PANELS
from kanachan.training.run_folder import CONFIG_NAME

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLUMNS = 3
_INCHES = (5.2, 3.1)  # size of a panel
_DASHES = ("-", "--", ":", "-.")  # line styles of several columns of a run in one panel
_STYLES: tuple[tuple[float, dict[str, Any]], ...] = ((0.7, {}), (1.6, {"marker": "o", "markersize": 3}))
"""line width and marks of training and of validation"""
_COLOURS = ("#2f6fd0", "#c0392b", "#0f8a6a", "#7b3fb5", "#b7791f", "#556070", "#c2377f", "#2a93a8")


class Run(NamedTuple):
    """A run and its rows, each without empty fields."""

    name: str
    stage: str
    has_ended: bool
    rows: list[dict[str, float]]


class Curve(NamedTuple):
    """One column of one run over the decisions seen."""

    run: int
    part: str
    """part of its column's name that differs within the panel; empty if there is none"""
    is_validation: bool
    points: list[tuple[float, float]]


class Panel(NamedTuple):
    """Curves with one vertical axis."""

    title: str
    curves: list[Curve]


def find_runs(patterns: Sequence[str]) -> list[Path]:
    """Returns the run folders that folders and patterns name, each once; a folder stands for all runs below it.
    Raises ValueError if there is no run."""
    folders: dict[Path, None] = {}
    for pattern in patterns:
        named = [Path(pattern)] if Path(pattern).exists() else [Path(name) for name in sorted(glob(pattern))]
        if not named:
            raise ValueError(f"{pattern}: {MISSING}, and as a pattern it matches nothing")
        found = [folder for path in named for folder in _runs_in(path)]
        if not found:
            raise ValueError(f"{pattern}: no {METRICS_NAME} in it: name the folder of a run, its --output")
        folders |= dict.fromkeys(found)
    return list(folders)


def read_runs(folders: Sequence[Path]) -> list[Run]:
    """Reads the runs that have rows; raises ValueError if none has."""
    names = [_short_name(folder, folders) for folder in folders]
    runs = [_read_run(folder, name) for folder, name in zip(folders, names, strict=True)]
    found = [run for run in runs if any(AXIS in row for row in run.rows)]
    if not found:
        files = ", ".join(str(folder / METRICS_NAME) for folder in folders)
        raise ValueError(f"{files}: no metrics yet; the first row is written after --run.log_every steps")
    return found


def panels_of(runs: Sequence[Run]) -> list[Panel]:
    """Returns the panels, plus one for each column without a panel. Leaves out panels whose curves are all constant or
    already shown, and the many metrics by kind of decision."""
    columns = sorted({column for run in runs for row in run.rows for column in row} - {"step", AXIS})
    unknown = [column for column in columns if not column.startswith("kind/")]
    panels: list[Panel] = []
    for title, wanted in PANELS.items():
        chosen = [c for c in columns if (re.search(wanted, c) if isinstance(wanted, str) else c in wanted)]
        unknown = [column for column in unknown if column not in chosen]
        panels += _panels(title, chosen, runs)
    panels += [panel for column in unknown for panel in _panels(column, [column], runs)]
    shown: list[list[tuple[float, float]]] = []
    for panel in [*panels]:
        points = [curve.points for curve in panel.curves]
        if all(len({y for _, y in each}) == 1 < len(each) or each in shown for each in points):
            panels.remove(panel)
        shown += points
    return panels


def _runs_in(path: Path) -> list[Path]:
    """Returns the run folders at or below a path; the runs inside of a run belong to it."""
    found = []
    for folder, below, files in os.walk(path):
        below.sort()
        if METRICS_NAME in files:
            found.append(Path(folder))
            below.clear()
    return found


def _short_name(folder: Path, others: Sequence[Path]) -> str:
    """Returns the last part of the path, or as many parts as distinguish it from the others."""
    parts = folder.resolve().parts
    for length in range(1, len(parts)):
        if sum(other.resolve().parts[-length:] == parts[-length:] for other in others) == 1:
            return "/".join(parts[-length:])
    return str(folder)


def _read_run(folder: Path, name: str) -> Run:
    file = folder / METRICS_NAME
    text = file.read_text(encoding="utf-8", errors="replace")
    lines = text[: text.rfind("\n") + 1].splitlines()  # a run that is training may be writing the last line
    rows = []
    for number, row in enumerate(csv.DictReader(lines), start=2):
        try:
            rows.append({column: float(value) for column, value in row.items() if value})
        except (ValueError, TypeError, AttributeError):
            raise ValueError(f"{file}: line {number} is damaged: numbers are expected") from None
    return Run(name, _stage_of(folder / CONFIG_NAME), (folder / WEIGHTS_NAME).is_file(), rows)


def _stage_of(config: Path) -> str:
    """Returns the stage that a configuration names, even if this program does not know it."""
    if not config.is_file():
        return "unknown stage"
    found = re.search(r"^stage: *(\S+)", config.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else "unknown stage"


def _panels(title: str, columns: Sequence[str], runs: Sequence[Run]) -> list[Panel]:
    """Makes one panel, or one for each stage if the unit depends on the stage."""
    by_stage: dict[str, list[Curve]] = {}
    for number, run in enumerate(runs):
        for column in columns:
            points = [(row[AXIS], row[column]) for row in run.rows if AXIS in row and column in row]
            if points:
                curve = Curve(number, _part(column, columns), not column.startswith("train/"), points)
                by_stage.setdefault(run.stage if title in BY_STAGE else "", []).append(curve)
    stages = len(by_stage) > 1
    return [Panel(f"{title} ({stage})" if stages else title, curves) for stage, curves in by_stage.items()]


def _part(column: str, columns: Sequence[str]) -> str:
    last = [c.rpartition("/")[2] for c in columns]
    return column.rpartition("/")[2].replace("_", " ") if len({*last}) > 1 else ""


def draw_picture(runs: Sequence[Run], path: Path, kind: str) -> None:
    """Writes the curves as a picture. `kind`: the format, png, svg or pdf. Raises ValueError if matplotlib is
    not installed."""
    require_extra("pictures", ("matplotlib",), "a picture")
    from matplotlib.figure import Figure

    panels = panels_of(runs)
    rows = -(-len(panels) // _COLUMNS)
    figure = Figure(figsize=(_COLUMNS * _INCHES[0], rows * _INCHES[1] + 0.6), layout="constrained")
    for number, panel in enumerate(panels):
        _draw_panel(figure.add_subplot(rows, _COLUMNS, number + 1), panel)
    lines = [figure.axes[0].plot([], [], color=_COLOURS[n % len(_COLOURS)], linewidth=3)[0] for n in range(len(runs))]
    names = [f"{run.name}, {run.stage}{'' if run.has_ended else ', has not ended'}" for run in runs]
    kinds = [figure.axes[0].plot([], [], "k", linewidth=width, **mark)[0] for width, mark in _STYLES]
    names += ["training", "validation"]
    figure.legend([*lines, *kinds], names, loc="outside upper left", ncols=4, fontsize=9, frameon=False)
    figure.savefig(path, format=kind, dpi=90)


def _draw_panel(axes: "Axes", panel: Panel) -> None:
    parts = list(dict.fromkeys(curve.part for curve in panel.curves))
    for curve in panel.curves:
        x, y = zip(*curve.points, strict=True)
        width, mark = _STYLES[curve.is_validation]
        dashes = _DASHES[parts.index(curve.part) % len(_DASHES)]
        axes.plot(x, y, color=_COLOURS[curve.run % len(_COLOURS)], linestyle=dashes, linewidth=width, **mark)
    if len(parts) > 1:
        lines = [axes.plot([], [], "k", linestyle=_DASHES[n % len(_DASHES)])[0] for n in range(len(parts))]
        axes.legend(lines, parts, fontsize=7)
    axes.set_title(panel.title, fontsize=10)
    axes.set_xlabel("decisions seen", fontsize=8)
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.3)
