"""kanachan-pack: annotations, or several folders of shards, to shards; and back to text."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from annotate.runtime.signals import Stopped, stopping_at_once
from annotate.runtime.terminal import run_cleanly
from kanachan.config import SPLITS
from kanachan.data.pack import PROGRAM, pack, unpack
from kanachan.data.pack_options import add_options, packing_of

DESCRIPTION = """Packs annotations (text, as kanachan-annotate writes it, or folders of shards, as kanachan-annotate
--pack makes them) into a folder of shards that kanachan-train reads. Every line is checked; the first wrong one ends
the program and is named. Games go to the train, validation and test split by a hash of their id, so a game never
changes sides when data are added; or whole files and folders are named as a split. Rows are shuffled once; a row that
is there twice, as when a game was given twice, is kept once. Of the hidden field (kanachan-annotate --hidden), which
all annotations must have or none, the hands are kept and the wall is not. Text may be plain, .gz or .zst; "-" is
standard input. Memory: about 2 GB at the default --rows-per-shard, in proportion to it, whatever the amount of data;
temporary files as large as the shards are kept beside them until the end. With --unpack, shards become text again; ids
of games are then 16 hexadecimal digits of their hash, as shards keep no more of them (so do not pack that text again
together with the original: its games would count as other games)."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog=PROGRAM, description=DESCRIPTION)
    parser.add_argument(
        "annotations", nargs="*", help="files of annotations, and folders of shards, to be split by game"
    )
    for split in SPLITS:
        parser.add_argument(
            f"--{split}", nargs="+", default=[], metavar="FILE", help=f"those that are the {split} split as a whole"
        )
    parser.add_argument(
        "-o",
        "--out",
        required=True,
        help="folder to write the shards to; with --unpack the text file to write (.gz, .zst; - is standard output)",
    )
    add_options(parser)
    parser.add_argument("--unpack", metavar="SHARDS", help="write the shards of this folder as text")
    parser.add_argument("--split", choices=SPLITS, help="with --unpack: this split alone")
    arguments = parser.parse_args(argv)

    def body() -> int:
        try:
            with stopping_at_once():
                return _run(arguments)
        except Stopped as stopped:
            print(f"{PROGRAM}: {stopped}", file=sys.stderr)
            return stopped.status

    return run_cleanly(PROGRAM, body)


def _run(arguments: argparse.Namespace) -> int:
    named = {split: tuple(getattr(arguments, split)) for split in SPLITS}
    if arguments.unpack:
        if arguments.annotations or any(named.values()):
            raise ValueError("--unpack takes one folder of shards, and no files of annotations")
        num_rows = unpack(Path(arguments.unpack), arguments.out, arguments.split)
        print(f"{num_rows:,} decisions written to {arguments.out}", file=sys.stderr)
        return 0
    if arguments.split:
        raise ValueError("--split goes with --unpack; to name files as a split use --train, --validation, --test")
    if any(named.values()) and arguments.annotations:
        raise ValueError("files are either split by game, or named as splits: name all of them, or none")
    sources = named if any(named.values()) else tuple(arguments.annotations)
    if not sources:
        raise ValueError("no annotations given")
    tally = pack(sources, Path(arguments.out), packing_of(arguments), force=arguments.force)
    tally.report(PROGRAM, Path(arguments.out))
    return 0
