"""Parses mixtures of players on the command line, such as `reference@0.7=0.8 rule=0.2`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kanachan.models.reference import is_reference_name
from kanachan.play.agent_spec import AgentSpec, parse_agent

MIXTURE_HELP = """Each seat of each game is given one of the PLAYERS at random: each with the same share, or with shares
given as PLAYER=SHARE, which must sum to 1 and be given for all players or for none.
"""
_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Mixture:
    """Players and their shares of the seats."""

    players: tuple[AgentSpec, ...]
    shares: tuple[float, ...]


def parse_mixture(texts: Sequence[str]) -> Mixture:
    """Parses players, all with a share or all without. Raises ValueError: a text is not a player; or shares are given
    for some players only, are not positive, or do not sum to 1."""
    parts = [_split(text) for text in texts]
    players = tuple(parse_agent(player) for player, _ in parts)
    without = [player for player, share in parts if share is None]
    if len(without) == len(parts):
        return Mixture(players, (1 / len(parts),) * len(parts))
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
    return Mixture(players, shares)


def _split(text: str) -> tuple[str, float | None]:
    """Returns the player and its share: what follows the last `=`, if it is a number; a path that exists is taken as it
    is."""
    player, separator, share = text.rpartition("=")
    if not separator or is_reference_name(text) or Path(text).exists():
        return text, None
    try:
        return player, float(share)
    except ValueError:
        return text, None
