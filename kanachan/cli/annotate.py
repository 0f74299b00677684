"""The command kanachan-annotate: annotate.pipeline.cli with one more output format, shards."""

import argparse
from collections.abc import Callable, Sequence

from annotate.annotation import HIDDEN
from annotate.pipeline.cli import annotate
from annotate.pipeline.outputs import Output
from annotate.vocabulary import Vocabulary
from kanachan.data.pack_options import UNFINISHED, add_options, folder_named, packing_of

_MOST_SOURCES = 20


def main(argv: Sequence[str] | None = None) -> int:
    return annotate(argv, _add_pack, _shards)


def _add_pack(parser: argparse.ArgumentParser, outputs: argparse._MutuallyExclusiveGroup) -> None:
    outputs.add_argument(
        "--pack",
        metavar="DIR",
        help="a folder of shards, as kanachan-pack makes it of annotation lines, without the lines in between; as "
        "with -o, the same command continues an interrupted run",
    )
    add_options(parser.add_argument_group("options of --pack"))


def _shards(options: argparse.Namespace, vocabulary: Callable[[], Vocabulary]) -> Output | None:
    if options.pack is None:
        return None
    packing = packing_of(options)
    from kanachan.data.shard_writer import ShardOutput

    sources = options.records[:_MOST_SOURCES]
    if len(options.records) > _MOST_SOURCES:
        sources.append(f"and {len(options.records) - _MOST_SOURCES} more")
    return ShardOutput(
        folder_named(options.pack),
        UNFINISHED,
        packing,
        sources,
        vocabulary(),
        optional=[HIDDEN] * options.hidden,
        by=options.by,
        force=options.force,
        restart=options.restart,
    )
