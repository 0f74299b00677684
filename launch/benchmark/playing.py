"""Benchmark of games between networks, next to the engine alone playing the same games."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from estimates import Estimate, all_in_turns
from plain_engine import plain_engine

from annotate.game.record import Event
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import MODEL_SIZES, ModelConfig, ObjectiveConfig
from kanachan.inference.choice import Action
from kanachan.inference.int8_network import with_int8 as int8_policy
from kanachan.inference.policy import NetworkPolicy
from kanachan.objectives.networks import build_network
from kanachan.play.agent import UNBATCHED, ActRequest, Agent, BatchKey, GameKey, SeededSampler
from kanachan.play.agent_factory import make_agent
from kanachan.play.agent_spec import parse_agent
from kanachan.play.match import PLAYERS, Match
from kanachan.play.match_games import match_games
from kanachan.play.policy_agent import CachedPolicy, PolicyAgent
from kanachan.play.workers import TOGETHER

_MATCH = Match(players=("rule", "rule"), style=0)
_PLAIN = "the engine alone, stepped plainly: the same choices, read from a list"
_NUM_DECISIONS = 10_000
_DECISIONS_OF_A_GAME = 600  # of people, East and South
_SMALLER = ("mini", "micro")  # shipped, to play faster

Choices = dict[tuple[GameKey, int, int], int]
"""by game, seat and number: the action"""


class Recording:
    """A player whose choices are recorded."""

    def __init__(self, player: Agent, choices: Choices) -> None:
        self._player, self._choices = player, choices
        self.plays_forced = player.plays_forced
        self.group, self.end, self.close = player.group, player.end, player.close

    def act(self, requests: Sequence[ActRequest]) -> list[Action]:
        actions = self._player.act(requests)
        for request, action in zip(requests, actions, strict=True):
            self._choices[request.game, request.turn.seat, request.number] = action.token
        return actions


class Repeating:
    """A player that repeats recorded choices.

    Args:
        advisor: is evaluated on every request; its actions are ignored.
    """

    plays_forced = False

    def __init__(self, choices: Choices, advisor: Agent | None) -> None:
        self._choices = choices
        self._advisor = advisor
        self.num_chosen = 0

    def group(self, request: ActRequest) -> BatchKey:
        return UNBATCHED if self._advisor is None else self._advisor.group(request)

    def act(self, requests: Sequence[ActRequest]) -> list[Action]:
        if self._advisor is not None:
            self._advisor.act(requests)
        self.num_chosen += len(requests)
        return [Action(self._choices[r.game, r.turn.seat, r.number]) for r in requests]

    def end(self, game: GameKey, seat: int, events: Sequence[Event]) -> None:
        if self._advisor is not None:
            self._advisor.end(game, seat, events)

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class _Way:
    """A network in all seats."""

    name: str
    policy: NetworkPolicy
    num_parameters: int
    use_bf16: bool = False

    def player(self, letter: str) -> Agent:
        return PolicyAgent(CachedPolicy(self.policy, use_bf16=self.use_bf16), SeededSampler(0, letter))


def measure_arena(model: ModelConfig, repeats: int, *, with_bf16: bool, with_int8: bool) -> list[Estimate]:
    """Measures decisions a second of CPU time of a network in all seats, in fp32 and possibly in bf16 and with int8
    matrices, of the smaller sizes with int8 matrices, and of the engine alone, with the same observations and options,
    as games step it and plainly: all in turns. All repeat choices of rule-based players: the play of a fresh network is
    not realistic. Each runs in one process with one thread, as in the middle of a long match: at its end batches are
    not full. Speed is proportional to the number of processes."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    choices: Choices = {}
    rules = {letter: make_agent(parse_agent("rule"), SeededSampler(0, letter), FOUR_PLAYERS) for letter in PLAYERS}
    _advance({letter: Recording(player, choices) for letter, player in rules.items()})
    ways = list(_ways(model, with_bf16=with_bf16, with_int8=with_int8))
    num_played: dict[str, int] = {}
    """slightly more than `_NUM_DECISIONS`"""

    def repeat(name: str, advisor_of: Callable[[str], Agent | None]) -> None:
        players = {letter: Repeating(choices, advisor_of(letter)) for letter in PLAYERS}

        def num_chosen() -> int:
            return sum(player.num_chosen for player in players.values())

        _advance(players, lambda: num_chosen() < _NUM_DECISIONS)
        num_played[name] = num_chosen()

    bodies = [partial(repeat, way.name, way.player) for way in ways]
    bodies += [partial(repeat, "engine", lambda _: None), plain_engine()(partial(repeat, "plain", lambda _: None))]
    seconds = all_in_turns(bodies, repeats, time.process_time)
    names = [*(way.name for way in ways), "engine", "plain"]
    speeds = {name: num_played[name] / spent for name, spent in zip(names, seconds, strict=True)}
    engine = Estimate(
        part="arena",
        what="the engine alone, as games step it",
        unit="decisions/s",
        ours=speeds["engine"],
        plain=_PLAIN,
        plainly=speeds["plain"],
    )
    return [engine] + [
        Estimate(
            part="arena",
            what=f"play, {way.name}, {way.num_parameters:,} parameters in all seats",
            unit="decisions/s",
            ours=speeds[way.name],
            plain=_PLAIN,
            plainly=speeds["plain"],
            more={
                **{f"times {other}": speeds[way.name] / speeds[other] for other in ("fp32", "int8") if other in speeds},
                f"games/s of {_DECISIONS_OF_A_GAME} decisions": speeds[way.name] / _DECISIONS_OF_A_GAME,
            },
        )
        for way in ways
    ]


def _ways(model: ModelConfig, *, with_bf16: bool, with_int8: bool) -> Iterator[_Way]:
    plain, num_parameters = _fresh(model)
    yield _Way("fp32", plain, num_parameters)
    if with_bf16:
        yield _Way("bf16", plain, num_parameters, use_bf16=True)
    if with_int8:
        yield _Way("int8", int8_policy(plain, "int8"), num_parameters)
        for name in _SMALLER:
            smaller, num_parameters = _fresh(MODEL_SIZES[name])
            yield _Way(f"int8 {name}", int8_policy(smaller, name), num_parameters)


def _fresh(model: ModelConfig) -> tuple[NetworkPolicy, int]:
    """Returns a fresh network and the number of its parameters."""
    network, objective = build_network("imitation", model, ObjectiveConfig(), FOUR_PLAYERS)
    return NetworkPolicy(network, objective, actor_first=True), sum(p.numel() for p in network.parameters())


def _advance(players: Mapping[str, Agent], continues: Callable[[], bool] = lambda: True) -> None:
    """Plays many games in parallel, to their ends or until `continues` returns False."""
    hall = match_games(_MATCH, players)
    for wall in range(TOGETHER // FOUR_PLAYERS.num_seats):
        for seating in range(FOUR_PLAYERS.num_seats):
            hall.begin(GameKey(wall, seating))
    while len(hall) and continues():
        hall.advance()
