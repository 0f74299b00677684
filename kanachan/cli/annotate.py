"""kanachan-annotate: converts game records to annotations (lines or shards), and reports omissions with reasons."""

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from annotate.annotation import HIDDEN, parse_line, vocabulary_of_line
from annotate.game.origin import printable
from annotate.game.settings import DEFAULT_GRADE, DEFAULT_ROOM, grades_by_seat
from annotate.pipeline.convert import INCOMPLETE, Conversion, annotate_record
from annotate.pipeline.outputs import Output, StandardOutput, TextOutput, encode_text
from annotate.pipeline.run import run
from annotate.records.addresses import is_address, is_record_address, parse_address
from annotate.records.finding import SUFFIXES, Shard, check_paths, is_record_name, names_one_record
from annotate.records.reading import ACCEPTED, find_records, num_players_of_first, records_of
from annotate.runtime.arguments import CommandParser, add_force_option
from annotate.runtime.files import check_output, reading_text, require_folder
from annotate.runtime.resources import num_cores
from annotate.runtime.signals import Stopped
from annotate.runtime.terminal import require_positive, run_cleanly
from annotate.vocabulary import NUMS_OF_SEATS, Vocabulary, vocabulary_of_seats
from annotate.words import describe
from kanachan.cli.options import add_assumptions
from kanachan.data.pack_options import Packing, add_options, packing_of

JOURNAL = ".kanachan-annotate.part/journal"
"""in a folder of shards"""
_MOST_SOURCES = 20
_LONGEST_LINE = 1 << 20  # of annotations, in characters; a record may be one line of any length


def main(argv: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(argv)
    options.by = sorted({printable(name).strip() for name in options.by})  # as the names in records
    if "" in options.by:
        parser.error("--by: a name is empty")
    require_positive(parser, options, "processes", "explain")

    def body() -> int:
        for path in filter(is_address, options.records):
            if is_record_address(path):
                raise ValueError(f"{path[:80]}: store this address in a file, and give the file")
            raise ValueError(f"{path}: {parse_address(path).advice}")
        conversion = Conversion(
            options.records,
            options.room,
            options.grades,
            options.hidden,
            options.shard,
            options.keep_incomplete,
            options.players,
            by=tuple(options.by),
        )
        if options.pack is None and packing_of(options) != Packing():
            raise ValueError("--fractions, --rows-per-shard and --seed have an effect only with --pack; leave them out")
        if options.explain is not None:
            print(_explain(conversion, options.explain))
            return 0
        output, vocabulary = _lines(options) if options.pack is None else _shards(options)
        grades_by_seat(options.grades, vocabulary.num_seats)
        skips_others = options.players is not None
        conversion = replace(conversion, num_players=vocabulary.num_seats, skips_others=skips_others)
        try:
            report = run(conversion, output, options.processes, restart=options.restart)
        except Stopped as stopped:
            print(f"{parser.prog}: {stopped}", file=sys.stderr)
            return stopped.status
        if report.num_faults:
            return 1
        return 3 if options.strict and report.num_left_out else 0

    return run_cleanly(parser.prog, body)


def _explain(conversion: Conversion, number: int) -> str:
    """Describes a decision of a record, as it would be written, or a decision in a file of annotation lines."""
    records = list(islice(records_of(find_records(conversion.paths)), 2))
    if len(records) != 1:
        raise ValueError("--explain needs one file, or one member of an archive, such as archive.zip!folder/game.xml")
    record = records[0]
    if record.data is None and _holds_annotations(record.name):
        if conversion != Conversion(conversion.paths, DEFAULT_ROOM, (DEFAULT_GRADE,)):
            raise ValueError(f"{record.name}: holds annotations, on which options about records have no effect")
        with reading_text(record.name) as text:
            return _described(record.name, text, number)
    _, games, report = annotate_record(record, conversion, encode_text)
    lines = [line for game in games for line in game.data.decode().splitlines()]
    if not lines:
        reports = (report, *(game.report for game in games))
        reasons = [reason for each in reports for reason in (*each.left_out, *each.notes)]
        hint = " (see --keep-incomplete)" if any(INCOMPLETE in each.notes for each in reports) else ""
        raise ValueError(f"{reasons[0] if reasons else f'{record.name}: no decision'}{hint}")
    return _described(record.name, lines, number)


def _holds_annotations(name: str) -> bool:
    if not os.path.isfile(name):
        return False
    try:
        with reading_text(name) as text:
            vocabulary_of_line(text.readline(_LONGEST_LINE))
    except ValueError:
        return False
    return True


def _described(name: str, lines: Iterable[str], number: int) -> str:
    count = 0
    for count, line in enumerate(lines, 1):
        if count == number:
            try:
                vocabulary = vocabulary_of_line(line)
                return describe(parse_line(line, vocabulary), vocabulary)
            except ValueError as error:
                raise ValueError(f"{name}:{number}: {error}") from None
    raise ValueError(f"{name}: --explain {number}: it has {count} decisions")


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        "kanachan-annotate",
        description="Replays game records of riichi mahjong for four or three players and writes every decision of "
        f"every player as one line of text. Accepts {ACCEPTED}; formats are recognised by content. A round that "
        "the rules engine cannot replay exactly is left out and listed in the report on standard error.",
    )
    parser.add_argument(
        "records",
        nargs="+",
        help="files, folders (searched recursively), glob patterns; archives "
        "(zip; tar, plain, gzip or zstd) are read member by member; archive.zip!folder/game.xml names one member. "
        f"In folders and archives, only files with one of these suffixes are read: {', '.join(SUFFIXES)}",
    )
    what = _add_outputs(parser)
    parser.add_argument(
        "-j", "--processes", type=int, default=num_cores(), help="worker processes (default: all %(default)s cores)"
    )
    parser.add_argument(
        "--hidden",
        action="store_true",
        help="add an eighth field: the other players' hands, and the tiles to be drawn if the record contains them; "
        "shards store only the hands",
    )
    _add_selection(parser)
    parser.add_argument(
        "--restart", action="store_true", help="start from scratch; discard an interrupted run's files of this output"
    )
    parser.add_argument("--strict", action="store_true", help="exit with status 3 if anything was left out")
    add_force_option(parser)
    add_assumptions(parser)
    what.add_argument(
        "--pack",
        metavar="DIR",
        help="folder of shards, as kanachan-pack makes it from annotation lines, written directly without the lines; "
        "as with -o, the same command continues an interrupted run",
    )
    add_options(parser.add_argument_group("options of --pack"))
    return parser


def _add_outputs(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="file for annotation lines; compressed by suffix (.gz, .zst); -: standard output. The same command "
        "resumes an interrupted run; until then its files are next to FILE, with names that start with a dot",
    )
    what.add_argument(
        "--explain", type=int, metavar="N", help="print decision N (from 1) of a record or of annotation lines in words"
    )
    return what


def _add_selection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--players",
        type=int,
        choices=NUMS_OF_SEATS,
        help="annotate only games of this number of players, if there are both kinds, which cannot be mixed (default: "
        "the number of the first game; a game of the other kind ends the run)",
    )
    parser.add_argument(
        "--by",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="annotate only the decisions of the players with these names, exactly as the records write them; games "
        "without such a player are skipped and counted. Give the records before this option",
    )
    parser.add_argument(
        "--keep-incomplete",
        action="store_true",
        help="also annotate games whose final scores are missing, for example in truncated records: their complete "
        "rounds, with the ranks and scores after the last one as the final result, and no change of grading points. "
        "Suitable only for imitation and round_delta. If a game occurs twice, the first copy is used",
    )
    parser.add_argument(
        "--shard",
        type=_shard,
        default=Shard(1, 1),
        metavar="I/N",
        help="every N-th record, starting at the I-th (1/N ... N/N): the share of one of N machines. Members of "
        "archives are counted separately. Copies of a game under other names are found only within a shard",
    )


def _shard(text: str) -> Shard:
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise argparse.ArgumentTypeError(f"{text!r} is not I/N with I from 1 to N, such as 1/4")
    return Shard(int(number), int(of))


def _lines(options: argparse.Namespace) -> tuple[Output, Vocabulary]:
    check_output(options.output, options.records, may_stream=True)
    if options.output == "-":
        return StandardOutput(), _vocabulary(options)
    if names_one_record(options.output) and Path(options.output).exists():
        raise ValueError(f"{options.output}: exists and is named like a game record: name another, such as x.txt")
    if is_record_name(Path(options.output).name) and any(_is_below(options.output, path) for path in options.records):
        raise ValueError(f"{options.output}: would be read as a record next time: write it outside of that folder")
    output = TextOutput(options.output)
    if options.restart or not output.journal.exists():
        check_output(options.output, force=options.force)
    return output, _vocabulary(options)


def _is_below(file: str, folder: str) -> bool:
    return os.path.isdir(folder) and Path(folder).resolve() in Path(file).resolve().parents


def _shards(options: argparse.Namespace) -> tuple[Output, Vocabulary]:
    require_folder(options.pack)
    packing, folder = packing_of(options), Path(options.pack)
    from kanachan.data.shard_writer import ShardOutput

    sources = options.records[:_MOST_SOURCES]
    if len(options.records) > _MOST_SOURCES:
        sources.append(f"and {len(options.records) - _MOST_SOURCES} more")
    vocabulary = _vocabulary(options)
    output = ShardOutput(
        folder,
        JOURNAL,
        packing,
        sources,
        vocabulary,
        optional=[HIDDEN] * options.hidden,
        by=options.by,
        force=options.force,
        restart=options.restart,
    )
    return output, vocabulary


def _vocabulary(options: argparse.Namespace) -> Vocabulary:
    """Returns the vocabulary of the annotations; checks the paths first, since this may read records."""
    check_paths(options.records)
    return vocabulary_of_seats(options.players or num_players_of_first(options.records) or NUMS_OF_SEATS[-1])
