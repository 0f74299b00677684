"""The results of launch/gpu.sh: a JSON file for each part, and one page of tables."""

import json
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from bench import FAILED, MISSING, WHAT, Row

from annotate.runtime.files import replacing
from annotate.runtime.workers import num_cores
from kanachan.models.weights import commit_of_program

TABLE_NAME = "table.md"
_PACKAGES = ("torch", "lightning", "deepspeed", "numpy", "riichienv", "onnxruntime", "triton", "kanachan")


def write_part(folder: Path, part: str, result: Mapping[str, Any]) -> None:
    """Writes the result of a part, complete or not."""
    with replacing(folder / f"{part}.json") as temporary:
        temporary.write_text(json.dumps(result, indent=1), encoding="utf-8")


def read_part(folder: Path, part: str) -> dict[str, Any] | None:
    """Reads the result of a part, if there is one."""
    path = folder / f"{part}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def write_table(folder: Path, titles: Mapping[str, str]) -> str:
    """Writes a section with a table for each part that has a result; returns the page."""
    found = {part: result for part in titles if (result := read_part(folder, part)) is not None}
    page = "\n".join(_section(titles[part], result) for part, result in found.items())
    with replacing(folder / TABLE_NAME) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return page


def _section(title: str, result: Mapping[str, Any]) -> str:
    rows: list[Row] = result["rows"]
    measured = [row for row in rows if not {MISSING, FAILED} & row.keys()]
    columns = list(dict.fromkeys(name for row in measured for name, value in row.items() if value is not None))
    machine = result["machine"]
    about = "an unknown machine"  # the part ended before it had described it
    if machine:
        about = f"{machine['device']}, {machine['cores']} cores, torch {machine['versions'].get('torch')}"
    what = ", tiny networks as a check" if result["tiny"] else ""
    lines = [f"### {title}", "", f"{about}, {result['started']}, {result['seconds']:.0f} s{what}.", ""]
    if measured:
        lines += [f"| {' | '.join(columns)} |", f"| --- |{' ---: |' * (len(columns) - 1)}"]
        lines += [f"| {' | '.join(_shown(row.get(name)) for name in columns)} |" for row in measured]
        lines.append("")
    notes = [f"{row[WHAT]}: {key}: {row[key]}" for row in rows for key in (MISSING, FAILED) if key in row]
    if not result["complete"]:
        notes.append(f"the part did not end: {result.get(FAILED, 'it was stopped')}")
    lines += [f"- {note}" for note in notes] + ([""] if notes else [])
    return "\n".join(lines)


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 or value == 0 else f"{value:.1e}"


def machine() -> dict[str, Any]:
    """Describes this machine, on which it uses the GPU."""
    versions = {"python": platform.python_version(), "cuda": torch.version.cuda}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    device: dict[str, Any] = {"device": _processor()}
    if torch.cuda.is_available():
        properties = torch.cuda.get_device_properties(0)
        device = {"device": properties.name, "memory": properties.total_memory, "processor": _processor()}
    return {**device, "cores": num_cores(), "versions": versions, "commit": commit_of_program()}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
