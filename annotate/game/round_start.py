"""The state of a game at the start of a round, as recorded or as the previous round determines it."""

from collections.abc import Sequence
from typing import NamedTuple

from annotate.game.record import STICK, Event
from annotate.game.results import dealer_stays, leftover_deposits, scores_after
from annotate.game.tiles import WIND_NAMES, WINDS


class Start(NamedTuple):
    """The state of a game at the start of a round."""

    number: int
    """0 East 1, 1 East 2 ... 4 South 1 ..."""
    honba: int
    deposits: int
    scores: tuple[int, ...]
    """by seat, in points"""

    @property
    def place(self) -> tuple[int, int]:
        """The position in the game, which grows from round to round."""
        return self.number, self.honba

    @property
    def points(self) -> int:
        """The sum of all points on the table, which no round changes."""
        return sum(self.scores) + STICK * self.deposits

    def in_words(self) -> dict[str, str]:
        wind, kyoku = divmod(self.number, len(self.scores))
        words = {"round": f"{WIND_NAMES[wind % 4]} {kyoku + 1}", "honba": str(self.honba)}
        return words | {"deposits": str(self.deposits), "scores": str(list(self.scores))}


def start_of(events: Sequence[Event]) -> Start:
    """Returns the start of a recorded round, whose first event is start_kyoku."""
    start = events[0]
    number = WINDS[start["bakaze"]] * len(start["scores"]) + start["kyoku"] - 1
    return Start(number, start["honba"], start["kyotaku"], tuple(start["scores"]))


def start_after(start: Start, events: Sequence[Event]) -> Start:
    """Computes the start of the next round if the round `events` started from `start` instead of its start_kyoku."""
    first, last = events[0], events[-1]
    is_won = last["type"] == "hora"
    stays = dealer_stays(events)
    return Start(
        number=start.number + (not stays),
        honba=start.honba + 1 if stays or not is_won else 0,
        deposits=0 if is_won else start.deposits + leftover_deposits(events) - first["kyotaku"],
        scores=scores_after(start.scores, events),
    )
