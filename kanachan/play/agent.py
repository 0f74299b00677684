"""Whoever can sit at a table of the arena: one contract, and the names by which a command line chooses.

An agent is given many requests at once, of as many games, and returns an action for each. Its action depends on that
request and on what the agent has seen of its game, never on the others that it was given: random numbers are a function
of the seed, the player, the wall, the seat and the number of the request.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple, Protocol

from annotate.game.engine import Turn
from annotate.game.record import Event
from annotate.observation import Observation
from annotate.vocabulary import Vocabulary
from annotate.words import describe_action
from kanachan.inference.choice import Action


class GameKey(NamedTuple):
    """A game of the arena."""

    wall: int
    seating: int


@dataclass(frozen=True, slots=True)
class ActRequest:
    """A moment at which a seat must act, as its agent is given it."""

    game: GameKey
    number: int
    """how many requests the seat had before in this game"""
    turn: Turn
    observation: Observation
    unlogged: Event | None = None
    """mjai: a closed kan that may be robbed, of which the engine's events do not tell yet"""


class BatchKey(NamedTuple):
    """Names requests that are best answered together."""

    name: Hashable
    size: int
    """how many at a time; 1: none waits for another"""


UNBATCHED = BatchKey(None, 1)


class Agent(Protocol):
    """See the module's description."""

    plays_forced: bool
    """whether it wants to be asked where only one action is possible"""

    def group(self, request: ActRequest) -> BatchKey:
        """Returns with which others this request is best given to `act`: a game waits a while for so many."""
        ...

    def act(self, requests: Sequence[ActRequest]) -> list[Action]:
        """Returns an action for each request. At most one request is of the same seat of the same game.

        Raises:
            IllegalAction: what it wants to do is impossible (`illegal`).
        """
        ...

    def end(self, game: GameKey, seat: int, events: Sequence[Event]) -> None:
        """Forgets a game, of which `events` (mjai, all hands open) is the whole log."""
        ...

    def close(self) -> None:
        """Ends what was started."""
        ...


class IllegalAction(ValueError):
    """A player wants what the rules do not allow; the text names the situation."""


def illegal(player: str, request: ActRequest, wanted: str, vocabulary: Vocabulary) -> IllegalAction:
    """The error that a player wants what is impossible."""
    observation, turn = request.turn.observation, request.turn
    wind = "East South West".split()[observation.round_wind]
    possible = ", ".join(describe_action(token, vocabulary) for token in turn.options)
    return IllegalAction(
        f"{player}: illegal action in wall {request.game.wall}, seating {request.game.seating}, {wind} "
        f"{observation.oya + 1} honba {observation.honba}, tiles left {turn.left}, seat {turn.seat}: {wanted}; "
        f"possible: {possible}"
    )


def uniform_hash(*parts: int | str) -> float:
    """A number in 0 ... 1, 1 excluded, that looks random and is the same for the same parts."""
    digest = blake2b(repr(parts).encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / (1 << 53)


@dataclass(frozen=True, slots=True)
class SeededSampler:
    """The lots that one player of the arena draws."""

    seed: int
    player: str
    """so that two players who are the same but for this play differently"""

    def of(self, request: ActRequest) -> float:
        return uniform_hash(self.seed, self.player, request.game.wall, request.turn.seat, request.number)
