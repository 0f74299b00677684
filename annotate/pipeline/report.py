"""The report of a conversion: counts, and the left-out rounds, games and records with reasons."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from annotate.annotation import Annotation
from annotate.game.decisions import KINDS, kinds_of_actions
from annotate.records.finding import LINKED_FOLDER
from annotate.vocabulary import Vocabulary

MOST_SHOWN = 100
"""left-out entries that a sum of reports stores and prints"""


@dataclass
class Report:
    """Counts of converted records, and left-out entries; summed over games, files and workers."""

    files: int = 0
    """files and members of archives"""
    size: int = 0
    """their bytes on the disk"""
    passed_over: Counter[str] = field(default_factory=Counter)
    """skipped files in folders and archives, by suffix, and LINKED_FOLDER"""
    games: int = 0
    rounds: int = 0
    decisions: int = 0
    unknown: int = 0
    automatic: Counter[str] = field(default_factory=Counter)
    by: Counter[str] = field(default_factory=Counter)
    """number of games by player, if only the decisions of some players are annotated"""
    others: int = 0
    """choices of other players"""
    chosen: Counter[str] = field(default_factory=Counter)
    """decision points by the kind of the action taken"""
    possible: Counter[str] = field(default_factory=Counter)
    """decision points by the kinds of the possible actions"""
    notes: Counter[str] = field(default_factory=Counter)
    num_left_out: int = 0
    left_out: list[str] = field(default_factory=list)
    num_faults: int = 0

    def leave_out(self, text: str, *, is_fault: bool = False) -> None:
        self.num_left_out += 1
        self.num_faults += is_fault
        self.left_out.append(text)

    def add(self, other: "Report") -> None:
        for name, mine in vars(self).items():
            total = mine + getattr(other, name)
            setattr(self, name, total[:MOST_SHOWN] if isinstance(mine, list) else total)

    @classmethod
    def of_json(cls, values: dict[str, Any]) -> "Report":
        """Creates a report from its fields in a journal."""
        found: dict[str, Any] = {name: Counter(v) if isinstance(v, dict) else v for name, v in values.items()}
        return cls(**found)

    def count(self, annotations: Sequence[Annotation], vocabulary: Vocabulary) -> None:
        self.decisions += len(annotations)
        kind = kinds_of_actions(vocabulary).__getitem__
        self.chosen.update([kind(annotation.actions[annotation.chosen]) for annotation in annotations])
        kinds_of_each = [{*map(kind, annotation.actions)} for annotation in annotations]
        self.possible.update(chain.from_iterable(kinds_of_each))

    def text(self, whole_list: str | None = None) -> str:
        """Formats the report as a table for people. `whole_list`: name of the file that lists all left-out entries."""
        lines = self._counts() if self.decisions else [f"{self.files:>12,} files, without a decision point"]
        if self.automatic:
            kinds = ", ".join(f"{kind} {self.automatic[kind]:,}" for kind in KINDS if self.automatic[kind])
            lines.append(
                f"{self.automatic.total():,} choices left out: the player was not connected, or let the time run out "
                f"({kinds})"
            )
        if self.by:
            named = ", ".join(f"{name} {count:,}" for name, count in sorted(self.by.items()))
            lines.append(f"{self.others:,} choices of other players left out; games of {named}")
        lines += [f"{count:,} games: {note}" for note, count in sorted(self.notes.items())]
        by_suffix = sorted((suffix, count) for suffix, count in self.passed_over.items() if suffix != LINKED_FOLDER)
        if by_suffix:
            suffixes = ", ".join(f"{suffix} {count:,}" for suffix, count in by_suffix)
            lines.append(f"files skipped, as their suffixes are not those of records: {suffixes}")
        if self.passed_over[LINKED_FOLDER]:
            lines.append(f"{LINKED_FOLDER} skipped: {self.passed_over[LINKED_FOLDER]:,} (to read one, name it too)")
        if self.num_left_out:
            lines += [f"{self.num_left_out:,} left out:", *(f"  {text}" for text in self.left_out)]
            if self.num_left_out > len(self.left_out):
                more = f"  ... {self.num_left_out - len(self.left_out):,} more"
                lines.append(f"{more}: all are listed in {whole_list}" if whole_list else more)
        else:
            lines.append("nothing else left out")
        return "\n".join(lines)

    def _counts(self) -> list[str]:
        return [
            f"{self.files:>12,} files",
            f"{self.games:>12,} games",
            f"{self.rounds:>12,} rounds",
            f"{self.decisions:>12,} decision points",
            "",
            f"{'kind':<12}{'taken':>12}{'possible':>12}",
            *(f"{kind:<12}{self.chosen[kind]:>12,}{self.possible[kind]:>12,}" for kind in KINDS if self.possible[kind]),
            "",
            f"{self.unknown:,} choices left out, which the record does not show (another seat's claim took precedence)",
        ]
