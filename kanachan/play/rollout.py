"""Advances many games together, so that agents receive the requests of many games in one batch."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, TypeVar

from annotate.game.record import Event
from annotate.runtime.garbage import no_search_for_cycles
from annotate.runtime.signals import Stopped, StopRequest
from kanachan.play.agent import ActRequest, Agent, BatchKey, GameKey, illegal
from kanachan.play.game import Game

_MOST_MOVES_WAITED = 100  # calls of `advance`; without this limit, a rare batch key could delay a game by thousands

_OF_THE_PROGRAM = (KeyboardInterrupt, SystemExit, GeneratorExit, Stopped, MemoryError)
"""errors that do not come from the engine (its panics are not subclasses of Exception)"""

ResultT = TypeVar("ResultT")


@dataclass(slots=True)
class _RequestQueue:
    """The waiting requests of a batch key, oldest first."""

    size: int
    """preferred batch size"""
    since: int
    """move at which requests were last taken or, if none were, the first request began to wait"""
    requests: list[ActRequest] = field(default_factory=list)

    def num_ready(self, move: int) -> int:
        """Returns how many requests to take: all after a long wait, otherwise as many as fill whole batches."""
        num = len(self.requests)
        return num if move - self.since > _MOST_MOVES_WAITED else num // self.size * self.size

    def take(self, num: int, move: int) -> list[ActRequest]:
        """Removes and returns the oldest requests."""
        taken, self.requests, self.since = self.requests[:num], self.requests[num:], move
        return taken


class BatchedGames(Generic[ResultT]):
    """Games that advance together. A game waits until the batch of its key (`Agent.group`) is full, unless this takes
    too long or no other game can continue.

    Args:
        finish: returns the result of a finished game, given the events of its record.
        on_failure: returns the result of a game that its engine cannot continue, given the game's key and the error;
            the game is dropped, and the others continue. None: the error is raised.
    """

    def __init__(
        self,
        begin: Callable[[GameKey], Game],
        players: Mapping[str, Agent],
        finish: Callable[[Game, list[Event]], ResultT],
        on_failure: Callable[[GameKey, BaseException], ResultT] | None = None,
    ) -> None:
        self._begin = begin
        self._players = players
        self._finish = finish
        self._on_failure = on_failure
        self._games: dict[GameKey, Game] = {}
        self._waiting: dict[tuple[str, BatchKey], _RequestQueue] = {}
        """queues by the player's letter and the batch key; none is empty"""
        self._num_moves = 0
        self._ended: list[tuple[GameKey, ResultT]] = []
        """finished games that have not been returned yet"""

    def __len__(self) -> int:
        """Returns the number of games in progress."""
        return len(self._games)

    def begin(self, key: GameKey) -> None:
        """Starts a game."""
        self._games[key] = self._begin(key)

    def play(self, keys: Iterator[GameKey], together: int, stop: StopRequest) -> Generator[tuple[GameKey, ResultT]]:
        """Plays games, `together` at a time, and yields keys and results as they end, until a stop is requested. Raises
        the errors of `advance` (IllegalAction, ValueError) after the results of the games that ended before."""
        has_more = True
        while (has_more or len(self)) and stop.received is None:
            if has_more:
                for key in islice(keys, together - len(self)):
                    self.begin(key)
                has_more = len(self) == together
            try:
                ended = self.advance()
            except (ValueError, OSError):  # from a player
                yield from self._ended
                raise
            yield from ended

    @no_search_for_cycles()
    def advance(self) -> list[tuple[GameKey, ResultT]]:
        """Collects the requests of all games that are not waiting, and plays the actions of the batches that are ready.
        Returns the keys and results of the games that have ended. Raises IllegalAction if a player has chosen an action
        that is not possible, and ValueError if a player's program fails in another way; the games cannot be continued
        afterwards."""
        self._num_moves += 1
        for game in [game for game in self._games.values() if not game.waits]:
            requests: list[ActRequest] = []
            with self._dropping(game):
                requests = game.requests(self._players)
            for request in requests:
                letter = game.setup.seats[request.turn.seat]
                group = self._players[letter].group(request)
                queue = self._waiting.setdefault((letter, group), _RequestQueue(group.size, self._num_moves))
                queue.requests.append(request)
        for letter, requests in self._ready().items():
            for request, action in zip(requests, self._players[letter].act(requests), strict=True):
                game = self._games[request.game]
                if action.token not in request.turn.options:
                    setup = game.setup
                    raise illegal(setup.series.letters[letter], request, f"action {action.token}", setup.vocabulary)
                with self._dropping(game):
                    game.answer(request, action)
        self._end([game for game in self._games.values() if game.table.done])
        ended, self._ended = self._ended, []
        return ended

    @contextmanager
    def _dropping(self, game: Game) -> Iterator[None]:
        """Removes a game that cannot continue. None of its requests waits: the engine works on a game only then."""
        try:
            yield
        except BaseException as error:
            if self._on_failure is None or isinstance(error, _OF_THE_PROGRAM):
                raise
            del self._games[game.key]
            for seat, letter in enumerate(game.setup.seats):
                self._players[letter].end(game.key, seat, [])
            self._ended.append((game.key, self._on_failure(game.key, error)))

    def _ready(self) -> dict[str, list[ActRequest]]:
        """Returns, by the player's letter, the requests of full batches and the requests that have waited for long; if
        there are none, the requests of the fullest queue."""
        num_ready = {key: queue.num_ready(self._num_moves) for key, queue in self._waiting.items()}
        if self._waiting and not any(num_ready.values()):
            fullest = max(self._waiting, key=lambda key: len(self._waiting[key].requests) / self._waiting[key].size)
            num_ready[fullest] = len(self._waiting[fullest].requests)
        ready: dict[str, list[ActRequest]] = {}
        for (letter, group), num in num_ready.items():
            if num:
                ready.setdefault(letter, []).extend(self._waiting[letter, group].take(num, self._num_moves))
        self._waiting = {key: queue for key, queue in self._waiting.items() if queue.requests}
        return ready

    def _end(self, games: Sequence[Game]) -> None:
        logs = []
        for game in games:
            events: list[Event] | None = None
            with self._dropping(game):
                events = game.recorded_events()
            if events is None:
                continue
            del self._games[game.key]
            self._ended.append((game.key, self._finish(game, events)))  # before `Agent.end`, since it may fail
            logs.append((game, events))
        for game, events in logs:
            for seat, letter in enumerate(game.setup.seats):
                self._players[letter].end(game.key, seat, events)
