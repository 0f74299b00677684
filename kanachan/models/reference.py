"""The names of the weights that come with the package. `reference` is imitation, `reference/STAGE` any stage,
`reference/mini` and `reference/micro` are smaller imitation networks, and `reference/suphx` is fine-tuned only on
decisions of the programs Suphx and LuckyJ. `reference/3p` and `reference/3p/STAGE` are for three players. `hf:ORG/NAME`
are weights on the Hugging Face Hub, where kanachan-export pushes them.

The files are in `kanachan/reference` and, for three players, in its folder `3p`; each is named after its stage or size.
`huggingface_hub` caches downloads and finds the token (`hf auth login`, or HF_TOKEN). This module imports nothing
heavy, because it is used to check command lines.
"""

import re
from functools import cache
from pathlib import Path

from kanachan.config import WEIGHTS_NAME
from kanachan.extras import require_extra

HUB_PREFIX = "hf:"
NAME = "reference"
FIRST_STAGE = "imitation"
FOLDER = Path(__file__).resolve().parents[1] / "reference"
_PLAYERS = "3p"
_NAME = re.compile(rf"{NAME}(?:/(?P<players>{_PLAYERS}))?(?:/(?P<stage>\w+))?")


def shipped_weights() -> dict[str, Path]:
    """Returns the weights files of the package by name: `reference` first, three-player weights last."""
    found: dict[str, Path] = {}
    for folder, name in ((FOLDER, NAME), (FOLDER / _PLAYERS, f"{NAME}/{_PLAYERS}")):
        files = sorted(folder.glob("*.safetensors"), key=lambda file: (file.stem != FIRST_STAGE, file.stem))
        found |= {_name(name, file.stem): file for file in files}
    return found


def shipped_name(stage: str, num_seats: int) -> str:
    """Returns the name of a stage's weights for `num_seats` players, whether or not the package has them."""
    return _name(NAME if num_seats == 4 else f"{NAME}/{num_seats}p", stage)


def is_reference_name(text: str) -> bool:
    """Returns whether a text is the name of package weights, of any stage, instead of a path."""
    return _NAME.fullmatch(text) is not None


def resolved(given: str | Path) -> Path:
    """Returns the file of a name, on the Hub or in the package; other texts are returned as paths. A `Path` is never a
    name. Raises ValueError if the package or the Hub has no weights of that name."""
    if isinstance(given, str) and given.startswith(HUB_PREFIX):
        return _hub_file(given)
    match = _NAME.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        return Path(given)
    shipped = shipped_weights()
    name = _name(NAME if match["players"] is None else f"{NAME}/{_PLAYERS}", match["stage"] or FIRST_STAGE)
    if name not in shipped:
        raise ValueError(
            f"{given}: not among the weights of this package, which are {', '.join(shipped)}; for a file or folder of "
            f"your own write ./{given}"
        )
    return shipped[name]


def name_of(file: Path) -> str | None:
    """Returns the name of a weights file of the package, or None for other files."""
    return next((name for name, path in shipped_weights().items() if path == file.resolve()), None)


def _name(first: str, stage: str) -> str:
    return first if stage == FIRST_STAGE else f"{first}/{stage}"


@cache
def _hub_file(name: str) -> Path:
    """Returns the local copy of named weights, such as `hf:someone/mahjong`; downloads them if they are new. Raises
    ValueError if there are no such weights, or if the Hub cannot be reached and they were not downloaded before."""
    require_extra("hub", ("huggingface_hub",), name)
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(hf_hub_download(name.removeprefix(HUB_PREFIX), WEIGHTS_NAME))
    except LocalEntryNotFoundError as error:
        raise ValueError(f"{name}: the Hub cannot be reached, and there is no earlier download") from error
    except (EntryNotFoundError, HfHubHTTPError, HFValidationError, OSError) as error:
        raise ValueError(f"{name}: no weights there: {str(error).strip().splitlines()[0]}") from error
