"""The names of the weights that come with the package: `reference` is imitation, `reference/STAGE` any stage.

Imports nothing heavy: command lines are checked with it.
"""

import re
from pathlib import Path

NAME = "reference"
FIRST_STAGE = "imitation"
FOLDER = Path(__file__).resolve().parents[1] / "reference"
_NAME = re.compile(rf"{NAME}(?:/(?P<stage>\w+))?")


def shipped_weights() -> dict[str, Path]:
    """Returns the weights files of the package by name, `reference` first."""
    files = sorted(FOLDER.glob("*.safetensors"), key=lambda file: (file.stem != FIRST_STAGE, file.stem))
    return {_name(file.stem): file for file in files}


def is_reference_name(text: str) -> bool:
    """Returns whether a text is `reference` or `reference/STAGE`, of any stage, rather than a path."""
    return _NAME.fullmatch(text) is not None


def resolved(given: str | Path) -> Path:
    """Returns the file of a name, and other texts as the path that they are. A `Path` is never a name.

    Raises:
        ValueError: the package has no weights of that name.
    """
    match = _NAME.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        return Path(given)
    shipped = shipped_weights()
    name = _name(match["stage"] or FIRST_STAGE)
    if name not in shipped:
        raise ValueError(
            f"{given}: not among the weights of this package, which are {', '.join(shipped)}; for a file or folder of "
            f"your own write ./{given}"
        )
    return shipped[name]


def name_of(file: Path) -> str | None:
    """Returns the name under which the package holds a weights file, None if it is not one of the package."""
    return next((name for name, path in shipped_weights().items() if path == file.resolve()), None)


def _name(stage: str) -> str:
    return NAME if stage == FIRST_STAGE else f"{NAME}/{stage}"
