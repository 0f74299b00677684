"""Options that several commands share."""

import argparse
from typing import get_args

from annotate.game.record import Rules
from annotate.game.settings import DEFAULT_ROOM, DEFAULT_RULES, NUM_ROOMS, STYLES
from kanachan.models.card import read_card

WEIGHTS_HELP = "weights file, folder of a run that has ended, or weights of the package (reference, reference/STAGE)"


def require_weights(*paths: str | None) -> None:
    """Reads the cards of weights, without torch; None stands for an option that is not given.

    Raises:
        ValueError: one is missing or not a weights file of this program.
    """
    for path in paths:
        if path is not None:
            read_card(path)


def add_table_options(parser: argparse._ActionsContainer, *, room: str = "") -> None:
    """Adds --rules, --style and --room.

    Args:
        room: an addition to the help of --room.
    """
    parser.add_argument(
        "--rules", choices=get_args(Rules), default=DEFAULT_RULES, help="rule set (default: %(default)s)"
    )
    parser.add_argument("--style", choices=STYLES, default="south", help="length of a game (default: %(default)s)")
    parser.add_argument(
        "--room",
        type=int,
        choices=range(NUM_ROOMS),
        default=DEFAULT_ROOM,
        help=f"0 Bronze ... 4 Throne{room} (default: %(default)s)",
    )


def add_device_option(parser: argparse._ActionsContainer) -> None:
    """Adds --device."""
    parser.add_argument("--device", default="auto", help="cpu, cuda, cuda:1 ...; auto (default): a GPU if there is one")


def add_batch_option(parser: argparse._ActionsContainer, network: str = "the network") -> None:
    """Adds --batch, which the caller checks with `require_positive`."""
    parser.add_argument(
        "--batch", type=int, default=256, help=f"decisions per forward pass of {network} (default: %(default)s)"
    )


def add_bootstrap_option(parser: argparse._ActionsContainer) -> None:
    """Adds --bootstrap, which the caller checks with `require_positive`."""
    parser.add_argument(
        "--bootstrap", type=int, metavar="N", default=1000, help="bootstrap resamples (default: %(default)s)"
    )
