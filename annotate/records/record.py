"""What every reader of records makes of a file: games, as rounds of mjai events with a header."""

from dataclasses import dataclass
from typing import Any, Literal

Rules = Literal["tenhou", "mjsoul"]
Event = dict[str, Any]
"""one mjai event, e.g. {"type": "dahai", "actor": 0, "pai": "5mr", "tsumogiri": False}"""


@dataclass(frozen=True, slots=True)
class Round:
    """Events from start_kyoku to the last hora or ryukyoku; end_kyoku and end_game are left out."""

    events: tuple[Event, ...]

    @property
    def name(self) -> str:
        """For people, e.g. "East 1-0": wind, number of the round, honba."""
        start = self.events[0]
        wind = {"E": "East", "S": "South", "W": "West", "N": "North"}[start["bakaze"]]
        return f"{wind} {start['kyoku']}-{start['honba']}"


@dataclass(frozen=True, slots=True)
class Game:
    """One game of a record, as told by the record; None where it does not tell."""

    id: str
    """the record's own id: field 0 of the annotations"""
    rules: tuple[Rules, ...]
    """the rule sets to replay under, the likeliest first"""
    style: int
    """0 East only, 1 East and South"""
    rounds: tuple[Round, ...]
    room: int | None
    """0 Bronze ... 4 Throne"""
    grades: tuple[int, ...] | None
    """by seat, 0 ... 15"""
    final_scores: tuple[int, ...] | None
    """by seat, in points, after leftover deposits were given away"""
    grading_deltas: tuple[int, ...] | None
    """by seat: the change of the grading points, recorded or from the platform's table"""
    incomplete: str | None = None
    """why the last round or the end of the game is missing, if it is"""
