"""Benchmark of games between networks, next to the engine alone playing the same games."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
from estimates import Estimate, all_in_turns

from annotate.game.record import Event
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import ModelConfig, ObjectiveConfig
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
_NUM_DECISIONS = 10_000
_DECISIONS_OF_A_GAME = 600  # of people, East and South

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


def measure_arena(model: ModelConfig, repeats: int, *, with_bf16: bool, with_int8: bool) -> list[Estimate]:
    """Measures decisions a second of CPU time of a network in all seats, in fp32 and possibly in bf16 and with int8
    matrices, and of the engine alone, with the same observations and options: all in turns. All repeat choices of
    rule-based players: the play of a fresh network is not realistic. Each runs in one process with one thread, as in
    the middle of a long match: at its end batches are not full. Speed is proportional to the number of processes."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    network, objective = build_network("imitation", model, ObjectiveConfig(), FOUR_PLAYERS)
    plain = NetworkPolicy(network, objective, actor_first=True)
    choices: Choices = {}
    rules = {letter: make_agent(parse_agent("rule"), SeededSampler(0, letter), FOUR_PLAYERS) for letter in PLAYERS}
    _advance({letter: Recording(player, choices) for letter, player in rules.items()})
    ways = {"fp32": partial(_agent, plain)}
    if with_bf16:
        ways["bf16"] = partial(_agent, plain, use_bf16=True)
    if with_int8:
        ways["int8"] = partial(_agent, int8_policy(plain, "int8"))
    num_played: dict[str, int] = {}
    """slightly more than `_NUM_DECISIONS`"""

    def repeat(name: str, advisor_of: Callable[[str], Agent | None]) -> None:
        players = {letter: Repeating(choices, advisor_of(letter)) for letter in PLAYERS}

        def num_chosen() -> int:
            return sum(player.num_chosen for player in players.values())

        _advance(players, lambda: num_chosen() < _NUM_DECISIONS)
        num_played[name] = num_chosen()

    bodies = [partial(repeat, name, way) for name, way in ways.items()]
    seconds = all_in_turns([*bodies, partial(repeat, "engine", lambda _: None)], repeats, time.process_time)
    speeds = {name: num_played[name] / spent for name, spent in zip((*ways, "engine"), seconds, strict=True)}
    num_parameters = sum(p.numel() for p in network.parameters())
    return [
        Estimate(
            part="arena",
            what=f"play, {name}, {num_parameters:,} parameters in all seats",
            unit="decisions/s",
            ours=speeds[name],
            plain="the engine alone: the same choices, read from a list",
            plainly=speeds["engine"],
            more={
                "times fp32": speeds[name] / speeds["fp32"],
                f"games/s of {_DECISIONS_OF_A_GAME} decisions": speeds[name] / _DECISIONS_OF_A_GAME,
            },
        )
        for name in ways
    ]


def _agent(policy: NetworkPolicy, letter: str, *, use_bf16: bool = False) -> Agent:
    return PolicyAgent(CachedPolicy([policy], use_bf16=use_bf16), SeededSampler(0, letter))


def _advance(players: Mapping[str, Agent], continues: Callable[[], bool] = lambda: True) -> None:
    """Plays many games in parallel, to their ends or until `continues` returns False."""
    hall = match_games(_MATCH, players)
    for wall in range(TOGETHER // FOUR_PLAYERS.num_seats):
        for seating in range(FOUR_PLAYERS.num_seats):
            hall.begin(GameKey(wall, seating))
    while len(hall) and continues():
        hall.advance()
