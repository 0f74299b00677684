"""Reports how far policies with int8 matrices are from their networks."""

import sys

from kanachan.play.agent_spec import parse_agent


def report_int8(program: str, *players: str) -> None:
    """Prints the divergence of each player with int8 matrices to standard error.

    Raises:
        ValueError: a package is missing, the weights have no policy, or the divergence is too large.
    """
    for text in players:
        spec = parse_agent(text)
        if spec.is_int8:
            # Heavy imports come only now, as most players are without.
            from kanachan.inference.int8_network import checked_divergence, with_int8
            from kanachan.inference.policy import Policy

            exact = Policy.load(spec.weights)
            found = checked_divergence(with_int8(exact, text), exact, text)
            print(
                f"{program}: {text}: on {found.decisions:,} decisions of a simulated game, int8 matrices are "
                f"{found.nats:.2g} nats from the network's, with the same best action in {found.same_best:.1%}",
                file=sys.stderr,
            )
