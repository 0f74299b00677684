"""Settings of a game that records may lack: the length, the room and the grades; and the seed of its walls."""

import argparse
import hashlib

from annotate.vocabulary import NUM_GRADES

STYLES = ("east", "south")
"""names of the styles 0 and 1"""
NUM_ROOMS = 5
DEFAULT_ROOM = 4  # Throne
DEFAULT_GRADE = 14  # 雀聖3


def table_seed(seed: int, index: int) -> int:
    """Returns 40 bits that differ between games, so that no two games share their walls."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{index}".encode()).digest()[:5], "big")


def add_assumptions(parser: argparse.ArgumentParser) -> None:
    """Adds the options --room and --grade, used for games whose record does not contain them."""
    parser.add_argument(
        "--room",
        type=int,
        default=DEFAULT_ROOM,
        choices=range(NUM_ROOMS),
        help="room of games whose record has none: 0 Bronze ... 4 Throne (default: %(default)s)",
    )
    parser.add_argument(
        "--grade",
        type=int,
        default=DEFAULT_GRADE,
        choices=range(NUM_GRADES),
        metavar=f"0...{NUM_GRADES - 1}",
        help="grade of players whose record has none: 0 Novice 1, 14 Saint 3, 15 Celestial (default: %(default)s)",
    )
