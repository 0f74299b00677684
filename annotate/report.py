"""What became of game records: counts for people, and what was left out and why."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from annotate.annotation import Annotation
from annotate.decisions import KINDS, kind_of
from annotate.vocabulary import FOUR_PLAYERS

_KIND_OF_ACTION = [kind_of(token, FOUR_PLAYERS) for token in range(FOUR_PLAYERS.action.size)]

_MOST_DIFFERENCES = 50
"""that a report shows"""


@dataclass
class Report:
    """What became of the records; sums over games, files and workers."""

    files: int = 0
    """and members of archives"""
    size: int = 0
    """bytes of them, as they lie on the disk"""
    games: int = 0
    rounds: int = 0
    decisions: int = 0
    unknown: int = 0
    chosen: Counter[str] = field(default_factory=Counter)
    """decision points by the kind of the action taken"""
    possible: Counter[str] = field(default_factory=Counter)
    """decision points by the kinds of the possible actions"""
    notes: Counter[str] = field(default_factory=Counter)
    left_out: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    """options that a record lists and the rules engine does not have, or the reverse"""

    def add(self, other: "Report") -> None:
        self.files += other.files
        self.size += other.size
        self.games += other.games
        self.rounds += other.rounds
        self.decisions += other.decisions
        self.unknown += other.unknown
        self.chosen += other.chosen
        self.possible += other.possible
        self.notes += other.notes
        self.left_out += other.left_out
        self.differences += other.differences

    def count(self, annotations: Sequence[Annotation]) -> None:
        self.decisions += len(annotations)
        for annotation in annotations:
            self.chosen[_KIND_OF_ACTION[annotation.actions[annotation.chosen]]] += 1
            self.possible.update({_KIND_OF_ACTION[token] for token in annotation.actions})

    def text(self) -> str:
        """A table for people."""
        lines = [
            f"{self.files:>12,} files",
            f"{self.games:>12,} games",
            f"{self.rounds:>12,} rounds",
            f"{self.decisions:>12,} decision points",
            "",
            f"{'kind':<12}{'taken':>12}{'possible':>12}",
        ]
        lines += [f"{kind:<12}{self.chosen[kind]:>12,}{self.possible[kind]:>12,}" for kind in KINDS]
        lines += [
            "",
            f"{self.unknown:,} choices left out that the record does not show (another seat's claim came first)",
        ]
        lines += [f"{count:,} games: {note}" for note, count in sorted(self.notes.items())]
        if self.differences:
            lines.append(
                f"{len(self.differences):,} options on which record and rules engine differ (the engine's stand):"
            )
            lines += [f"  {text}" for text in self.differences[:_MOST_DIFFERENCES]]
            lines += ["  ..."] if len(self.differences) > _MOST_DIFFERENCES else []
        if self.left_out:
            lines += [f"{len(self.left_out):,} left out:", *(f"  {text}" for text in self.left_out)]
        else:
            lines.append("nothing else left out")
        return "\n".join(lines)
