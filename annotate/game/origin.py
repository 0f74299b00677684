"""Players, time and platform of a game according to its record: for people, never an input of a network."""

import re
import unicodedata
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Platform = Literal["tenhou", "mjsoul"]

TENHOU_LOG = re.compile(r"(?<!\d)\d{10}gm-[0-9a-f]{4}-\w+-[0-9a-zA-Z]{8}(?![0-9a-zA-Z])")
"""Tenhou's name of a game: year, month, day and hour of its start, lobby and rules"""
MJSOUL_LOG = re.compile(r"(?<!\d)\d{6}-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f])")
"""Mahjong Soul's name of a game: year, month and day of its start, then a random number"""
TENHOU_DANS = ("新人", *(f"{n}級" for n in range(9, 0, -1)), "初段", *(f"{n}段" for n in "二三四五六七八九十"), "天鳳")
MJSOUL_GRADES = (
    *(f"{name}{level}" for name in ("初心", "雀士", "雀傑", "雀豪", "雀聖") for level in (1, 2, 3)),
    "魂天",
)
_GRADES: dict[Platform, Sequence[str]] = {"tenhou": TENHOU_DANS, "mjsoul": MJSOUL_GRADES}


@dataclass(frozen=True, slots=True)
class Player:
    """The player of a seat; fields that the record lacks are None."""

    name: str | None = None
    grade: int | None = None
    """Tenhou's dan 0 ... 20, or Mahjong Soul's grade 0 ... 15"""
    rate: float | None = None
    """Tenhou's rating"""
    account: int | None = None
    """player's account number on Mahjong Soul"""


@dataclass(frozen=True, slots=True)
class Origin:
    """The platform of a game, its name there and its players; fields that the record lacks are None or ()."""

    platform: Platform | None = None
    log: str | None = None
    """the platform's name of the game, as in its replay addresses"""
    rules: str | None = None
    """the platform's words for table and rules, e.g. 鳳南喰赤"""
    players: tuple[Player, ...] = ()
    """by seat"""

    @property
    def date(self) -> str | None:
        """The day of the start by the platform's clock, such as 2020-12-31."""
        if self.log is None:
            return None
        digits = self.log[:8] if self.platform == "tenhou" else f"20{self.log[:6]}"
        return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"

    @property
    def has_names(self) -> bool:
        return any(player.name is not None for player in self.players)

    def seats_of(self, names: Container[str]) -> tuple[int, ...]:
        """Returns the seats of the players with one of these names."""
        return tuple(seat for seat, player in enumerate(self.players) if player.name in names)

    def grade_name(self, seat: int) -> str | None:
        """Returns the platform's word for the grade of a seat."""
        grade = self.players[seat].grade if self.players else None
        return None if grade is None or self.platform is None else _GRADES[self.platform][grade]

    def link(self, seat: int | None = None, round_index: int | None = None) -> str | None:
        """Returns the address of the game's replay on its platform; None if the record does not name the game. Tenhou's
        addresses can also state the viewing seat and the first round to show, counted from 0."""
        if self.log is None:
            return None
        if self.platform == "mjsoul":
            return f"https://game.mahjongsoul.com/?paipu={self.log}"
        parts = [f"log={self.log}"]
        parts += [] if seat is None else [f"tw={seat}"]
        parts += [] if round_index is None else [f"ts={round_index}"]
        return f"https://tenhou.net/0/?{'&'.join(parts)}"


def log_in(text: str) -> tuple[Platform, str] | None:
    """Returns the platform and the name of the game in a text, such as a file's name or an address."""
    if found := TENHOU_LOG.search(text):
        return "tenhou", found[0]
    if found := MJSOUL_LOG.search(text):
        return "mjsoul", found[0]
    return None


def players_of(
    names: Any,
    num_seats: int,
    grades: Sequence[int | None] | None = None,
    rates: Any = None,
    accounts: Sequence[int | None] | None = None,
) -> tuple[Player, ...]:
    """Returns the players of a record, whose fields may be missing or of any type; () if it has nothing about them."""
    columns = zip(*(_column(values, num_seats) for values in (names, grades, rates, accounts)), strict=True)
    players = tuple(Player(_name(name), grade, _rate(rate), account) for name, grade, rate, account in columns)
    return () if all(player == Player() for player in players) else players


def _column(values: Any, num_seats: int) -> Sequence[Any]:
    is_column = isinstance(values, list | tuple) and len(values) == num_seats
    return values if is_column else (None,) * num_seats


def _name(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    return printable(value).strip() or None


def printable(text: str, instead: str = "\ufffd") -> str:
    """Replaces characters that cannot be printed."""
    return "".join(character if _is_printable(character) else instead for character in text)


def _is_printable(character: str) -> bool:
    # str.isprintable is false for all spaces but one, and for the joiner of emoji
    return character.isprintable() or character == "\u200d" or unicodedata.category(character) == "Zs"


def _rate(value: Any) -> float | None:
    try:
        rate = float(value)
    except (TypeError, ValueError):
        return None
    return rate if abs(rate) < 1e6 else None
