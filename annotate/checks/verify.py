"""kanachan-annotate --verify: checks annotation lines and reports every violation.

In a game of a platform whose records show that a player was away, choices may have no line; they are counted.

Shares only the vocabulary and the parser with the program that writes the lines: annotate.checks implements the rules
of the game independently, without an engine, from the content of the lines.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain

from tqdm import tqdm

from annotate.checks.games import GameLines
from annotate.runtime.files import reading_text
from annotate.runtime.workers import in_order

MOST_SHOWN = 20
_MOST_LINES = 20_000  # of a game: bounds the memory for any file
_FILE = "file"
_TENHOU = re.compile(r"\d{10}gm-[0-9a-f]{4}-|mjlog-[0-9a-f]{16}$")
_MAJSOUL = re.compile(r"\d{6}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
"""ids of games; the ids of others are different"""


@dataclass(frozen=True)
class Violation:
    """A violation in a line."""

    path: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind}: {self.text}"


@dataclass
class Verification:
    """Counts of lines and violations; sums over games and files."""

    lines: int = 0
    games: int = 0
    rounds: int = 0
    gaps: int = 0
    """places where rounds of a game are left out"""
    absent: Counter[str] = field(default_factory=Counter)
    """choices without a line, by kind, in games in which players may have been away"""
    kinds: Counter[str] = field(default_factory=Counter)
    """violations by kind"""
    shown: list[Violation] = field(default_factory=list)
    """the first of them"""

    def add(self, other: "Verification") -> None:
        self.lines += other.lines
        self.games += other.games
        self.rounds += other.rounds
        self.gaps += other.gaps
        self.absent += other.absent
        self.kinds += other.kinds
        self.shown += other.shown[: MOST_SHOWN - len(self.shown)]

    def fail(self, violation: Violation) -> None:
        self.kinds[violation.kind] += 1
        if len(self.shown) < MOST_SHOWN:
            self.shown.append(violation)

    def text(self) -> str:
        """Formats a report for people."""
        lines = [str(violation) for violation in self.shown]
        total = self.kinds.total()
        if total > len(self.shown):
            lines.append(f"… and {total - len(self.shown):,} more violations")
        lines += [f"{self.lines:>12,} lines", f"{self.games:>12,} games", f"{self.rounds:>12,} rounds"]
        if self.gaps:
            lines.append(f"{self.gaps:>12,} places where rounds of a game are left out")
        if self.absent:
            kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(self.absent.items()))
            lines.append(f"{self.absent.total():>12,} choices without a line, as of players who were away ({kinds})")
        lines.append(f"{total:>12,} violations")
        lines += [f"{count:>12,}   {kind}" for kind, count in self.kinds.most_common()]
        return "\n".join(lines)


@dataclass(frozen=True)
class Part:
    """Consecutive lines of one game, or a problem of the file there."""

    path: str
    first_line: int
    lines: Sequence[str] = ()
    problem: str | None = None


def parts_of(path: str, progress: Callable[[int], object] | None = None) -> Iterator[Part]:
    """Yields the games of a file of annotation lines, one after another; calls `progress` as `reading_text` does."""
    seen: set[int] = set()  # hashes of names, so that a large file takes little memory
    game, lines, number = None, list[str](), 0
    try:
        with reading_text(path, progress) as text:
            for number, line in enumerate(text, 1):
                name = line.partition("\t")[0]
                if name != game or len(lines) == _MOST_LINES:
                    if lines:
                        yield Part(path, number - len(lines), lines)
                    if hash(name) in seen:
                        yield Part(path, number, problem=f"game {name} occurred before: its lines must be consecutive")
                    seen.add(hash(name))
                    game, lines = name, []
                lines.append(line)
    except ValueError as error:
        yield Part(path, number + 1, problem=str(error))
    if lines:
        yield Part(path, number + 1 - len(lines), lines)
        if not lines[-1].endswith("\n"):
            yield Part(path, number, problem="the last line has no line break: it may be cut off")
    if number == 0:
        yield Part(path, 1, problem="there are no lines")


def verify_part(part: Part) -> Verification:
    """Checks the lines of one game."""
    result = Verification(lines=len(part.lines), games=bool(part.lines))

    def fail(kind: str, text: str) -> None:
        result.fail(Violation(part.path, game.line, kind, text))

    if part.problem:
        result.fail(Violation(part.path, part.first_line, _FILE, part.problem))
    name = part.lines[0].partition("\t")[0] if part.lines else ""
    game = GameLines(fail, result.absent if _TENHOU.match(name) or _MAJSOUL.match(name) else None)
    for number, line in enumerate(part.lines, part.first_line):
        game.add(line.rstrip("\n"), number)
    game.finish()
    result.rounds, result.gaps = game.num_rounds, game.num_gaps
    return result


def verify(paths: Sequence[str], num_processes: int) -> Verification:
    """Checks files of annotation lines (plain, .gz, .zst, - for standard input) with `num_processes` processes.

    Raises:
        OSError: a file cannot be opened.
    """
    total = Verification()
    num_bytes = sum(os.path.getsize(path) for path in paths if path != "-")
    with tqdm(total=num_bytes or None, unit="B", unit_scale=True, disable=None, smoothing=0.05) as bar:
        parts = chain.from_iterable(parts_of(path, bar.update) for path in paths)
        with closing(in_order(verify_part, parts, num_processes)) as results:
            for result in results:
                total.add(result)
                bar.set_postfix_str(f"{total.games:,} games", refresh=False)
    return total
