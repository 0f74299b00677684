"""Writes results as JSON that any reader accepts: no named tuples, no NaN, no more digits than were computed."""

import json
import math
from pathlib import Path
from typing import Any

from annotate.runtime.files import reading_text, writing_text

_DIGITS = 6  # as many as 32-bit floats have


def plain(value: Any) -> Any:
    """Converts named tuples to objects, and numbers that are not finite (unknown) to null."""
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def rounded(value: float) -> float:
    """Rounds a number to as many digits as a network's outputs have."""
    return float(f"{value:.{_DIGITS}g}")


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Writes an indented JSON object, complete or not at all; compressed by its suffix."""
    with writing_text(str(path)) as file:
        file.write(json.dumps(content, indent=2, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Reads what `write_json` wrote; raises ValueError, naming the file, if it is damaged or not JSON."""
    with reading_text(str(path)) as file:
        try:
            return json.load(file)
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}: not JSON: {error}") from None
