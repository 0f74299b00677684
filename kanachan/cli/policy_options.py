"""The options of commands that weight an imitation policy by the advantages of a value network."""

import argparse
import math
import sys
from typing import TYPE_CHECKING

from tqdm import tqdm

if TYPE_CHECKING:
    from kanachan.inference.advantage_policy import AdvantagePolicy
    from kanachan.inference.policy import Policy

MOST_HELD_OUT = 8192  # decisions of a split on which a temperature is found


def add_options(
    parser: argparse.ArgumentParser, *, held_out: str | None = None, values: str = "WEIGHTS"
) -> argparse._ArgumentGroup:
    """Adds the options to a parser that has WEIGHTS, and returns their group.

    Args:
        held_out: the command's name for the shards on which a temperature is found; None if it has none, and
            therefore no --divergence.
        values: the command's name for the value network.
    """
    group = parser.add_argument_group("policies from values")
    group.add_argument(
        "--prior",
        metavar="IMITATION",
        help=f"imitation weights, to be weighted by the advantages of {values}",
    )
    group.add_argument(
        "--temperature",
        type=float,
        metavar="POINTS",
        help="temperature of the advantages: the lower, the more they count; inf leaves imitation unchanged",
    )
    if held_out is not None:
        group.add_argument(
            "--divergence",
            type=float,
            metavar="NATS",
            help="instead of --temperature: how far the policy may diverge from imitation, such as 0.05; the mean "
            f"Kullback-Leibler divergence over the first {MOST_HELD_OUT:,} decisions of the validation split of "
            f"{held_out}",
        )
    return group


def check_options(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Exits with the parser's error if the options contradict each other."""
    names = [name for name in ("temperature", "divergence") if hasattr(arguments, name)]
    given = [name for name in names if getattr(arguments, name) is not None]
    if arguments.prior is None:
        for name in given:
            parser.error(f"--{name} needs --prior")
        return
    if len(given) > 1:
        parser.error(f"--{given[0]} and --{given[1]} exclude each other: give one of them")
    if not given:
        parser.error(f"--prior needs {'either ' * (len(names) > 1)}{' or '.join(f'--{name}' for name in names)}")
    if not getattr(arguments, given[0]) > 0:
        parser.error(f"--{given[0]} must be positive, not {getattr(arguments, given[0])}")


def with_prior(value: "Policy", weights: str, prior: str, temperature: float = math.inf) -> "AdvantagePolicy":
    """Makes the policy of `prior`, a weights file, weighted by the advantages of the value network of `weights`.

    Raises:
        ValueError: the networks do not fit together; names the files.
    """
    # Heavy imports come only now, after the arguments have been found valid.
    from kanachan.inference.advantage_policy import AdvantagePolicy
    from kanachan.inference.policy import Policy

    imitation = Policy.load(prior, value.device)
    try:
        return AdvantagePolicy(imitation, value, temperature)
    except ValueError as error:
        raise ValueError(f"{weights} with --prior {prior}: {error}") from None


def reweighted_policy(
    program: str, value: "Policy", weights: str, shards: str | None, arguments: argparse.Namespace
) -> "AdvantagePolicy":
    """Makes the policy of --prior, weighted by the advantages of a value network; prints the temperature that it finds
    for --divergence to standard error.

    Args:
        weights: the file of the value network.
        shards: the shards on whose validation split a temperature for --divergence is found.
        arguments: holds the options and `batch`.

    Raises:
        ValueError: the networks do not fit together, or the divergence cannot be reached; names the files.
    """
    from kanachan.data.loader import held_out_columns

    policy = with_prior(value, weights, arguments.prior)
    if arguments.divergence is None:
        return policy.with_temperature(arguments.temperature)
    assert shards is not None
    columns = held_out_columns(shards, "validation", policy.vocabulary, MOST_HELD_OUT)
    with tqdm(total=len(columns), unit="decision", unit_scale=True, disable=None) as bar:
        temperature = policy.temperature_of(columns, arguments.divergence, arguments.batch, bar.update)
    print(
        f"{program}: {weights}: a divergence of {arguments.divergence} nats over {len(columns):,} decisions: "
        f"--temperature {temperature:.6g}",
        file=sys.stderr,
    )
    return policy.with_temperature(temperature)
