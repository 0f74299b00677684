"""The interface of the agents that play at a table of the arena, and of the requests that they receive.

An agent is given many requests at once, of as many games, and returns an action for each. Its action depends on that
request and on the earlier requests of the same game, never on the other requests of the batch: random numbers are a
function of the seed, the player, the wall, the seat and the number of the request.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple, Protocol

from annotate.annotation import Observation
from annotate.game.engine.table import Turn
from annotate.game.record import Event
from annotate.vocabulary import Vocabulary
from annotate.words import describe_action
from kanachan.inference.choice import Action


class GameKey(NamedTuple):
    """A wall, and one of the seatings in which it is played."""

    wall: int
    seating: int

    def __str__(self) -> str:
        return f"game {self.wall}, seating {self.seating}"


@dataclass(frozen=True, slots=True)
class ActRequest:
    """A turn at which a seat must act, as its agent receives it."""

    game: GameKey
    number: int
    """how many requests the seat has had before in this game"""
    turn: Turn
    observation: Observation
    unlogged: Event | None = None
    """mjai: a closed kan that may be robbed and is not among the engine's events yet"""


class BatchKey(NamedTuple):
    """A key of requests that are best evaluated together."""

    name: Hashable
    size: int
    """the preferred number of requests in a batch; 1: none waits for another"""


UNBATCHED = BatchKey(None, 1)


class Agent(Protocol):
    """A player: chooses an action for each request. Its other methods are those of a player without state."""

    plays_forced: bool = False
    """whether it is also queried where only one action is possible"""

    def group(self, request: ActRequest) -> BatchKey:
        """Returns the key of the requests that `act` is best given together: a game waits a while for a full batch."""
        return UNBATCHED

    def act(self, requests: Sequence[ActRequest]) -> list[Action]:
        """Returns an action for each request. A seat of a game has at most one of the requests. Raises IllegalAction:
        the action is not possible (`illegal`)."""
        ...

    def end(self, game: GameKey, seat: int, events: Sequence[Event]) -> None:
        """Deletes the state of a game; `events` (mjai, all hands open) is its whole log, or empty if it was dropped."""
        return

    def close(self) -> None:
        """Closes the programs that were started."""
        return


class IllegalAction(ValueError):
    """A player has chosen an action that the rules do not allow; the text names the situation."""


def illegal(player: str, request: ActRequest, wanted: str, vocabulary: Vocabulary) -> IllegalAction:
    """Returns the error for an action, `wanted`, that is not possible."""
    observation, turn = request.turn.observation, request.turn
    wind = "East South West".split()[observation.round_wind]
    possible = ", ".join(describe_action(token, vocabulary) for token in turn.options)
    return IllegalAction(
        f"{player}: illegal action in wall {request.game.wall}, seating {request.game.seating}, {wind} "
        f"{observation.oya + 1} honba {observation.honba}, tiles left {turn.left}, seat {turn.seat}: {wanted}; "
        f"possible: {possible}"
    )


def uniform_hash(*parts: int | str) -> float:
    """Returns a pseudo-random number in 0 ... 1, 1 excluded, that is a function of the parts."""
    digest = blake2b(repr(parts).encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / (1 << 53)


@dataclass(frozen=True, slots=True)
class SeededSampler:
    """Draws the random numbers of one player of the arena."""

    seed: int
    player: str
    """a letter, so that two copies of a player act differently"""

    def of(self, request: ActRequest) -> float:
        """Returns a number in 0 ... 1, 1 excluded, for a request."""
        return uniform_hash(self.seed, self.player, request.game.wall, request.turn.seat, request.number)
