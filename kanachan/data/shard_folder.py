"""The names of the files in a folder of shards. Imports nothing heavy, because it is used to check command lines."""

from pathlib import Path

from annotate.runtime.files import MISSING
from kanachan.config import SPLITS

MOST_SHARDS = 100_000
"""of a split, by the digits of their names"""
ROUNDS = "rounds"
"""subfolder of a folder of shards with the shards of rounds, whose files have the same names"""
SELF_PLAY = "self_play"
"""entry of the shards' origin: the settings of each run of self-play that the games are from"""
SPLIT_ADVICE = (
    "name another with --split, or pack again with more games set aside (kanachan-pack --fractions 0.8,0.1,0.1), or "
    "with files of their own (--validation, --test); games of kanachan-selfplay need its own --fractions"
)


def shard_name(split: str, number: int) -> str:
    return f"{split}-{number:05}.arrow"


def splits_in(folder: str | Path) -> dict[str, list[Path]]:
    """Returns the shard files in `folder` by split, in order."""
    files = {split: sorted(Path(folder).glob(f"{split}-[0-9][0-9][0-9][0-9][0-9].arrow")) for split in SPLITS}
    return {split: paths for split, paths in files.items() if paths}


def names_in(folder: Path) -> list[str]:
    """Returns the names of all shards below `folder`, of decisions and of rounds."""
    paths = [*splits_in(folder).values(), *splits_in(folder / ROUNDS).values()]
    return [str(path.relative_to(folder)) for of_split in paths for path in of_split]


def require_no_shards(folder: Path) -> None:
    """Raises ValueError, mentioning --force, if there are shards below `folder`."""
    names = names_in(folder)
    if names:
        raise ValueError(f"{folder}: holds shards already ({names[0]} …); --force replaces them")


def require_finished(folder: Path, own: Path | None = None) -> None:
    """Raises ValueError if a run that writes shards into the folder, other than the one with the journal `own`, is not
    finished."""
    for journal in folder.glob(".kanachan-*.part/journal"):
        if journal != own:
            program = journal.parent.name.removeprefix(".").removesuffix(".part")
            raise ValueError(
                f"{folder}: a run of {program} into this folder is not finished: repeat its command first, or discard "
                f"what it did by removing {journal.parent}"
            )


def shards_of(folder: str | Path, split: str) -> list[Path]:
    """Returns the shard files of a split, in order, without opening them. Raises ValueError, naming the existing
    splits, if the folder or the split is missing."""
    folder = Path(folder)
    if not folder.is_dir():
        kind = "not a folder of shards" if folder.is_file() else "neither a folder of shards nor a regular file"
        what = kind if folder.exists() else MISSING
        raise ValueError(f"{folder}: {what}; kanachan-pack makes one from annotations")
    present = splits_in(folder)
    if split not in present:
        there = (
            f"there are: {', '.join(present)}: {SPLIT_ADVICE}"
            if present
            else "it holds no shards: make some with kanachan-pack"
        )
        raise ValueError(f"{folder}: no shards of the split {split!r}; {there}")
    return present[split]
