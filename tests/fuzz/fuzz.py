"""Feeds damaged game records to the readers: nothing may crash or hang, and no annotation may be wrong.

    python -m tests.fuzz.fuzz mjlog --inputs 100000 --seed 0

Input number N of a seed is always the same while the original records are the same, so a failure can be repeated.
"""

import argparse
import faulthandler
import hashlib
import random
import resource
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from tqdm import tqdm

from annotate.records.reading import Record
from annotate.runtime.workers import in_order
from tests.fuzz.formats import FORMATS
from tests.fuzz.oracle import Outcome, examine
from tests.fuzz.originals import originals
from tests.fuzz.trees import Original

READERS = tuple(FORMATS)
MOST_MEMORY = 4 << 30
_STUCK, _STUCK_EVERY = 300.0, 100
"""seconds for so many inputs, after which a process that cannot be interrupted is given up"""
_HIDDEN_EVERY = 5
_SUFFIXES = {"mjlog": ".mjlog", "mjai": ".jsonl", "majsoul": ".bin", "majsoul-json": ".json", "tenhou-json": ".json"}


@dataclass(frozen=True)
class Source:
    """What inputs are made of."""

    reader: str
    seed: int
    is_real: bool = True
    most: int = 150
    """real files to cut, or games to make"""


@dataclass
class Tally:
    """What became of many inputs."""

    inputs: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    games: int = 0
    rounds: int = 0
    unchanged: int = 0
    """inputs whose annotations are those of the original record"""
    changed: int = 0
    failures: Counter[str] = field(default_factory=Counter)

    def text(self) -> str:
        """A table for people."""
        lines = [
            f"{self.inputs:>10,} inputs",
            f"{self.refused.total():>10,} refused as unreadable",
            *(f"{count:>14,}  {reason}" for reason, count in self.refused.most_common(12)),
            f"{self.games:>10,} games read",
            f"{self.left_out.total():>10,} rounds or ends of games skipped",
            *(f"{count:>14,}  {reason}" for reason, count in self.left_out.most_common(25)),
            f"{self.rounds:>10,} rounds replayed",
            f"{self.unchanged:>10,} inputs with the annotations of the original record",
            f"{self.changed:>10,} inputs with other annotations, all of them right",
            f"{self.failures.total():>10,} failures",
            *(f"{count:>14,}  {kind}" for kind, count in self.failures.most_common()),
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Trial:
    """One input and what became of it."""

    number: int
    data: bytes
    outcome: Outcome
    is_changed: bool


@cache
def original_records(source: Source) -> list[bytes]:
    """Originals. Most are short, which are fast to play."""
    records = sorted(originals(source.reader, source.is_real, source.most), key=len)
    return [*records[: len(records) // 2], *records[len(records) // 2 :: 8]]


@cache
def _trees(source: Source) -> list[Original]:
    return [Original(FORMATS[source.reader].parse(record)) for record in original_records(source)]


@cache
def _lines_of(source: Source, index: int, writes_hidden: bool) -> list[str]:
    record = original_records(source)[index]
    return examine(Record("original", 0, record), source.reader, writes_hidden).lines


def make_input(source: Source, number: int) -> bytes:
    """Input `number`: the same bytes every time."""
    return _made(source, number)[0]


def _made(source: Source, number: int) -> tuple[bytes, int]:
    rng = random.Random(f"{source.reader}/{source.seed}/{number}")
    trees = _trees(source)
    index = rng.randrange(len(trees))
    return FORMATS[source.reader].damage(trees[index], rng.choice(trees), rng), index


def try_input(source: Source, number: int) -> Trial:
    """Makes an input and examines it."""
    if number % _STUCK_EVERY == 0:  # takes a moment
        faulthandler.dump_traceback_later(_STUCK, exit=True)
    data, index = _made(source, number)
    writes_hidden = number % _HIDDEN_EVERY == 0
    name = hashlib.sha256(data).hexdigest()[:8] + _SUFFIXES[source.reader]
    outcome = examine(Record(name, len(data), data), source.reader, writes_hidden)
    is_changed = bool(outcome.lines) and outcome.lines != _lines_of(source, index, writes_hidden)
    return Trial(number, data if outcome.failures else b"", outcome, is_changed)


def run(source: Source, numbers: Sequence[int], processes: int, folder: Path, is_quiet: bool = False) -> Tally:
    """Tries many inputs; those that fail are saved in `folder`."""
    tally = Tally()
    with closing(in_order(partial(try_input, source), numbers, processes)) as trials:
        for trial in tqdm(trials, total=len(numbers), unit="input", disable=True if is_quiet else None):
            outcome = trial.outcome
            tally.inputs += 1
            tally.refused += outcome.refused
            tally.left_out += outcome.left_out
            tally.games += outcome.games
            tally.rounds += outcome.rounds
            tally.changed += trial.is_changed
            tally.unchanged += bool(outcome.lines) and not trial.is_changed
            for failure in outcome.failures:
                tally.failures[" ".join(failure.split()[:6])[:70]] += 1
            if outcome.failures:
                _keep(source, trial, folder)
    faulthandler.cancel_dump_traceback_later()
    return tally


def _keep(source: Source, trial: Trial, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{source.reader}-{source.seed}-{trial.number}{_SUFFIXES[source.reader]}"
    path.write_bytes(trial.data)
    again = f"python -m tests.fuzz.fuzz {source.reader} --seed {source.seed} --first {trial.number} --inputs 1"
    again += "" if source.is_real else " --made"
    tqdm.write(f"{path}: {trial.outcome.failures[0][:300]}\n    again: {again}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Damages game records at random, feeds them to a reader, and checks that nothing crashes or hangs "
        "and that every annotation is right by a second, plain reading of the damaged file. Records are cut from real "
        "ones, in the folder that the environment variable KANACHAN_RECORDS names, and from games made up here. Exit "
        "status 1 if anything fails.",
    )
    parser.add_argument("reader", choices=READERS, help="whose files to damage")
    parser.add_argument("--inputs", type=int, default=10_000, metavar="N", help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="other seeds give other inputs (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first one, to repeat it alone")
    parser.add_argument("-j", "--processes", type=int, default=1, help="processes (default: %(default)s)")
    parser.add_argument("--made", action="store_true", help="use no real records, only those made up here")
    parser.add_argument("--file", type=Path, help="examine this file alone, such as one that was saved")
    parser.add_argument(
        "--keep", type=Path, default=Path("fuzz-failures"), metavar="DIR", help="where inputs that fail are saved"
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The script."""
    options = _parser().parse_args(argv)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    if options.file is not None:
        data = options.file.read_bytes()
        outcome = examine(Record("file", 0, data), options.reader)
        print(*outcome.refused, *outcome.left_out, *outcome.failures, sep="\n")
        return 1 if outcome.failures else 0
    source = Source(options.reader, options.seed, not options.made, 8 if options.made else 150)
    tally = run(source, range(options.first, options.first + options.inputs), options.processes, options.keep)
    print(f"{options.reader}, seed {options.seed}:\n{tally.text()}")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
