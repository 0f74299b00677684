"""The platforms' tables of grading points, and Tenhou's rooms and dan on Mahjong Soul's scale.

Pure functions of small integers. `style` is 0 for East only and 1 for East and South; `rank` is 0 for the first place;
`grade` is Mahjong Soul's, 0 (初心1) ... 15 (魂天); `dan` is the attribute of Tenhou's records, 0 (新人) ... 20 (天鳳).
Tables are indexed by the number of seats.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

CELESTIAL = 15
"""魂天: its points are on a separate scale that no table here covers"""

TenhouTable = Literal["ippan", "joukyuu", "tokujou", "houou"]
TENHOU_TABLES: tuple[TenhouTable, ...] = ("ippan", "joukyuu", "tokujou", "houou")
FIRST_DAN = 10
TENHOUI = 20
"""天鳳: the highest dan, which neither gains nor loses points"""

TENHOU_GRADES = (0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 14, 15)
"""Mahjong Soul's grade for each of Tenhou's dans"""
TENHOU_ROOMS: dict[TenhouTable, int] = {"ippan": 0, "joukyuu": 1, "tokujou": 2, "houou": 4}
"""Mahjong Soul's room, 0 Bronze ... 4 Throne, for Tenhou's tables"""


@dataclass(frozen=True)
class MjsoulPoints:
    """Mahjong Soul's points for one number of seats."""

    start: int
    """score at which no points are gained or lost"""
    uma: tuple[int, ...]
    bonus: tuple[tuple[tuple[int, ...], ...], ...]
    """[style][room][rank]; missing ranks get no bonus; the bonus of a room without ranks is not known"""
    penalty: tuple[tuple[int, ...], ...]
    """[style][grade] for the last place, below 魂天"""


MJSOUL = {
    4: MjsoulPoints(
        start=25000,
        uma=(15, 5, -5, -15),
        bonus=(
            ((10, 5), (20, 10), (40, 20), (55, 30), (60, 30)),
            ((20, 10), (40, 20), (80, 40), (110, 55), (120, 60)),
        ),
        penalty=(
            (0, 0, 0, 10, 20, 30, 40, 50, 60, 80, 90, 100, 110, 120, 130),
            (0, 0, 0, 20, 40, 60, 80, 100, 120, 165, 180, 195, 210, 225, 240),
        ),
    ),
    3: MjsoulPoints(
        start=35000,
        uma=(15, 0, -15),
        bonus=(((), (), (55,), (75,), (120,)), ((), (), (105,), (160,), (240,))),
        penalty=(
            (0, 0, 0, 10, 20, 30, 40, 50, 60, 80, 95, 110, 125, 140, 160),
            (0, 0, 0, 20, 40, 60, 80, 100, 120, 165, 190, 215, 240, 265, 290),
        ),
    ),
}

TENHOU_BONUS: dict[int, tuple[dict[TenhouTable, tuple[int, ...]], dict[TenhouTable, tuple[int, ...]]]] = {
    4: (
        {"ippan": (20, 10, 0), "joukyuu": (40, 10, 0), "tokujou": (50, 20, 0), "houou": (60, 30, 0)},
        {"ippan": (30, 15, 0), "joukyuu": (60, 15, 0), "tokujou": (75, 30, 0), "houou": (90, 45, 0)},
    ),
    3: (
        {"ippan": (30, 0), "joukyuu": (50, 0), "tokujou": (70, 0), "houou": (90, 0)},
        {"ippan": (45, 0), "joukyuu": (75, 0), "tokujou": (105, 0), "houou": (135, 0)},
    ),
}
"""by number of seats: [style][table][rank], for all but the last place"""
TENHOU_PENALTY_STEP = (10, 15)
"""by style: points that the last place loses for each dan above 3級"""


def ranks_of(final_scores: Sequence[int]) -> tuple[int, ...]:
    """Returns the rank of each seat, 0 for the highest score; if scores are equal, the lower seat ranks first."""
    order = sorted(range(len(final_scores)), key=lambda seat: (-final_scores[seat], seat))
    return tuple(order.index(seat) for seat in range(len(final_scores)))


def mjsoul_delta(rank: int, score: int, room: int, grade: int, style: int, num_seats: int) -> int:
    """Computes the change of Mahjong Soul's grading points from a final score; `room` is 0 Bronze ... 4 Throne.

    Returns 0 for 魂天, whose points are on another scale (a number in the record takes precedence), and for rooms whose
    bonus is not known (`mjsoul_rooms`).
    """
    table = MJSOUL[num_seats]
    bonus = table.bonus[style][room]
    if grade == CELESTIAL or not bonus:
        return 0
    # only the score's part has a fraction, so rounding it up rounds the sum up
    rounded_up = -((table.start - score) // 1000)
    delta = rounded_up + table.uma[rank] + (bonus[rank] if rank < len(bonus) else 0)
    return delta - table.penalty[style][grade] if rank == num_seats - 1 else delta


def mjsoul_rooms(style: int, num_seats: int) -> list[int]:
    """Returns the rooms whose points are known."""
    return [room for room, bonus in enumerate(MJSOUL[num_seats].bonus[style]) if bonus]


def require_mjsoul_points(room: int, style: int, num_seats: int) -> None:
    """Raises ValueError, which names the possible rooms, unless the points of a room are known."""
    known = mjsoul_rooms(style, num_seats)
    if room not in known:
        raise ValueError(
            f"room {room}: its grading points with {num_seats} players are not known: choose a room of "
            f"{', '.join(map(str, known))}"
        )


def mjsoul_deltas(scores: Sequence[int], room: int, grades: Sequence[int], style: int) -> tuple[int, ...]:
    """Computes the change of each seat's Mahjong Soul grading points after a game that ended with `scores`."""
    places = zip(ranks_of(scores), scores, grades, strict=True)
    return tuple(mjsoul_delta(rank, score, room, grade, style, len(scores)) for rank, score, grade in places)


def tenhou_delta(rank: int, dan: int, table: TenhouTable, style: int, num_seats: int) -> int:
    """Computes the change of Tenhou's points (pt) at a table; 0 for 天鳳."""
    if dan == TENHOUI:
        return 0
    if rank < num_seats - 1:
        return TENHOU_BONUS[num_seats][style][table][rank]
    return -TENHOU_PENALTY_STEP[style] * max(dan - (FIRST_DAN - 3), 0)


def tenhou_deltas(scores: Sequence[int], dans: Sequence[int], table: TenhouTable, style: int) -> tuple[int, ...]:
    """Computes the change of each seat's points (pt) after a game at `table` that ended with `scores`."""
    places = zip(ranks_of(scores), dans, strict=True)
    return tuple(tenhou_delta(rank, dan, table, style, len(scores)) for rank, dan in places)
