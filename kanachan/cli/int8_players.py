"""Players with int8 matrices: how far they are from their networks, and whether a match should have them."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from kanachan.models.card import read_card, weights_hash
from kanachan.objectives.stages import POLICY, STAGES
from kanachan.play.agent_spec import AgentSpec, parse_agent
from kanachan.play.match import Match

_STAGES_WITH_PROBABILITIES = (next(iter(STAGES)), POLICY)


def report_int8(program: str, *players: str) -> None:
    """Prints the divergence of each player with int8 matrices to standard error.

    Raises:
        ValueError: a package is missing, the weights have no policy, or the divergence is too large.
    """
    for text in players:
        spec = parse_agent(text)
        if spec.is_int8:
            print(f"{program}: {text}: {_compared(spec.weights, weights_hash(spec.weights))}", file=sys.stderr)


def with_chosen_precision(program: str, match: Match, device: str, stored: Mapping[str, Any] | None) -> Match:
    """Returns a match in fp32 with int8 matrices for its players, if that is quicker and possible for all of them that
    have networks, and none has them already: what is compared computes alike.

    Args:
        match: of players whose cards have been checked.
        device: as given to --device.
        stored: settings of the match that is continued, whose choice is kept if it has the same players.
    """
    specs = [parse_agent(text) for text in match.players]
    first, second = quick = [spec.as_int8() if _can_be_int8(spec) else spec.text for spec in specs]
    if stored is not None and stored.get("players") in (list(match.players), quick):
        first, second = stored["players"]
        return replace(match, players=(first, second), precision=stored.get("precision", match.precision))
    networks = [spec for spec in specs if spec.files]
    plays_a_program = any(spec.kind == "mjai" for spec in specs)  # which may be the same network in fp32
    if not networks or plays_a_program or any(spec.text in quick for spec in networks):
        return match
    # Heavy imports come only now, as players without networks need none.
    from kanachan.inference.int8_network import is_int8_quicker
    from kanachan.inference.policy import Policy, chosen_device

    if chosen_device(device).type != "cpu" or not is_int8_quicker():
        return match
    for spec in networks:
        Policy.load(spec.weights)  # a damaged file is an error, and no reason for another precision
    try:
        for spec in networks:
            _compared(spec.weights, weights_hash(spec.weights))
    except ValueError as error:
        print(f"{program}: networks compute in fp32: {error}", file=sys.stderr)
        return match
    print(f"{program}: networks on this CPU play with int8 matrices; --precision fp32 for their own", file=sys.stderr)
    return replace(match, players=(first, second))


def precision_of(match: Match) -> str:
    """Returns the precision of a match's networks in a word."""
    networks = [spec for text in match.players if (spec := parse_agent(text, requires_files=False)).files]
    return "int8" if networks and all(spec.is_int8 for spec in networks) else match.precision


def _can_be_int8(spec: AgentSpec) -> bool:
    plays_alone = spec.files == [spec.weights] and spec.rollouts is None and not spec.is_int8
    if not plays_alone or read_card(spec.weights)["stage"] not in _STAGES_WITH_PROBABILITIES:
        return False
    is_name_free = not Path(f"{spec.weights}!int8").exists()  # a path that exists is taken as it is
    return is_name_free and not Path(spec.as_int8()).exists()


@cache
def _compared(weights: str, _hash: str) -> str:
    """Returns in words how far int8 matrices are from the network's; measured once for each file."""
    # Heavy imports come only now, as most players are without.
    from kanachan.inference.int8_network import checked_divergence, with_int8
    from kanachan.inference.policy import Policy

    exact, name = Policy.load(weights), f"{weights}!int8"
    found = checked_divergence(with_int8(exact, name), exact, name)
    return (
        f"on {found.decisions:,} decisions of a simulated game, int8 matrices are {found.nats:.2g} nats from the "
        f"network's, with the same best action in {found.same_best:.1%}"
    )
