"""A game in progress: its setup, its requests for actions, and optionally the log of its decisions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Literal

from annotate.game.decisions import Decision, decision_of, mark_preempted
from annotate.game.engine.table import Table, Turn
from annotate.game.features import ObservationEncoder
from annotate.game.grading import mjsoul_deltas
from annotate.game.record import Event, Rules
from annotate.game.record_writer import SUFFIX, recorded_events, write_record
from annotate.game.settings import DEFAULT_RULES, table_seed
from annotate.vocabulary import Vocabulary
from kanachan.inference.choice import Action
from kanachan.play.agent import ActRequest, Agent, GameKey

Precision = Literal["fp32", "bf16"]


@dataclass(frozen=True, kw_only=True)
class Series:
    """The settings that a match and self-play share, on which the results of their games depend."""

    players: tuple[str, ...]
    """specifications of the players (`kanachan.play.agent_spec`)"""
    weights: tuple[tuple[str, ...], ...] = ()
    """hashes of each player's weights files"""
    rules: Rules = DEFAULT_RULES
    style: int = 1
    """0 East only, 1 East and South"""
    room: int = 4
    seed: int = 0
    precision: Precision = "fp32"
    """precision of the networks' matrix multiplications"""
    device: str = "cpu"
    """kind of device that computes the networks (kinds round differently)"""

    @property
    def letters(self) -> Mapping[str, str]:
        """The players by letter."""
        return dict(zip(ascii_uppercase, self.players, strict=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class GameSetup:
    """Everything on which a game depends, except for its players' actions."""

    series: Series
    key: GameKey
    id: str
    """id of the record"""
    vocabulary: Vocabulary
    grades: tuple[int, ...]
    """grades by seat"""
    seats: tuple[str, ...]
    """letter of each seat's player"""
    salt: str
    """matches and self-play have different walls, as a match may evaluate models trained on self-play"""

    @property
    def table_seed(self) -> int:
        return table_seed(self.series.seed, self.key.wall, self.salt)


class Game:
    """A game in progress. With `logs_decisions`, it also logs its decisions, which then have the field `hidden`."""

    def __init__(self, setup: GameSetup, *, logs_decisions: bool = False) -> None:
        vocabulary, series = setup.vocabulary, setup.series
        self.setup = setup
        self.table = Table.of_game(series.rules, series.style, setup.table_seed, vocabulary)
        self._encoder = ObservationEncoder(vocabulary, series.room, series.style, setup.grades, logs_decisions)
        self.log: list[tuple[Decision, Action]] | None = [] if logs_decisions else None
        """decisions in the order of play, including those preempted by another seat (`Decision.is_preempted`)"""
        self._num_requests = [0] * vocabulary.num_seats
        self.decisions = [0] * vocabulary.num_seats
        """number of turns with two or more possible actions, by seat"""
        self._awaited: set[int] = set()
        self._answers: list[tuple[ActRequest, Action]] = []
        """answers that have not been played yet"""

    @property
    def key(self) -> GameKey:
        return self.setup.key

    @property
    def waits(self) -> bool:
        """Whether an action requested by `requests` is still missing."""
        return bool(self._awaited)

    def requests(self, players: Mapping[str, Agent]) -> list[ActRequest]:
        """Returns the requests for the next actions, for which the game then waits; none if the game has ended. Plays
        turns with only one option itself, unless the agent `plays_forced`."""
        while not self.table.done:
            queried = [
                turn
                for turn in self.table.turns
                if len(turn.options) > 1 or players[self.setup.seats[turn.seat]].plays_forced
            ]
            if queried:
                break
            self.step()
        else:
            return []
        requests = [self._request(turn) for turn in queried]
        self._awaited = {turn.seat for turn in queried}
        return requests

    def _request(self, turn: Turn) -> ActRequest:
        self.decisions[turn.seat] += len(turn.options) > 1
        observation = self._encoder.observation(turn, self.table.progression)
        number = self._num_requests[turn.seat]
        self._num_requests[turn.seat] += 1
        return ActRequest(self.key, number, turn, observation, self.table.unlogged_ankan)

    def answer(self, request: ActRequest, action: Action) -> None:
        """Sets the action requested of a seat, and plays all actions once none is missing."""
        self._awaited.remove(request.turn.seat)
        self._answers.append((request, action))
        if not self.waits:
            self.step()

    def step(self) -> None:
        """Plays one action of each seat; a seat without a request has only one option."""
        tokens = {request.turn.seat: action.token for request, action in self._answers}
        moves = {}
        for turn in self.table.turns:
            if turn.seat not in tokens:
                (tokens[turn.seat],) = turn.options
            moves[turn.seat] = turn.options[tokens[turn.seat]][0]
        if self.log is not None:
            self.log += self._logged(tokens.values())
        self._answers = []
        self.table.step(moves)

    def _logged(self, tokens: Iterable[int]) -> list[tuple[Decision, Action]]:
        """Returns the decisions among the answers. `tokens`: the actions of all seats."""
        logged, window = [], []
        for request, action in self._answers:
            if len(request.turn.options) == 1:  # no decision
                continue
            decision = decision_of(request.turn, action.token, request.observation, self.table, self._encoder)
            logged.append((decision, action))
            window.append((decision, request.turn))
        mark_preempted(window, tokens, self._encoder.vocabulary)
        return logged

    @property
    def grading_deltas(self) -> list[int]:
        """The changes of grading points by seat in a finished game."""
        series = self.setup.series
        return list(mjsoul_deltas(self.table.scores, series.room, self.setup.grades, series.style))

    def recorded_events(self) -> list[Event]:
        """Returns the events of a finished game as in its record (mjai, all hands open)."""
        setup, series = self.setup, self.setup.series
        header: dict[str, Any] = {
            "id": setup.id,
            "rules": series.rules,
            "style": series.style,
            "room": series.room,
            "grades": list(setup.grades),
            "grading_deltas": self.grading_deltas,
            "players": dict(series.letters),
            "seats": list(setup.seats),
        }
        return recorded_events(self.table, header)

    def write_record(self, folder: Path, events: list[Event]) -> None:
        """Writes the record of a finished game. `events`: the result of `recorded_events`."""
        write_record(str(folder / f"{self.setup.id}{SUFFIX}"), events)
