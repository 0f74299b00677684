"""Settings of a game that records may lack (length, room, grades), and the seed of its walls."""

import hashlib
from collections.abc import Sequence

from annotate.game.record import Rules
from annotate.vocabulary import NUMS_OF_SEATS, Vocabulary

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


def grades_by_seat(grades: Sequence[int], num_seats: int) -> tuple[int, ...]:
    """Returns a grade for each seat; a single grade is used for all seats. Raises ValueError if there are several
    grades, but not one for each seat."""
    if len(grades) not in (1, num_seats):
        raise ValueError(f"--grades {','.join(map(str, grades))}: one grade, or {num_seats} for {num_seats} seats")
    return tuple(grades) * (num_seats if len(grades) == 1 else 1)
