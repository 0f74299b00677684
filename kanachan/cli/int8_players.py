"""Players with int8 matrices: how far they are from their networks."""

import sys
from functools import cache

from kanachan.models.card import weights_hash
from kanachan.play.agent_spec import parse_agent
from kanachan.play.match import Match


def report_int8(program: str, *players: str) -> None:
    """Prints the divergence of each player with int8 matrices to standard error. Raises ValueError: a package is
    missing, the weights have no policy, or the divergence is too large."""
    for text in players:
        spec = parse_agent(text)
        if spec.is_int8:
            print(f"{program}: {text}: {_compared(spec.weights, weights_hash(spec.weights))}", file=sys.stderr)


def precision_of(match: Match) -> str:
    """Returns the precision of a match's networks in a word."""
    networks = [spec for text in match.players if (spec := parse_agent(text, requires_files=False)).files]
    return "int8" if networks and all(spec.is_int8 for spec in networks) else match.precision


@cache
def _compared(weights: str, _hash: str) -> str:
    """Returns in words how far int8 matrices are from the network's; measured once for each file."""
    # Heavy imports come only now, as most players are without.
    from kanachan.inference.int8_network import checked_divergence, with_int8
    from kanachan.inference.policy import Policy

    exact, name = Policy.load(weights), f"{weights}:int8"
    found = checked_divergence(with_int8(exact, name), exact, name)
    return (
        f"on {found.decisions:,} decisions of a simulated game, int8 matrices are {found.nats:.2g} nats from the "
        f"network's, with the same best action in {found.same_best:.1%}"
    )
