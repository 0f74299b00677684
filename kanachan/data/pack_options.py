"""Options for packing decisions into shards, and counts of the packed data. Imports nothing heavy."""

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from kanachan.config import SPLITS

_FEW_GAMES = 5
_MORE_HELD_OUT = ": give more games, or set more of them aside (--fractions)"


@dataclass(frozen=True, slots=True)
class Packing:
    """Settings for splitting and shuffling rows and dividing them into shards."""

    fractions: tuple[float, float, float] = (0.9, 0.05, 0.05)
    rows_per_shard: int = 1_000_000
    seed: int = 0

    def __post_init__(self) -> None:
        if not (all(share >= 0 for share in self.fractions) and abs(sum(self.fractions) - 1) <= 1e-6):  # nan neither
            raise ValueError(f"fractions must be three shares that sum to 1, not {self.fractions}")
        if not 1 <= self.rows_per_shard <= 10_000_000:  # offsets into a column of tokens have 32 bits
            raise ValueError(f"rows per shard must be in 1 ... 10,000,000, not {self.rows_per_shard}")
        if not 0 <= self.seed < 1 << 64:
            raise ValueError(f"the seed must be in 0 ... 2^64 - 1, not {self.seed}")


@dataclass(slots=True)
class Tally:
    """Counts of the packed data, by split."""

    rows: Counter[str] = field(default_factory=Counter)
    repeated: Counter[str] = field(default_factory=Counter)
    """rows that were skipped because an equal row was packed before; not included in `rows`"""
    games: Counter[str] = field(default_factory=Counter)
    rounds: Counter[str] = field(default_factory=Counter)
    unhidden: str | None = None
    """a source without hidden hands, because of which those of the others were left out"""
    differing: int = 0
    """games of which several folders have different rounds; the first folder's are kept"""
    without_rounds: int = 0
    """games without rounds, if others have them"""

    def report(self, program: str, folder: Path, fractions: tuple[float, ...]) -> None:
        """Prints a table, and warnings to standard error. `fractions`: of the games, wanted in each split."""
        for split, wanted in zip(SPLITS, fractions, strict=True):
            if not wanted:
                continue
            if not self.rows[split]:
                print(f"{program}: warning: the {split} split is empty{_MORE_HELD_OUT}", file=sys.stderr)
            elif split != SPLITS[0] and self.games[split] < _FEW_GAMES:
                print(
                    f"{program}: warning: the {split} split has too few games to measure with ({self.games[split]})"
                    f"{_MORE_HELD_OUT}",
                    file=sys.stderr,
                )
        repeated = sum(self.repeated.values())
        if repeated:
            print(
                f"{program}: warning: {repeated:,} decisions are repetitions and were skipped (a game given twice?)",
                file=sys.stderr,
            )
        if self.unhidden is not None:
            print(f"{program}: warning: hidden hands are left out, because {self.unhidden} has none", file=sys.stderr)
        if self.differing:
            print(
                f"{program}: warning: {self.differing:,} games have other rounds in one folder than in another (two "
                "copies of a game, or two games with one id): the first rounds are kept, but the decisions of both; "
                "annotate the records again without one of them",
                file=sys.stderr,
            )
        if self.without_rounds:
            print(
                f"{program}: warning: {self.without_rounds:,} games have no rounds, unlike the others: of these, rank "
                "and grading learn only how the game ended; make their shards with kanachan-annotate --pack",
                file=sys.stderr,
            )
        print(f"{'split':<12}{'decisions':>14}{'games':>12}{'rounds':>12}")
        for split in SPLITS:
            print(f"{split:<12}{self.rows[split]:>14,}{self.games[split]:>12,}{self.rounds[split]:>12,}")
        counts = f"{self.rows.total():>14,}{self.games.total():>12,}{self.rounds.total():>12,}"
        print(f"{'all':<12}{counts}  in {folder}")


def add_options(parser: argparse._ActionsContainer, *, seed: str = "seed for the order of the rows") -> None:
    """Adds the options that `packing_of` reads; `seed`: the help text of --seed."""
    parser.add_argument(
        "--fractions",
        default="0.9,0.05,0.05",
        help="shares of the games that go to train, validation and test (default: %(default)s)",
    )
    parser.add_argument("--rows-per-shard", type=int, default=1_000_000, help="rows per shard (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help=f"{seed} (default: %(default)s)")


def packing_of(options: argparse.Namespace) -> Packing:
    """Reads the options; raises ValueError if one is invalid."""
    try:
        train, validation, test = map(float, options.fractions.split(","))
    except ValueError:
        raise ValueError(
            f"--fractions must be three numbers such as 0.9,0.05,0.05, not {options.fractions!r}"
        ) from None
    return Packing((train, validation, test), options.rows_per_shard, options.seed)
