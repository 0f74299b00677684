"""Benchmark of games between networks, next to the engine alone playing the same games."""

from collections.abc import Callable, Mapping, Sequence

import torch
from estimates import Estimate, in_turns

from annotate.game.record import Event
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import ModelConfig, ObjectiveConfig
from kanachan.inference.choice import Action
from kanachan.inference.int8_network import with_int8
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


def measure_arena(model: ModelConfig, repeats: int, *, use_bf16: bool = False) -> Estimate:
    """Measures decisions a second of a network in all seats, possibly in bf16, and of the engine alone, with the same
    observations and options. Both repeat choices of rule-based players: the play of a fresh network is not realistic.
    Each runs in one process with one thread, as in the middle of a long match: at its end batches are not full. Speed
    is proportional to the number of processes."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    network, objective = build_network("imitation", model, ObjectiveConfig(), FOUR_PLAYERS)
    choices: Choices = {}
    rules = {letter: make_agent(parse_agent("rule"), SeededSampler(0, letter), FOUR_PLAYERS) for letter in PLAYERS}
    _advance({letter: Recording(player, choices) for letter, player in rules.items()})

    num_played = {True: 0, False: 0}
    """by networks, or the engine alone: slightly more than `_NUM_DECISIONS`"""

    def repeat(advisors: Mapping[str, Agent | None]) -> None:
        players = {letter: Repeating(choices, advisors[letter]) for letter in PLAYERS}

        def num_chosen() -> int:
            return sum(player.num_chosen for player in players.values())

        _advance(players, lambda: num_chosen() < _NUM_DECISIONS)
        num_played[advisors[PLAYERS[0]] is not None] = num_chosen()

    def play() -> None:
        policies = {letter: NetworkPolicy(network, objective, actor_first=True) for letter in PLAYERS}
        repeat(
            {
                letter: PolicyAgent(CachedPolicy([p], use_bf16=use_bf16), SeededSampler(0, letter))
                for letter, p in policies.items()
            }
        )

    ours, plain = in_turns(play, lambda: repeat(dict.fromkeys(PLAYERS)), repeats)
    speed, plain_speed = num_played[True] / ours, num_played[False] / plain
    num_parameters = sum(p.numel() for p in network.parameters())
    return Estimate(
        part="arena",
        what=f"play{' in bf16' if use_bf16 else ''}, {num_parameters:,} parameters in all seats",
        unit="decisions/s",
        ours=speed,
        plain="the engine alone: the same choices, read from a list",
        plainly=plain_speed,
        more={
            f"games/s of {_DECISIONS_OF_A_GAME} decisions": speed / _DECISIONS_OF_A_GAME,
            "plain games/s": plain_speed / _DECISIONS_OF_A_GAME,
        },
    )


def measure_int8(model: ModelConfig, repeats: int) -> Estimate:
    """Measures decisions a second of a network with int8 matrices in all seats, and of the same network in fp32; as
    `measure_arena`."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    network, objective = build_network("imitation", model, ObjectiveConfig(), FOUR_PLAYERS)
    plain = NetworkPolicy(network, objective, actor_first=True)
    choices: Choices = {}
    rules = {letter: make_agent(parse_agent("rule"), SeededSampler(0, letter), FOUR_PLAYERS) for letter in PLAYERS}
    _advance({letter: Recording(player, choices) for letter, player in rules.items()})
    num_played = 0

    def play(policy: NetworkPolicy) -> None:
        nonlocal num_played
        advisors = {letter: PolicyAgent(CachedPolicy([policy]), SeededSampler(0, letter)) for letter in PLAYERS}
        players = {letter: Repeating(choices, advisor) for letter, advisor in advisors.items()}
        _advance(players, lambda: sum(player.num_chosen for player in players.values()) < _NUM_DECISIONS)
        num_played = sum(player.num_chosen for player in players.values())

    int8 = with_int8(plain, "int8")
    ours, plainly = in_turns(lambda: play(int8), lambda: play(plain), repeats)
    return Estimate(
        part="arena",
        what="play with int8 matrices",
        unit="decisions/s",
        ours=num_played / ours,
        plain="the same network in fp32",
        plainly=num_played / plainly,
    )


def _advance(players: Mapping[str, Agent], continues: Callable[[], bool] = lambda: True) -> None:
    """Plays many games in parallel, to their ends or until `continues` returns False."""
    hall = match_games(_MATCH, players)
    for wall in range(TOGETHER // FOUR_PLAYERS.num_seats):
        for seating in range(FOUR_PLAYERS.num_seats):
            hall.begin(GameKey(wall, seating))
    while len(hall) and continues():
        hall.advance()
