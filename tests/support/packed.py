"""Folders of shards: made of random decisions, unpacked, and their columns compared."""

from collections.abc import Sequence
from pathlib import Path

from annotate.annotation import Annotation, format_line
from kanachan.cli.pack import main as pack_command
from kanachan.data.columns import Columns, Ragged, game_key
from kanachan.data.pack import pack
from kanachan.data.pack_options import Packing
from tests.support.random_annotations import random_annotations, with_hidden


def packed(
    folder: Path,
    train: int,
    validation: int = 0,
    test: int = 0,
    *,
    rows_per_shard: int = 1_000_000,
    is_hidden: bool = False,
) -> Path:
    """Shards of so many random decisions per split, `rows_per_shard` in each; `is_hidden`: with hidden hands."""
    sources = {}
    for seed, (split, n) in enumerate({"train": train, "validation": validation, "test": test}.items()):
        if n:
            text = folder.parent / f"{folder.name}-{split}.txt"
            annotations = random_annotations(n, seed)
            if is_hidden:
                annotations = with_hidden(annotations, seed)
            sources[split] = (write_lines(text, annotations),)
    pack(sources, folder, Packing(rows_per_shard=rows_per_shard))
    return folder


def write_lines(path: Path, annotations: Sequence[Annotation]) -> str:
    """Writes annotation lines and returns the path."""
    path.write_text("".join(f"{format_line(a)}\n" for a in annotations))
    return str(path)


def unpacked(folder: Path, *arguments: str) -> list[str]:
    """The lines in the shards, in their order, with keys for games."""
    out = folder.parent / "unpacked.txt"
    assert pack_command(["--unpack", str(folder), "-o", str(out), "--force", *arguments]) == 0
    return out.read_text().splitlines()


def with_key(annotation: Annotation) -> str:
    """The line of an annotation as unpacking writes it: with a key for the game."""
    return format_line(annotation._replace(game=f"{game_key(annotation.game):016x}"))


def assert_equal_columns(columns: Columns, expected: Columns) -> None:
    """Asserts that every column has the same values of the same type."""
    for name in Columns.__slots__:
        left, right = getattr(columns, name), getattr(expected, name)
        if left is None or right is None:
            assert left is right
            continue
        if isinstance(left, Ragged):
            assert left.starts.tolist() == right.starts.tolist()
            left, right = left.values, right.values
        assert left.dtype == right.dtype
        assert left.tolist() == right.tolist()
