"""Players with int8 matrices: how far they are from their networks, and whether a match should have them."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from kanachan.cli.player_options import AUTO
from kanachan.models.card import read_card
from kanachan.objectives.stages import POLICY, STAGES
from kanachan.play.agent_spec import AgentSpec, parse_agent
from kanachan.play.match import Precision

if TYPE_CHECKING:
    from kanachan.inference.int8_network import Divergence

_STAGES_WITH_PROBABILITIES = (next(iter(STAGES)), POLICY)


def report_int8(program: str, *players: str) -> None:
    """Prints the divergence of each player with int8 matrices to standard error.

    Raises:
        ValueError: a package is missing, the weights have no policy, or the divergence is too large.
    """
    for text in players:
        spec = parse_agent(text)
        if spec.is_int8:
            found = _divergence(spec)
            print(
                f"{program}: {text}: on {found.decisions:,} decisions of a simulated game, int8 matrices are "
                f"{found.nats:.2g} nats from the network's, with the same best action in {found.same_best:.1%}",
                file=sys.stderr,
            )


def chosen_precision(
    program: str, players: tuple[str, str], precision: Precision | Literal["auto"], device: str
) -> tuple[tuple[str, str], Precision]:
    """Returns the players of a match and the precision of their networks. Prints how far those with int8 matrices are
    from their networks.

    With `AUTO` the players get int8 matrices if that is quicker and possible for all that have networks, and none has
    them already: what is compared computes alike.

    Args:
        players: specifications, whose weights have been checked.
        precision: as given to --precision.
        device: as given to --device.

    Raises:
        ValueError: int8 matrices that were asked for are not possible (`report_int8`).
    """
    report_int8(program, *dict.fromkeys(players))
    if precision != AUTO:
        return players, precision
    first, second = _fastest(program, players, device)
    return (first, second), "fp32"


def _fastest(program: str, players: Sequence[str], device: str) -> Sequence[str]:
    networks = {text: spec for text in players if (spec := parse_agent(text)).files}
    if not networks or not all(_can_be_int8(spec) for spec in networks.values()):
        return players
    # Heavy imports come only now, as players without networks need none.
    from kanachan.inference.int8_network import is_int8_quicker
    from kanachan.inference.policy import chosen_device

    if chosen_device(device).type != "cpu" or not is_int8_quicker():
        return players
    quick = {text: spec.as_int8() for text, spec in networks.items()}
    try:
        report_int8(program, *quick.values())
    except ValueError as error:
        print(f"{program}: {error}: networks compute in fp32", file=sys.stderr)
        return players
    print(f"{program}: networks on this CPU play with int8 matrices; --precision fp32 for their own", file=sys.stderr)
    return [quick.get(text, text) for text in players]


def _can_be_int8(spec: AgentSpec) -> bool:
    plays_alone = spec.values is None and spec.rollouts is None and not spec.is_int8
    return plays_alone and read_card(spec.weights)["stage"] in _STAGES_WITH_PROBABILITIES


def _divergence(spec: AgentSpec) -> "Divergence":
    # Heavy imports come only now, as most players are without.
    from kanachan.inference.int8_network import checked_divergence, with_int8
    from kanachan.inference.policy import Policy

    exact = Policy.load(spec.weights)
    return checked_divergence(with_int8(exact, spec.text), exact, spec.text)
