"""The card inside a weights file, read without torch: command lines are checked with it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kanachan.config import WEIGHTS_NAME, ModelConfig
from kanachan.models.reference import resolved

CARD_KEY = "card"
SIZES_OF_ENCODER = ("width", "layers", "heads", "feedforward")
_LONGEST_HEADER = 100_000_000
"""bytes; the format allows no more"""


def weights_file(path: str | Path) -> Path:
    """Returns the weights file of a path to it or to its run folder, or of a name (`kanachan.models.reference`)."""
    given = resolved(path)
    file = given / WEIGHTS_NAME if given.is_dir() else given
    if not file.is_file():
        raise ValueError(
            f"{given}: no {WEIGHTS_NAME} in it; has the run ended?" if given.is_dir() else f"{given}: no such file"
        )
    return file


def read_card(file: Path) -> dict[str, Any] | None:
    """Returns the card of a weights file; None if it has none that can be read, which `read_weights` explains."""
    with open(file, "rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        header = opened.read(length) if length <= _LONGEST_HEADER else b""
    try:
        card = json.loads(json.loads(header)["__metadata__"][CARD_KEY])
    except (ValueError, KeyError, TypeError):
        return None
    return card if isinstance(card, dict) and "stage" in card and "model" in card else None


def require_encoder_sizes(model: ModelConfig, theirs: Mapping[str, Any], path: str | Path) -> None:
    """Raises ValueError, naming both sides, if the encoder of the weights at `path` has other sizes than `model`."""
    differing = [name for name in SIZES_OF_ENCODER if getattr(model, name) != theirs[name]]
    if differing:
        raise ValueError(
            f"the encoder of {path} has another size: "
            + ", ".join(f"model.{name} is {theirs[name]} there, {getattr(model, name)} here" for name in differing)
            + "; give "
            + " ".join(f"--model.{name} {theirs[name]}" for name in differing)
            + ", or no sizes, which are then taken from there"
        )
