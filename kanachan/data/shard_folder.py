"""The names of the files in a folder of shards. Imports nothing heavy: command lines are checked with it."""

from pathlib import Path

from annotate.runtime.files import require_exists
from kanachan.config import SPLITS


def shard_name(split: str, number: int) -> str:
    return f"{split}-{number:05}.arrow"


def splits_in(folder: str | Path) -> dict[str, list[Path]]:
    """Returns the shard files in `folder` by split, in order."""
    files = {split: sorted(Path(folder).glob(f"{split}-[0-9][0-9][0-9][0-9][0-9].arrow")) for split in SPLITS}
    return {split: paths for split, paths in files.items() if paths}


def shards_of(folder: str | Path, split: str) -> list[Path]:
    """Returns the shard files of a split, in order, without opening them.

    Raises:
        ValueError: the folder or the split is missing; names the splits that there are.
    """
    folder = Path(folder)
    require_exists(folder)
    if not folder.is_dir():
        raise ValueError(f"{folder}: a file, not a folder of shards; kanachan-pack makes one from annotations")
    present = splits_in(folder)
    if split not in present:
        there = f"there are: {', '.join(present)}" if present else "it holds no shards: make some with kanachan-pack"
        raise ValueError(f"{folder}: no shards of the split {split!r}; {there}")
    return present[split]
