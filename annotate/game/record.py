"""Games as all readers of records return them: rounds of mjai events with a header."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

from annotate.game.grading import ranks_of
from annotate.game.origin import Origin
from annotate.game.tiles import MJAI_NAMES, WIND_NAMES, WINDS, unseen_tiles
from annotate.vocabulary import Vocabulary

Rules = Literal["tenhou", "mjsoul"]
Event = dict[str, Any]
"""one mjai event, e.g. {"type": "dahai", "actor": 0, "pai": "5mr", "tsumogiri": False}"""

_TILES_COME_AND_GO = ("start_kyoku", "tsumo", "dahai")
CLAIMS = ("chi", "pon", "daiminkan")
"""events in which a seat calls another seat's discard"""
ENDS = ("hora", "ryukyoku")
"""events that end a round"""

STICK = 1000
"""points of a riichi stick"""

START_SCORE = {4: 25_000, 3: 35_000}
"""by number of seats: the usual score at the start of a game"""
ENOUGH = {4: 30_000, 3: 40_000}
"""by number of seats: score that a seat needs to end a game after its usual last round, if start scores are usual"""

LARGEST_SCORE = 10_000_000
"""upper limit of scores, far above any real score; sums stay within 32 bits"""


@dataclass(frozen=True, slots=True)
class Round:
    """Corrected events from start_kyoku to the last hora or ryukyoku, without end_kyoku and end_game.

    If a record contains only the total payments of several winners, the last hora has them as `deltas` and the other
    hora events have no deltas. If it contains the scores after the round, the last event has them as `scores`.
    """

    events: tuple[Event, ...]
    pressed: Mapping[tuple[int, int], Event] = field(default_factory=dict)
    """pressed reactions to another seat's tile, if recorded, by (index in `events` of the discard or kan, seat): the
    event of the pressed call, which another seat's claim may have prevented, or an event of type "none" for a pass"""

    wall: tuple[str, ...] | None = None
    """the whole wall, if recorded: the dealt tiles in the order of the deal (see `places_dealt`), the tiles to be
    drawn, then the dead wall. From its end backwards, the dead wall has the tiles drawn after kans, then alternating
    indicators of dora and hidden dora"""

    automatic: frozenset[tuple[int, int]] = frozenset()
    """choices that the server made for a player who was not connected or let the time run out, as (index in `events` of
    the event that the seat had to react to, seat). They are part of the round, but not decisions. Empty if the format
    does not record them"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", _corrected(self.events))

    @property
    def name(self) -> str:
        """Wind, number of the round and honba for people, e.g. "East 1-0"."""
        start = self.events[0]
        return f"{WIND_NAMES[WINDS[start['bakaze']]]} {start['kyoku']}-{start['honba']}"


def _corrected(events: Sequence[Event]) -> tuple[Event, ...]:
    """Returns the mjai events of a round of any format, from start_kyoku, with these corrections:

    - The dealer's first discard is from the hand, as none of the 14 dealt tiles is the drawn one. Records mark it
      differently, some as drawn although it is another tile.
    - Events that have only the scores after payments also have the payments.
    """
    found = list(events)
    place = 3 if len(found) > 2 and found[2]["type"] == "reach" else 2
    if len(found) > place and found[place]["type"] == "dahai" and found[1]["type"] == "tsumo":
        found[place] = {**found[place], "tsumogiri": False}
    if any(event["type"] in ENDS and "deltas" not in event and "scores" in event for event in found[-3:]):
        _pay(found)
    return tuple(found)


def _pay(events: list[Event]) -> None:
    scores = list(events[0]["scores"])
    for i, event in enumerate(events):
        if event["type"] == "reach_accepted":
            scores[event["actor"]] -= STICK
        elif event["type"] in ENDS:
            if "deltas" not in event and "scores" in event:
                deltas = [after - before for after, before in zip(event["scores"], scores, strict=True)]
                events[i] = event = {**event, "deltas": deltas}
            scores = [score + paid for score, paid in zip(scores, event.get("deltas", [0] * len(scores)), strict=True)]


class LostRound(NamedTuple):
    """A round that a reader left out."""

    place: int
    """number of rounds read before it"""
    problem: str
    """the fault and its place in the file"""
    name: str | None = None
    """as `Round.name`, if it is known"""

    def __str__(self) -> str:
        return self.problem if self.name is None else f"{self.name}: {self.problem}"


@dataclass(frozen=True, slots=True)
class Game:
    """One game of a record; fields that the record lacks are None."""

    vocabulary: Vocabulary
    id: str
    """id in the record; field 0 of the annotations"""
    rules: tuple[Rules, ...]
    """the rule sets to replay under, the most likely first"""
    style: int
    """0 East only, 1 East and South"""
    rounds: tuple[Round, ...]
    """the rounds that can be read"""
    room: int | None
    """0 Bronze ... 4 Throne"""
    grades: tuple[int, ...] | None
    """by seat, 0 ... 15"""
    final_scores: tuple[int, ...] | None
    """by seat, in points, including leftover deposits"""
    grading_deltas: tuple[int, ...] | None
    """by seat: the change of the grading points, recorded or from the platform's table"""
    incomplete: str | None = None
    """reason why the last round or the end of the game is missing; None if nothing is missing"""
    origin: Origin = field(default=Origin(), compare=False)
    lost: tuple[LostRound, ...] = ()
    notes: tuple[str, ...] = ()
    """notes for the report on skipped content"""

    @property
    def play(self) -> str:
        """Hash of all tiles dealt, drawn and discarded; equal for copies under other names or in other formats."""
        events = [event for recorded in self.rounds for event in recorded.events]
        # only some formats have the hands in the order of the deal
        tiles = [
            list(map(sorted, event["tehais"])) if "tehais" in event else event["pai"]
            for event in events
            if event["type"] in _TILES_COME_AND_GO
        ]
        return blake2b(repr(tiles).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A placeholder for an unreadable game among the games of a file."""

    problem: str
    """message that names the line"""


def start_kyoku(
    wind: int, dealer: int, honba: int, deposits: int, indicator: str, scores: list[int], hands: list[list[str]]
) -> Event:
    """Returns the first event of a round; `wind` is 0 East ... 3 North, lists are by seat."""
    return {
        "type": "start_kyoku",
        "bakaze": "ESWN"[wind],
        "dora_marker": indicator,
        "kyoku": dealer + 1,
        "honba": honba,
        "kyotaku": deposits,
        "oya": dealer,
        "scores": scores,
        "tehais": hands,
    }


def require_a_round(rounds: Sequence[Round], lost: Sequence[LostRound]) -> None:
    """Raises ValueError with the first problem if no round of a game could be read."""
    if lost and not rounds:
        raise ValueError(lost[0].problem)


def all_readable(games: Iterable[Game | Unreadable]) -> list[Game]:
    """Returns the games; raises ValueError with the first problem if one cannot be read."""
    read = []
    for game in games:
        if isinstance(game, Unreadable):
            raise ValueError(game.problem)
        read.append(game)
    return read


def require_gain_of_first(final_scores: Sequence[int], grading_deltas: Sequence[int]) -> None:
    """Raises ValueError if the first-placed seat loses grading points, which happens on no platform."""
    first = ranks_of(final_scores).index(0)
    if grading_deltas[first] < 0:
        raise ValueError(
            f"seat {first} is first by the final scores {list(final_scores)}, but loses grading points: "
            f"{list(grading_deltas)}"
        )


def places_dealt(dealer: int, num_seats: int) -> list[list[int]]:
    """Returns by seat the places in the wall of the 13 tiles dealt to it. The dealer takes first; each seat takes four
    tiles three times, then one."""
    return [
        [4 * (num_seats * time + turn) + i for time in range(3) for i in range(4)] + [12 * num_seats + turn]
        for turn in ((seat - dealer) % num_seats for seat in range(num_seats))
    ]


def seat_dealt_otherwise(wall: Sequence[str], start: Event) -> int | None:
    """Returns the first seat to which the wall deals another hand than start_kyoku shows, None if there is none."""
    dealt = places_dealt(start["oya"], len(start["tehais"]))
    for seat, (places, hand) in enumerate(zip(dealt, start["tehais"], strict=True)):
        if sorted(wall[place] for place in places) != sorted(hand):
            return seat
    return None


def whole_wall(start: Event, rest: Sequence[str], vocabulary: Vocabulary) -> tuple[str, ...]:
    """Returns a round's wall for `Round.wall`, from its start_kyoku and the undealt tiles in the wall's order. Raises
    ValueError if these are not the tiles of one wall."""
    hands = start["tehais"]
    dealt = {
        place: name
        for places, hand in zip(places_dealt(start["oya"], len(hands)), hands, strict=True)
        for place, name in zip(places, hand, strict=True)
    }
    wall = (*(dealt[place] for place in range(len(dealt))), *rest)
    if sorted(wall) != sorted(
        name for name, ids in zip(MJAI_NAMES, unseen_tiles(vocabulary), strict=True) for _ in ids
    ):
        number = vocabulary.num_tile_ids
        raise ValueError(f"the dealt tiles and the wall together are not the {number} tiles of the game")
    return wall
