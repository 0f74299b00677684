"""Settings of a game that records may lack (length, room, grades), and the seed of its walls."""

import argparse
import hashlib
from collections.abc import Sequence
from functools import partial

from annotate.game.record import Rules
from annotate.vocabulary import NUM_GRADES, NUMS_OF_SEATS, Vocabulary

STYLES = ("east", "south")
"""names of the styles 0 and 1"""
NUM_ROOMS = 5
DEFAULT_RULES: Rules = "tenhou"
DEFAULT_ROOM = 4  # Throne
DEFAULT_GRADE = 14  # 雀聖3


def table_seed(seed: int, index: int, kind: str = "") -> int:
    """Returns 40 bits that differ between games and between kinds of games, so that no two games share their walls."""
    return int.from_bytes(hashlib.sha256(f"{kind}{seed}/{index}".encode()).digest()[:5], "big")


def id_of_made(kind: str, vocabulary: Vocabulary, number: str) -> str:
    """Returns the id of a game played by this program: `sim-0-000001`, with three players `sim-3p-0-000001`."""
    players = "" if vocabulary.num_seats == NUMS_OF_SEATS[-1] else f"{vocabulary.num_seats}p-"
    return f"{kind}-{players}{number}"


def add_assumptions(parser: argparse.ArgumentParser) -> None:
    """Adds the options --room and --grades, used for games whose record does not contain them."""
    parser.add_argument(
        "--room",
        type=int,
        default=DEFAULT_ROOM,
        choices=range(NUM_ROOMS),
        help="room of games whose record has none: 0 Bronze ... 4 Throne (default: %(default)s)",
    )
    add_grades_option(parser, "players whose record has none")


def add_grades_option(parser: argparse._ActionsContainer, whose: str) -> None:
    """Adds the option --grades; `grades_by_seat` expands its value."""
    parser.add_argument(
        "--grades",
        type=partial(parse_grades, numbers=(1, *NUMS_OF_SEATS)),
        default=(DEFAULT_GRADE,),
        metavar="G[,G,G,G]",
        help=f"grade of {whose}, one for all or one for each seat: 0 Novice 1, 14 Saint 3, 15 Celestial "
        f"(default: {DEFAULT_GRADE})",
    )


def parse_grades(text: str, numbers: Sequence[int]) -> tuple[int, ...]:
    """Parses grades separated by commas, as many as one of `numbers`; raises ArgumentTypeError for anything else."""
    grades = tuple(int(part) if part.isdecimal() else -1 for part in text.split(","))
    if len(grades) not in numbers or not all(0 <= grade < NUM_GRADES for grade in grades):
        wanted = " or ".join(map(str, numbers))
        raise argparse.ArgumentTypeError(f"{wanted} grades 0 ... {NUM_GRADES - 1} expected, such as 14, not {text!r}")
    return grades


def grades_by_seat(grades: Sequence[int], num_seats: int) -> tuple[int, ...]:
    """Returns a grade for each seat; a single grade is used for all seats. Raises ValueError if there are several
    grades, but not one for each seat."""
    if len(grades) not in (1, num_seats):
        raise ValueError(f"--grades {','.join(map(str, grades))}: one grade, or {num_seats} for {num_seats} seats")
    return tuple(grades) * (num_seats if len(grades) == 1 else 1)
