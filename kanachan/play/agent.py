"""The interface of agents that play at a table of the arena, and the requests that they receive.

An agent receives many requests of different games at once, and returns an action for each. An action depends on its
request and on earlier requests of the same game, never on the other requests of the batch: random numbers are a
function of the seed, the player, the wall, the seat and the number of the request.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple, Protocol

from annotate.annotation import Observation
from annotate.game.engine.table import Turn
from annotate.game.record import Event
from annotate.game.tiles import WIND_NAMES
from annotate.vocabulary import Vocabulary
from annotate.words import describe_action
from kanachan.inference.choice import Action


class GameKey(NamedTuple):
    """A wall, and one of its seatings."""

    wall: int
    seating: int

    def __str__(self) -> str:
        return f"game {self.wall}, seating {self.seating}"


@dataclass(frozen=True, slots=True)
class ActRequest:
    """A turn at which a seat must act, as its agent receives it."""

    game: GameKey
    number: int
    """number of earlier requests for this seat in this game"""
    turn: Turn
    observation: Observation
    unlogged: Event | None = None
    """a closed kan (mjai) that can be robbed and is not among the engine's events yet"""


class BatchKey(NamedTuple):
    """A key shared by requests that should be evaluated together."""

    name: Hashable
    size: int
    """preferred number of requests in a batch; 1: no request waits for others"""


UNBATCHED = BatchKey(None, 1)


class Agent(Protocol):
    """A player, which chooses an action for each request. The default methods fit a player without state."""

    plays_forced: bool = False
    """whether the agent is also queried if only one action is possible"""

    def group(self, request: ActRequest) -> BatchKey:
        """Returns the key of the requests that `act` should receive together; a game waits a while for a full batch."""
        return UNBATCHED

    def act(self, requests: Sequence[ActRequest]) -> list[Action]:
        """Returns an action for each request. At most one of the requests is for the same seat of a game. Raises
        IllegalAction if an action is not possible (`illegal`)."""
        ...

    def end(self, game: GameKey, seat: int, events: Sequence[Event]) -> None:
        """Deletes the state of a game. `events`: its whole log (mjai, all hands open), or empty if it was dropped."""
        return

    def close(self) -> None:
        """Closes the programs that were started."""
        return


class IllegalAction(ValueError):
    """A player has chosen an action that the rules do not allow; the message describes the situation."""


def illegal(player: str, request: ActRequest, wanted: str, vocabulary: Vocabulary) -> IllegalAction:
    """Returns the error for the action `wanted`, which is not possible."""
    observation, turn = request.turn.observation, request.turn
    wind = WIND_NAMES[observation.round_wind]
    possible = ", ".join(describe_action(token, vocabulary) for token in turn.options)
    return IllegalAction(
        f"{player}: illegal action in wall {request.game.wall}, seating {request.game.seating}, {wind} "
        f"{observation.oya + 1} honba {observation.honba}, tiles left {turn.left}, seat {turn.seat}: {wanted}; "
        f"possible: {possible}"
    )


def uniform_hash(*parts: int | str) -> float:
    """Returns a pseudo-random number in [0, 1) that is a function of the parts."""
    digest = blake2b(repr(parts).encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / (1 << 53)


@dataclass(frozen=True, slots=True)
class SeededSampler:
    """Draws the random numbers of one player of the arena."""

    seed: int
    player: str
    """the player's letter, so that two copies of a player act differently"""

    def of(self, request: ActRequest) -> float:
        """Returns the number in [0, 1) for a request."""
        return uniform_hash(self.seed, self.player, request.game.wall, request.turn.seat, request.number)
