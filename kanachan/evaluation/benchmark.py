"""The games of the benchmark: their ids, one file per split, and the table and date in the ids of Tenhou."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from annotate.records.tenhou.xml_reader import JOUKYUU, SOUTH, THREE_PLAYERS, TOKUJOU
from kanachan.config import SPLITS

_TENHOU_ID = re.compile(r"(\d{4})(\d\d)(\d\d)\d\dgm-([0-9a-f]{4})-\w+-[0-9a-zA-Z]{8}")
_FAST = 0x40
_ROOMS = {0: "Ippan", JOUKYUU: "Joukyuu", TOKUJOU: "Tokujou", JOUKYUU | TOKUJOU: "Houou"}


class Table(NamedTuple):
    """Games of one kind and day."""

    table: str
    """such as "Tenhou Houou, four players, south"; "unknown" for ids without such parts"""
    date: str | None
    """YYYY-MM-DD"""
    games: int


def games_in(folder: Path) -> dict[str, list[str]]:
    """Reads the ids of the games of each split from `train.txt`, `validation.txt` and `test.txt`, one id per line.
    Raises OSError if a file is missing."""
    return {split: (folder / f"{split}.txt").read_text(encoding="utf-8").splitlines() for split in SPLITS}


def tables_of(games: Sequence[str]) -> list[Table]:
    """Counts games by the table and date in Tenhou's ids, in the order of the dates."""
    counts = Counter(_table_and_date(game) for game in games)
    return [
        Table(table, date, count) for (table, date), count in sorted(counts.items(), key=lambda x: (x[0][1] or "", x))
    ]


def _table_and_date(game: str) -> tuple[str, str | None]:
    match = _TENHOU_ID.fullmatch(game)
    if match is None:
        return "unknown", None
    year, month, day, bits = match.groups()
    kind = int(bits, 16)
    parts = [
        f"Tenhou {_ROOMS[kind & (JOUKYUU | TOKUJOU)]}",
        "three players" if kind & THREE_PLAYERS else "four players",
        "south" if kind & SOUTH else "east",
        *(["fast"] if kind & _FAST else []),
    ]
    return ", ".join(parts), f"{year}-{month}-{day}"
