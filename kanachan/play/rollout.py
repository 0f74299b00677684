"""Games of the arena that advance together, and the result of each.

A wall is played once in each of its seatings, so that both players get the same tiles. The hands and draws of a seat
are the same in all seatings up to the first choice that differs; later rounds have the same walls too.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from annotate.game.engine import Table
from annotate.game.features import ObservationEncoder
from annotate.game.grading import mjsoul_deltas, ranks_of
from annotate.game.record import Event
from annotate.game.record_writer import SUFFIX, recorded_events, rounds_of, write_record
from annotate.game.settings import table_seed
from kanachan.play.agent import ActRequest, Agent, BatchKey, GameKey, illegal
from kanachan.play.match import PLAYERS, GameResult, Match, players_by_seat

_CALLS = ("chi", "pon", "daiminkan")
_MOST_MOVES_WAITED = 100  # calls of `advance`: a rare key would delay a game by thousands


class Game:
    """A game in progress."""

    def __init__(self, match: Match, key: GameKey) -> None:
        vocabulary = match.vocabulary
        self.match = match
        self.key = key
        self.players = players_by_seat(match.format, key)
        self.grades = tuple(match.grades[PLAYERS.index(player)] for player in self.players)
        self.table = Table.of_game(match.rules, match.style, table_seed(match.seed, key.wall), vocabulary)
        self._encoder = ObservationEncoder(vocabulary, match.room, match.style, self.grades)
        self._num_requests = [0] * vocabulary.num_seats
        self._decisions = [0] * vocabulary.num_seats
        self._tokens: dict[int, int] = {}
        self._awaited: set[int] = set()

    @property
    def waits(self) -> bool:
        """Whether an action is missing that `requests` has requested."""
        return bool(self._awaited)

    def requests(self, players: Mapping[str, Agent]) -> list[ActRequest]:
        """Returns the requests for the next actions, for which the game then waits; none when the game has ended.
        Plays turns with only one option unless an agent `plays_forced`."""
        while not self.table.done:
            queried = [
                turn
                for turn in self.table.turns
                if len(turn.options) > 1 or players[self.players[turn.seat]].plays_forced
            ]
            if queried:
                break
            self.step()
        else:
            return []
        self._awaited = {turn.seat for turn in queried}
        requests = []
        for turn in queried:
            self._decisions[turn.seat] += len(turn.options) > 1
            request = ActRequest(
                game=self.key,
                number=self._num_requests[turn.seat],
                turn=turn,
                observation=self._encoder.observation(turn, self.table.progression),
                unlogged=self.table.unlogged_ankan,
            )
            requests.append(request)
            self._num_requests[turn.seat] += 1
        return requests

    def answer(self, seat: int, token: int) -> None:
        """Sets the action that was requested of a seat; plays all actions once none is missing."""
        self._awaited.remove(seat)
        self._tokens[seat] = token
        if not self.waits:
            self.step()

    def step(self) -> None:
        """Plays one action of each seat; a seat without a request has only one option."""
        moves = {}
        for turn in self.table.turns:
            token = self._tokens.get(turn.seat)
            if token is None:
                (token,) = turn.options
            moves[turn.seat] = turn.options[token][0]
        self._tokens.clear()
        self.table.step(moves)

    def finish(self, records: Path | None) -> tuple[GameResult, list[Event]]:
        """Writes the record of a game that has ended, and returns its result and its events."""
        match, table = self.match, self.table
        deltas = list(mjsoul_deltas(table.scores, match.room, self.grades, match.style))
        header = {
            "id": match.game_id(self.key),
            "rules": match.rules,
            "style": match.style,
            "room": match.room,
            "grades": list(self.grades),
            "grading_deltas": deltas,
            "players": dict(zip(PLAYERS, match.players, strict=True)),
            "seats": list(self.players),
        }
        events = recorded_events(table, header)
        if records is not None:
            write_record(str(records / f"{match.game_id(self.key)}{SUFFIX}"), events)
        num_seats = len(self.players)
        wins, won_points, deal_ins, calls, riichis = ([0] * num_seats for _ in range(5))
        rounds = rounds_of(events)
        for of_round in rounds:
            _count(of_round, wins, won_points, deal_ins, calls, riichis)
        result = GameResult(
            wall=self.key.wall,
            seating=self.key.seating,
            players="".join(self.players),
            ranks=list(ranks_of(table.scores)),
            scores=table.scores,
            grading_deltas=deltas,
            rounds=len(rounds),
            wins=wins,
            won_points=won_points,
            deal_ins=deal_ins,
            calls=calls,
            riichis=riichis,
            decisions=self._decisions,
        )
        return result, events


def _count(
    events: list[Event],
    wins: list[int],
    won_points: list[int],
    deal_ins: list[int],
    calls: list[int],
    riichis: list[int],
) -> None:
    """Adds the events of a round to the counts by seat."""
    callers, declarers, payers = set(), set(), set()
    for event in events:
        kind, seat = event["type"], event.get("actor", -1)
        if kind in _CALLS:
            callers.add(seat)
        elif kind == "reach":
            declarers.add(seat)
        elif kind == "hora":
            wins[seat] += 1
            won_points[seat] += event["deltas"][seat]
            if event["target"] != seat:
                payers.add(event["target"])
    for seats, counts in ((callers, calls), (declarers, riichis), (payers, deal_ins)):
        for seat in seats:
            counts[seat] += 1


@dataclass(slots=True)
class _RequestQueue:
    """Waiting requests of a batch key, the oldest first."""

    size: int
    """the preferred size of a batch"""
    since: int
    """the move at which requests were taken last, or the first began to wait"""
    requests: list[ActRequest] = field(default_factory=list)

    def num_ready(self, move: int) -> int:
        """Returns how many requests to take: all after a long wait, else as many as make full batches."""
        num = len(self.requests)
        return num if move - self.since > _MOST_MOVES_WAITED else num // self.size * self.size

    def take(self, num: int, move: int) -> list[ActRequest]:
        """Removes and returns the oldest requests."""
        taken, self.requests, self.since = self.requests[:num], self.requests[num:], move
        return taken


class BatchedGames:
    """Games that advance together, so that an agent receives the requests of many of them in one batch. A game waits
    until a batch of its key (`Agent.group`) is full, unless that takes too long or no other game can continue.

    Args:
        players: by letter.
        records: a folder for the games' records.
        on_result: is called with the result of a game before `Agent.end`, which may fail.
    """

    def __init__(
        self,
        match: Match,
        players: Mapping[str, Agent],
        records: Path | None = None,
        on_result: Callable[[GameResult], object] | None = None,
    ) -> None:
        self._match = match
        self._players = players
        self._records = records
        self._on_result = on_result
        self._games: dict[GameKey, Game] = {}
        self._waiting: dict[tuple[str, BatchKey], _RequestQueue] = {}
        """by player's letter and batch key; none is empty"""
        self._num_moves = 0

    def __len__(self) -> int:
        """Returns the number of games in progress."""
        return len(self._games)

    def begin(self, key: GameKey) -> None:
        """Starts a game."""
        self._games[key] = Game(self._match, key)

    def advance(self) -> list[GameResult]:
        """Collects the requests of all games that do not wait, and plays the actions of the batches that are ready.

        Returns:
            The results of the games that have ended.

        Raises:
            IllegalAction: a player has chosen an action that is not possible.
            ValueError: a program among the players fails otherwise.

        After an error the games cannot be continued.
        """
        self._num_moves += 1
        for game in self._games.values():
            if game.waits:
                continue
            for request in game.requests(self._players):
                letter = game.players[request.turn.seat]
                group = self._players[letter].group(request)
                queue = self._waiting.setdefault((letter, group), _RequestQueue(group.size, self._num_moves))
                queue.requests.append(request)
        for letter, requests in self._ready().items():
            for request, action in zip(requests, self._players[letter].act(requests), strict=True):
                if action.token not in request.turn.options:
                    name = self._match.players[PLAYERS.index(letter)]
                    raise illegal(name, request, f"action {action.token}", self._match.vocabulary)
                self._games[request.game].answer(request.turn.seat, action.token)
        return self._end([game for game in self._games.values() if game.table.done])

    def _ready(self) -> dict[str, list[ActRequest]]:
        """Returns, by player's letter, the requests of full batches and those that have waited for long; if there are
        none, those of the fullest queue."""
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

    def _end(self, games: Sequence[Game]) -> list[GameResult]:
        results, logs = [], []
        for game in games:
            del self._games[game.key]
            result, events = game.finish(self._records)
            results.append(result)
            logs.append(events)
            if self._on_result is not None:
                self._on_result(result)
        for game, events in zip(games, logs, strict=True):
            for seat, letter in enumerate(game.players):
                self._players[letter].end(game.key, seat, events)
        return results
