"""Games that networks play, beside the engine alone playing the same games."""

from collections.abc import Mapping, Sequence

import torch
from figures import Figure, in_turns

from annotate.records.record import Event
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.arena_game import PLAYERS, Hall, Match
from kanachan.checkpoint import build_network
from kanachan.config import ModelConfig, ObjectiveConfig
from kanachan.players import GameKey, Lots, Player, Situation
from kanachan.policy import Policy
from kanachan.policy_player import PolicyPlayer, Scorer

_MATCH = Match(players=("network", "network"))
_NUM_WALLS = 32
_NUM_MOVES = 60
_DECISIONS_OF_A_GAME = 600  # of people, East and South

Choices = dict[tuple[GameKey, int, int], int]
"""by game, seat and number: the action"""


class Noting:
    """A player whose choices are written down."""

    def __init__(self, player: Player, choices: Choices) -> None:
        self._player, self._choices = player, choices
        self.plays_forced = player.plays_forced
        self.group, self.end, self.close = player.group, player.end, player.close

    def choose(self, situations: Sequence[Situation]) -> list[int]:
        tokens = self._player.choose(situations)
        for situation, token in zip(situations, tokens, strict=True):
            self._choices[situation.game, situation.turn.seat, situation.number] = token
        return tokens


class Repeating:
    """Does what was written down."""

    plays_forced = False

    def __init__(self, choices: Choices) -> None:
        self._choices = choices

    def choose(self, situations: Sequence[Situation]) -> list[int]:
        return [self._choices[s.game, s.turn.seat, s.number] for s in situations]

    def end(self, game: GameKey, seat: int, events: Sequence[Event]) -> None:
        pass

    def close(self) -> None:
        pass


def measure_arena(model: ModelConfig, repeats: int, *, is_half: bool = False) -> Figure:
    """Decisions a second of a fresh network in all seats, which may multiply in bf16, and of the engine alone: the same
    choices again, read off a list, situations and options written as for a network. In one process with one thread
    each; more processes are as many times as quick."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    network, objective = build_network("imitation", model, ObjectiveConfig(), FOUR_PLAYERS)
    choices: Choices = {}

    def play() -> None:
        players = {
            letter: Noting(
                PolicyPlayer(Scorer([Policy(network, objective, actor_first=True)], is_half=is_half), Lots(0, letter)),
                choices,
            )
            for letter in PLAYERS
        }
        _advance(players)

    def repeat() -> None:
        _advance({letter: Repeating(choices) for letter in PLAYERS})

    ours, plain = in_turns(play, repeat, repeats)
    speed, plain_speed = len(choices) / ours, len(choices) / plain
    num_parameters = sum(p.numel() for p in network.parameters())
    return Figure(
        part="arena",
        what=f"play{' in bf16' if is_half else ''}, {num_parameters:,} parameters in all seats",
        unit="decisions/s",
        ours=speed,
        plain="the engine alone: the same choices, read off a list",
        plainly=plain_speed,
        more={
            f"games/s of {_DECISIONS_OF_A_GAME} decisions": speed / _DECISIONS_OF_A_GAME,
            "plain games/s": plain_speed / _DECISIONS_OF_A_GAME,
        },
    )


def _advance(players: Mapping[str, Player]) -> None:
    """The first moves of many games."""
    hall = Hall(_MATCH, players)
    for wall in range(_NUM_WALLS):
        for seating in range(FOUR_PLAYERS.num_seats):
            hall.begin(GameKey(wall, seating))
    for _ in range(_NUM_MOVES):
        hall.advance()
