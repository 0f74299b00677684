"""What every reader of records makes of a file: games, as rounds of mjai events with a header."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from annotate.game.grading import ranks_of
from annotate.vocabulary import Vocabulary

Rules = Literal["tenhou", "mjsoul"]
Event = dict[str, Any]
"""one mjai event, e.g. {"type": "dahai", "actor": 0, "pai": "5mr", "tsumogiri": False}"""


_ALL_TILES = sorted(
    [f"{rank}{suit}" for suit in "mps" for rank in range(1, 10) for _ in range(3 if rank == 5 else 4)]
    + [f"5{suit}r" for suit in "mps"]
    + [name for name in "ESWNPFC" for _ in range(4)]
)


@dataclass(frozen=True, slots=True)
class Offer:
    """What the record says that one seat could do at one moment, as mjai events that leave out who and whose tile.

    {"type": "dahai", "forbidden": [...]} is a discard of any other tile, {"type": "reach", "pai": ...} a riichi with
    that tile, {"type": "chi", "consumed": [...]} and so on a call with these tiles; hora and ryukyoku say nothing more.
    """

    after: int
    """place in Round.events of the event that is answered: the seat's own draw or call, or another's discard or kan"""
    seat: int
    options: tuple[Event, ...]
    """a pass, always possible as the answer to another seat's tile, is not among them"""
    pressed: Event | None = None
    """which of them the player pressed, or {"type": "none"} for a pass; None if the record does not tell. Told for
    answers to another seat's tile, where events may not show it"""


@dataclass(frozen=True, slots=True)
class Round:
    """Events from start_kyoku to the last hora or ryukyoku; end_kyoku and end_game are left out.

    Where a record tells only what several winners were paid together, the last hora has it and the others no deltas.
    Where it tells the scores after the round, the last event has them as `scores`.
    """

    events: tuple[Event, ...]
    offers: tuple[Offer, ...] | None = None
    """what the record says each seat could do, where it says so; nothing is taken from it but `pressed`"""

    wall: tuple[str, ...] | None = None
    """the whole wall, where the record tells it: 136 tiles in the order of the deal (see `places_dealt`), then those to
    be drawn, then the dead wall: counted from its end, the four tiles drawn after kans, then the indicators of dora and
    of hidden dora in turn"""

    @property
    def name(self) -> str:
        """For people, e.g. "East 1-0": wind, number of the round, honba."""
        start = self.events[0]
        wind = {"E": "East", "S": "South", "W": "West", "N": "North"}[start["bakaze"]]
        return f"{wind} {start['kyoku']}-{start['honba']}"


@dataclass(frozen=True, slots=True)
class Game:
    """One game of a record, as told by the record; None where it does not tell."""

    vocabulary: Vocabulary
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


@dataclass(frozen=True, slots=True)
class Unreadable:
    """What stands in a file of games in the place of one that cannot be read; the others can."""

    problem: str
    """with the line"""


def all_readable(games: Iterable[Game | Unreadable]) -> list[Game]:
    """Raises ValueError with the first problem if a game cannot be read."""
    read = []
    for game in games:
        if isinstance(game, Unreadable):
            raise ValueError(game.problem)
        read.append(game)
    return read


def require_gain_of_first(final_scores: Sequence[int], grading_deltas: Sequence[int]) -> None:
    """Raises ValueError if the seat that came first loses grading points, which it does on no platform."""
    first = ranks_of(final_scores).index(0)
    if grading_deltas[first] < 0:
        raise ValueError(
            f"seat {first} is first by the final scores {list(final_scores)}, but loses grading points: "
            f"{list(grading_deltas)}"
        )


def places_dealt(dealer: int, num_seats: int) -> list[list[int]]:
    """By seat: where in the wall the 13 tiles dealt to it lie. The dealer takes first; each takes four tiles three
    times, then one."""
    return [
        [4 * (num_seats * time + turn) + i for time in range(3) for i in range(4)] + [12 * num_seats + turn]
        for turn in ((seat - dealer) % num_seats for seat in range(num_seats))
    ]


def whole_wall(start: Event, rest: Sequence[str]) -> tuple[str, ...]:
    """A round's wall for `Round.wall`, from its start_kyoku and the tiles that were not dealt, in the wall's order.

    Raises:
        ValueError: these are not the tiles of one wall.
    """
    hands = start["tehais"]
    dealt = {
        place: name
        for places, hand in zip(places_dealt(start["oya"], len(hands)), hands, strict=True)
        for place, name in zip(places, hand, strict=True)
    }
    wall = (*(dealt[place] for place in range(len(dealt))), *rest)
    if sorted(wall) != _ALL_TILES:
        raise ValueError("the tiles dealt and those of the wall are not the 136 tiles of the game")
    return wall
