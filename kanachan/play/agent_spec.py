"""Parses the specifications of players on the command line."""

import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from annotate.simulation.rule_agent import TEMPERAMENTS
from kanachan.models.reference import is_reference_name, resolved

Kind = Literal["random", "rule", "policy", "mjai"]
SPEC_HELP = f"""A PLAYER is one of
  random                            any possible action
  rule, rule:TEMPERAMENT            plays by rules; one of {", ".join(t.name for t in TEMPERAMENTS)}
                                    (default: {TEMPERAMENTS[0].name})
  WEIGHTS                           weights file or run folder of any stage, or weights of the package (reference,
                                    reference/STAGE; see kanachan-models): the action of the highest score
  WEIGHTS@T                         sampled instead, from the softmax of the scores divided by T
  WEIGHTS:int8, WEIGHTS:int8@T      imitation WEIGHTS with int8 matrices, on the CPU by ONNX Runtime: faster, and not
                                    quite the same scores; the difference is reported
  mjai:COMMAND                      a program that speaks mjai over standard input and output, started once for each
                                    seat; {{seat}} in COMMAND is replaced by the seat; without it the seat is appended
                                    (mjai does not transmit rules, room and grades: COMMAND must specify them, as
                                    kanachan-bot does with --rules, --style, --room and --grades)
"""
_TAIL = re.compile(r"(?P<rest>.+)@(?P<temperature>\d+\.?\d*|\.\d+)")
_INT8 = ":int8"


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """A player as `SPEC_HELP` describes it, parsed."""

    text: str
    kind: Kind
    temperament: str = TEMPERAMENTS[0].name
    command: tuple[str, ...] = ()
    weights: str = ""
    temperature: float | None = None
    """None: the action of the highest score"""
    is_int8: bool = False
    """the network has int8 matrices"""

    @property
    def files(self) -> list[str]:
        """The weights files or run folders, or their names."""
        return [self.weights] if self.weights else []


def parse_weights(text: str, *, with_temperature: bool = False) -> AgentSpec:
    """Parses WEIGHTS or WEIGHTS:int8, and @T behind it; a path that exists is taken as it is. Raises ValueError: T is
    not a positive number."""
    rest, temperature = text, None
    if with_temperature and not _names_weights(text) and (match := _TAIL.fullmatch(text)):
        rest, temperature = match["rest"], float(match["temperature"])
        if not temperature:
            raise ValueError(f"{text}: a temperature must be a positive number, not {match['temperature']}")
    spec = AgentSpec(text, "policy", weights=rest, temperature=temperature)
    if _names_weights(rest):
        return spec
    return replace(spec, weights=rest.removesuffix(_INT8), is_int8=rest.endswith(_INT8))


def parse_agent(text: str, *, requires_files: bool = True) -> AgentSpec:
    """Parses the specification of a player. `requires_files`: False for a player of games that were played before,
    whose weights may be elsewhere now. Raises ValueError: there is no such player, or a part is not valid."""
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
    for path in spec.files if requires_files else ():
        if not resolved(path).exists():
            raise ValueError(f"{text}: no player of this name, and no weights there; see --help")
    return spec


def _names_weights(text: str) -> bool:
    return is_reference_name(text) or Path(text).exists()
