"""kanachan-pack: packs annotations, or several folders of shards, into shards; and converts shards to text."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from annotate.runtime.arguments import CommandParser, add_force_option
from annotate.runtime.files import name_where_disk_is_full, require_folder
from annotate.runtime.terminal import run_cleanly
from kanachan.config import SPLITS
from kanachan.data.pack_options import Packing, add_options, packing_of

PROGRAM = "kanachan-pack"
DESCRIPTION = """Packs annotations (text, as kanachan-annotate writes it, or folders of shards, as kanachan-annotate
--pack makes them) into a folder of shards that kanachan-train reads: decisions and, from folders that have them, the
rounds of the games. Games are assigned to the train, validation and test splits by a hash of their id, or whole files
and folders are given for each split. Rows are shuffled once; only one of several identical rows is stored. Text may be
plain, gzip or zstd; "-" is standard input. Needs about 1.2 GB of memory at the default --rows-per-shard, in proportion
to it, and temporary files that are somewhat larger than the shards. With --unpack, shards are converted to text, in
which the games' ids are the 16 hexadecimal digits of their hashes."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = CommandParser(PROGRAM, description=DESCRIPTION)
    parser.add_argument(
        "annotations", nargs="*", help="files of annotations, and folders of shards, to be split by game"
    )
    for split in SPLITS:
        parser.add_argument(
            f"--{split}",
            nargs="+",
            action="extend",
            default=[],
            metavar="FILE",
            help=f"files and folders for the {split} split",
        )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        help="folder to write the shards to; with --unpack, text file to write (.gz, .zst; -: standard output)",
    )
    parser.add_argument(
        "--keep-splits",
        action="store_true",
        help="keep the rows of folders of shards in their present splits, and the settings of self-play",
    )
    add_options(parser)
    add_force_option(parser)
    parser.add_argument("--unpack", metavar="SHARDS", help="write the shards of this folder as text")
    parser.add_argument("--split", choices=SPLITS, help="with --unpack: write only this split")
    arguments = parser.parse_args(argv)

    def body() -> int:
        try:
            return _run(arguments)
        except OSError as error:
            name_where_disk_is_full(error, arguments.output)
            raise

    return run_cleanly(PROGRAM, body)


def _run(arguments: argparse.Namespace) -> int:
    named = {split: tuple(getattr(arguments, split)) for split in SPLITS}
    if arguments.unpack is not None:
        if arguments.annotations or any(named.values()):
            raise ValueError("--unpack takes one folder of shards, and no files of annotations")
        if arguments.keep_splits or packing_of(arguments) != Packing():
            raise ValueError(
                "--keep-splits, --fractions, --rows-per-shard and --seed have no effect with --unpack; leave them out"
            )
        from kanachan.data.pack import unpack

        num_rows = unpack(Path(arguments.unpack), arguments.output, arguments.split, force=arguments.force)
        print(f"{num_rows:,} decisions written to {arguments.output}", file=sys.stderr)
        return 0
    if arguments.split:
        raise ValueError("--split needs --unpack; to name files as a split use --train, --validation, --test")
    if any(named.values()) and arguments.keep_splits:
        raise ValueError("--keep-splits keeps those of folders, but --train, --validation, --test set other splits")
    folder, packing = Path(arguments.output), packing_of(arguments)
    if packing.fractions != Packing().fractions and (any(named.values()) or arguments.keep_splits):
        others = "--keep-splits" if arguments.keep_splits else "--train, --validation, --test"
        raise ValueError(f"--fractions has no effect with {others}; leave it out")
    if any(named.values()) and arguments.annotations:
        raise ValueError("files are either split by game, or named as splits: name all of them, or none")
    sources = named if any(named.values()) else tuple(arguments.annotations)
    if not sources:
        raise ValueError("no annotations given")
    require_folder(arguments.output)
    # Heavy imports come only now, after the arguments have been found valid.
    from kanachan.data.pack import pack

    tally = pack(sources, folder, packing, keeps_splits=arguments.keep_splits, force=arguments.force)
    wanted = tuple(float(bool(files)) for files in named.values()) if any(named.values()) else packing.fractions
    tally.report(PROGRAM, folder, wanted)
    return 0
