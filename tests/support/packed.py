"""Folders of shards for tests."""

from pathlib import Path

from annotate.annotation import format_line
from annotate.vocabulary import FOUR_PLAYERS
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
    """Shards of so many random decisions, in as many shards as `rows_per_shard` makes of them; with hidden hands."""
    sources = {}
    for seed, (split, n) in enumerate({"train": train, "validation": validation, "test": test}.items()):
        if n:
            text = folder.parent / f"{folder.name}-{split}.txt"
            annotations = random_annotations(n, seed)
            if is_hidden:
                annotations = with_hidden(annotations, seed)
            text.write_text("".join(f"{format_line(a)}\n" for a in annotations))
            sources[split] = (str(text),)
    pack(sources, folder, FOUR_PLAYERS, Packing(rows_per_shard=rows_per_shard))
    return folder
