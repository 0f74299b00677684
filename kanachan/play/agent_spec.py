"""Parses the specifications of players on the command line, and mixtures such as `reference@0.7=0.8 rule=0.2`."""

import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from annotate.simulation.rule_agent import TEMPERAMENTS
from kanachan.models.reference import is_reference_name, resolved

Kind = Literal["random", "rule", "network", "mjai"]
SPEC_HELP = f"""A PLAYER is one of
  random                            any possible action
  rule, rule:TEMPERAMENT            plays by rules; one of {", ".join(t.name for t in TEMPERAMENTS)}
                                    (default: {TEMPERAMENTS[0].name})
  WEIGHTS                           weights file or run folder of any stage, or weights of the package (reference,
                                    reference/STAGE; see kanachan-models): takes the action with the highest score
  WEIGHTS@T                         samples instead from the softmax of the scores divided by T
  WEIGHTS:int8, WEIGHTS:int8@T      imitation WEIGHTS with int8 matrices, computed on the CPU by ONNX Runtime: faster,
                                    with slightly different scores; the difference is reported
  mjai:COMMAND                      a program that speaks mjai over standard input and output, started once per seat;
                                    {{seat}} in COMMAND is replaced by the seat; otherwise, the seat is appended
                                    (mjai does not transmit rules, room and grades: COMMAND must specify them, as
                                    kanachan-bot does with --rules, --style, --room and --grades)
"""
MIXTURE_HELP = """Each seat of each game is assigned one of the PLAYERS at random, with equal shares or with the shares
given as PLAYER=SHARE; these must be given for all players or for none, and must sum to 1.
"""
_TAIL = re.compile(r"(?P<rest>.+)@(?P<temperature>-?[\d.,]+|nan|-?inf)")
_TEMPERATURE = re.compile(r"\d+\.?\d*|\.\d+")
_INT8 = ":int8"
_TOLERANCE = 1e-6
"""allowed error of the sum of shares"""


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """A player as `SPEC_HELP` describes it, parsed."""

    text: str
    kind: Kind
    temperament: str = TEMPERAMENTS[0].name
    command: tuple[str, ...] = ()
    weights: str = ""
    """weights file, run folder or name of weights; empty for a player without a network"""
    temperature: float | None = None
    """temperature of sampling; None: takes the action with the highest score"""
    is_int8: bool = False
    """whether the network has int8 matrices"""


def parse_weights(text: str, *, with_temperature: bool = False) -> AgentSpec:
    """Parses WEIGHTS or WEIGHTS:int8, `with_temperature` also with @T at the end; an existing path is taken literally.
    Raises ValueError if T is not a positive number."""
    rest, temperature = text, None
    if with_temperature and not _names_weights(text) and (match := _TAIL.fullmatch(text)):
        rest, number = match["rest"], match["temperature"]
        temperature = float(number) if _TEMPERATURE.fullmatch(number) else 0.0
        if not temperature:
            raise ValueError(f"{text}: a temperature must be a positive number, not {number}")
    spec = AgentSpec(text, "network", weights=rest, temperature=temperature)
    if _names_weights(rest):
        return spec
    return replace(spec, weights=rest.removesuffix(_INT8), is_int8=rest.endswith(_INT8))


def parse_agent(text: str, *, requires_files: bool = True) -> AgentSpec:
    """Parses the specification of a player. `requires_files`: False for players of earlier games, since their weights
    may be elsewhere now. Raises ValueError if there is no such player, or if a part is not valid."""
    kind, _, rest = text.partition(":")
    if text == "random":
        return AgentSpec(text, "random")
    if kind == "rule":
        names = [temperament.name for temperament in TEMPERAMENTS]
        if rest and rest not in names:
            raise ValueError(f"{text}: no such temperament; there are {', '.join(names)}")
        return AgentSpec(text, "rule", temperament=rest or names[0])
    if kind == "mjai":
        try:
            command = tuple(shlex.split(rest))
        except ValueError as error:
            raise ValueError(f"{text}: {error}") from None
        if not command:
            raise ValueError(f"{text}: a command expected after mjai:")
        return AgentSpec(text, "mjai", command=command)
    spec = parse_weights(text, with_temperature=True)
    if requires_files and not resolved(spec.weights).exists():
        raise ValueError(f"{text}: no player of this name, and no weights there; see --help")
    return spec


def parse_mixture(texts: Sequence[str]) -> tuple[tuple[AgentSpec, ...], tuple[float, ...]]:
    """Parses players, all with or all without a share, and returns the players and their shares of the seats. Raises
    ValueError if a text is not a player, or if shares are given for only some players, are not in (0, 1], or do not
    sum to 1."""
    parts = [_split(text) for text in texts]
    players = tuple(parse_agent(player) for player, _ in parts)
    without = [player for player, share in parts if share is None]
    if len(without) == len(parts):
        return players, (1 / len(parts),) * len(parts)
    if without:
        raise ValueError(f"{without[0]}: has no share, but others have: give all players one (PLAYER=SHARE), or none")
    shares = tuple(share for _, share in parts if share is not None)
    for (player, _), share in zip(parts, shares, strict=True):
        if not 0 < share <= 1:
            raise ValueError(f"{player}={share:g}: a share must be more than 0 and at most 1")
    if abs(math.fsum(shares) - 1) > _TOLERANCE:
        raise ValueError(
            f"the shares of the players, {' + '.join(f'{share:g}' for share in shares)}, sum to "
            f"{math.fsum(shares):g}: they must sum to 1"
        )
    return players, shares


def _split(text: str) -> tuple[str, float | None]:
    """Returns the player and its share, which is the number after the last `=`, if any; an existing path is taken
    literally."""
    player, separator, share = text.rpartition("=")
    last = player.split()[-1] if player.startswith("mjai:") else ""
    is_option = last.startswith("-") and "=" not in last  # such as --temperature=1
    if not separator or is_option or _names_weights(text):
        return text, None
    try:
        return player, float(share)
    except ValueError:
        return text, None


def _names_weights(text: str) -> bool:
    return is_reference_name(text) or Path(text).exists()
