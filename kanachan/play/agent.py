"""Whoever can sit at a table of the arena: one contract, and the names by which a command line chooses.

A player is given many situations at once, of as many games, and says an action for each. What it says of one depends
on that situation and on what the player has seen of its game, never on the others it was given: where a player draws
lots, they are a function of the seed, the player, the wall, the seat and the number of the decision.
"""

import math
import re
import shlex
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from annotate.game.engine import Turn
from annotate.game.record import Event
from annotate.simulation.rule_agent import TEMPERAMENTS, RuleBasedPlayer
from annotate.vocabulary import Vocabulary
from annotate.words import describe_action

Kind = Literal["random", "rule", "policy", "mjai"]
SPEC_HELP = f"""A PLAYER is one of
  random                            any possible action
  rule, rule:TEMPERAMENT            plays by rules; one of {", ".join(t.name for t in TEMPERAMENTS)}
                                    (default: {TEMPERAMENTS[0].name})
  WEIGHTS                           weights file or run folder of any stage: the action of the greatest score
  WEIGHTS@T                         drawn instead, with probabilities from the scores divided by T
  WEIGHTS+VALUES~POINTS             imitation WEIGHTS re-weighted by the advantages of VALUES, weights of a later
                                    stage, at a temperature in POINTS (see kanachan-predict): the most probable action
  WEIGHTS+VALUES~POINTS@T           drawn instead
  mjai:COMMAND                      a program that speaks mjai over standard input and output, started once for each
                                    seat; {{seat}} in COMMAND is replaced by the seat, or else the seat stands behind it
                                    (mjai does not tell of rules, room and grades: COMMAND must say them itself, as
                                    kanachan-bot does with --rules, --style, --room and --grade)
"""
_TAIL = re.compile(r"(?P<rest>.+)@(?P<temperature>[0-9.eE+-]+)")
_ADVANTAGE = re.compile(r"(?P<weights>.+)\+(?P<values>.+)~(?P<points>[0-9.eE+-]+|inf)")


class GameKey(NamedTuple):
    """A game of the arena."""

    wall: int
    seating: int


@dataclass(frozen=True, slots=True)
class Situation:
    """A moment at which a seat must act, as its player is given it."""

    game: GameKey
    number: int
    """how often the seat was asked before in this game"""
    turn: Turn
    sparse: tuple[int, ...]
    numeric: tuple[int, ...]
    progression: tuple[int, ...]
    unlogged: Event | None = None
    """mjai: a closed kan that may be robbed, of which the engine's events do not tell yet"""

    @property
    def actions(self) -> tuple[int, ...]:
        """The possible actions, ascending."""
        return tuple(self.turn.options)


class Group(NamedTuple):
    """Situations that are best chosen together."""

    name: Hashable
    size: int
    """how many at a time; 1: none waits for another"""


WITHOUT_WAITING = Group(None, 1)


class Player(Protocol):
    """See the module's description."""

    plays_forced: bool
    """whether it wants to be asked where only one action is possible"""

    def group(self, situation: Situation) -> Group:
        """With which others this situation had better be given to `choose`: a game waits a while for so many."""
        ...

    def choose(self, situations: Sequence[Situation]) -> list[int]:
        """One of the actions of each situation. At most one situation is of the same seat of the same game.

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


def illegal(player: str, situation: Situation, wanted: str, vocabulary: Vocabulary) -> IllegalAction:
    """The error that a player wants what is impossible."""
    observation, turn = situation.turn.observation, situation.turn
    wind = "East South West".split()[observation.round_wind]
    possible = ", ".join(describe_action(token, vocabulary) for token in turn.options)
    return IllegalAction(
        f"{player}: illegal action in wall {situation.game.wall}, seating {situation.game.seating}, {wind} "
        f"{observation.oya + 1} honba {observation.honba}, tiles left {turn.left}, seat {turn.seat}: {wanted}; "
        f"possible: {possible}"
    )


@dataclass(frozen=True, slots=True)
class PlayerSpec:
    """What `SPEC_HELP` describes, read."""

    text: str
    kind: Kind
    temperament: str = TEMPERAMENTS[0].name
    command: tuple[str, ...] = ()
    weights: str = ""
    values: str | None = None
    points: float = math.inf
    """temperature of the advantages"""
    temperature: float | None = None
    """None: the action of the greatest score"""

    @property
    def files(self) -> list[str]:
        """Weights files or run folders."""
        return [path for path in (self.weights, self.values) if path]


def parse_player(text: str) -> PlayerSpec:
    """Reads the name of a player.

    Raises:
        ValueError: it names none.
    """
    kind, _, rest = text.partition(":")
    if text == "random":
        return PlayerSpec(text, "random")
    if kind == "rule":
        names = [temperament.name for temperament in TEMPERAMENTS]
        if rest and rest not in names:
            raise ValueError(f"{text}: no such temperament; there are {', '.join(names)}")
        return PlayerSpec(text, "rule", temperament=rest or names[0])
    if kind == "mjai":
        try:
            command = tuple(shlex.split(rest))
        except ValueError as error:
            raise ValueError(f"{text}: {error}") from None
        if not command:
            raise ValueError(f"{text}: a command expected after mjai:")
        return PlayerSpec(text, "mjai", command=command)
    return _parse_policy(text)


def _parse_policy(text: str) -> PlayerSpec:
    if Path(text).exists():  # whatever its name looks like
        return PlayerSpec(text, "policy", weights=text)
    rest, temperature = text, None
    if match := _TAIL.fullmatch(text):
        rest, temperature = match["rest"], _positive(match["temperature"], text)
    if not Path(rest).exists() and (match := _ADVANTAGE.fullmatch(rest)):
        points = _positive(match["points"], text)
        spec = PlayerSpec(text, "policy", "", (), match["weights"], match["values"], points, temperature)
    else:
        spec = PlayerSpec(text, "policy", weights=rest, temperature=temperature)
    for path in spec.files:
        if not Path(path).exists():
            raise ValueError(f"{text}: no player of this name, and no weights there; see --help")
    return spec


def _positive(text: str, spec: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value > 0:
        raise ValueError(f"{spec}: a temperature must be a positive number, not {text}")
    return value


def chance(*parts: int | str) -> float:
    """A number in 0 ... 1, 1 excluded, that looks random and is the same for the same parts."""
    digest = blake2b(repr(parts).encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / (1 << 53)


@dataclass(frozen=True, slots=True)
class Lots:
    """The lots that one player of the arena draws."""

    seed: int
    player: str
    """so that two players who are the same but for this play differently"""

    def of(self, situation: Situation) -> float:
        return chance(self.seed, self.player, situation.game.wall, situation.turn.seat, situation.number)


class RandomPlayer:
    """Any possible action, all alike."""

    plays_forced = False

    def __init__(self, lots: Lots) -> None:
        self._lots = lots

    def group(self, situation: Situation) -> Group:
        return WITHOUT_WAITING

    def choose(self, situations: Sequence[Situation]) -> list[int]:
        chosen = []
        for situation in situations:
            actions = situation.actions
            chosen.append(actions[int(self._lots.of(situation) * len(actions))])
        return chosen

    def end(self, game: GameKey, seat: int, events: Sequence[Event]) -> None:
        pass

    def close(self) -> None:
        pass


class RulePlayer:
    """`annotate.simulation.rule_agent.RuleBasedPlayer`, never careless."""

    plays_forced = False

    def __init__(self, temperament: str, lots: Lots, vocabulary: Vocabulary) -> None:
        liking = next(each for each in TEMPERAMENTS if each.name == temperament)
        seed = int(chance(lots.seed, lots.player) * (1 << 32))
        self._player = RuleBasedPlayer(liking, seed, vocabulary)

    def group(self, situation: Situation) -> Group:
        return WITHOUT_WAITING

    def choose(self, situations: Sequence[Situation]) -> list[int]:
        return [self._player.choose(situation.turn) for situation in situations]

    def end(self, game: GameKey, seat: int, events: Sequence[Event]) -> None:
        pass

    def close(self) -> None:
        pass


def make_player(
    spec: PlayerSpec, lots: Lots, vocabulary: Vocabulary, device: str = "cpu", *, is_half: bool = False
) -> Player:
    """The player of a name.

    Args:
        device: where networks are computed.
        is_half: they multiply in bf16.

    Raises:
        ValueError: weights that cannot be read, or not together.
        OSError: a program that cannot be started.
    """
    if spec.kind == "random":
        return RandomPlayer(lots)
    if spec.kind == "rule":
        return RulePlayer(spec.temperament, lots, vocabulary)
    if spec.kind == "mjai":
        from kanachan.play.mjai_agent import MjaiPlayer

        return MjaiPlayer(spec.command, vocabulary)
    # torch is imported only for those who need it
    from kanachan.play.policy_agent import load_policy_player

    return load_policy_player(spec, lots, vocabulary, device, is_half=is_half)
