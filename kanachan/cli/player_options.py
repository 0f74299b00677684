"""Shared by the commands that play games: the help about players, the number of players, the options for playing, and
the settings, besides the players' names, on which results depend."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, get_args

from annotate.game.grading import require_mjsoul_points
from annotate.game.settings import STYLES
from annotate.runtime.resources import num_cores
from annotate.vocabulary import NUMS_OF_SEATS, Vocabulary, vocabulary_of_seats
from kanachan.cli.options import add_device_option
from kanachan.models.card import vocabulary_of, weights_hash
from kanachan.play.agent_spec import AgentSpec, parse_agent
from kanachan.play.game import Precision
from kanachan.play.match import Match
from kanachan.play.together import TOGETHER, TOGETHER_WITH_PROGRAMS


class PlayerFormatter(argparse.RawDescriptionHelpFormatter):
    """Preserves the lines of the epilog, and wraps the lines of the description."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith("A PLAYER"):
            return super()._fill_text(text, width, indent)
        return argparse.HelpFormatter._fill_text(self, text, width, indent)


def add_execution_options(parser: argparse._ActionsContainer, *, processes: str = "") -> None:
    """Adds -j, --together, --device and --precision, which are None if they are not given. `processes`: an addition to
    the default of -j in the help text."""
    parser.add_argument(
        "-j",
        "--processes",
        type=int,
        help="worker processes, each with its own engines and networks; on a GPU, one more computes all networks "
        f"(default: all {num_cores()} cores{processes})",
    )
    parser.add_argument(
        "--together",
        type=int,
        help="games that advance together in a process; networks cache 2 MB (small) or 39 MB (base) per game, or up to "
        f"twice as much (default: {TOGETHER}, or as many as fit into the memory; {TOGETHER_WITH_PROGRAMS} with "
        "mjai:COMMAND, as each seat is a program)",
    )
    add_device_option(parser)
    parser.add_argument(
        "--precision",
        choices=get_args(Precision),
        help="precision of the networks' matrix multiplications; bf16 is faster on GPUs and on CPUs with bf16 units "
        "(AMX, AVX512-BF16); the choice between two nearly equal actions may then differ from kanachan-bot's "
        "(default: fp32 on CPUs, bf16 on GPUs)",
    )


def vocabulary_of_players(specs: Sequence[AgentSpec], num_seats: int | None) -> Vocabulary:
    """Returns the vocabulary of these players' games. `num_seats`: the requested number of seats; None: the number for
    which the weights are, or the largest without weights. Raises ValueError if weights are for another number, or for
    different numbers."""
    seats_of = {spec.weights: vocabulary_of(spec.weights).num_seats for spec in specs if spec.weights}
    wanted = num_seats or next(iter(seats_of.values()), NUMS_OF_SEATS[-1])
    for path, found in seats_of.items():
        if found != wanted:
            whose = f"--players {num_seats} was given" if num_seats else f"{next(iter(seats_of))} for {wanted}"
            raise ValueError(
                f"{path}: weights for games of {found} players, but {whose}: all players of a game need the same number"
            )
    return vocabulary_of_seats(wanted)


def add_players_option(parser: argparse._ActionsContainer) -> None:
    """Adds --players, an argument of `vocabulary_of_players`."""
    parser.add_argument(
        "--players",
        dest="num_seats",
        type=int,
        choices=NUMS_OF_SEATS,
        help=f"number of players of a game (default: the weights' number; without weights {NUMS_OF_SEATS[-1]})",
    )


def shared_settings(
    arguments: argparse.Namespace, specs: Sequence[AgentSpec], vocabulary: Vocabulary
) -> dict[str, Any]:
    """Returns the settings that a match and self-play have in common. Raises ValueError if the grading points of the
    room are not known, or if a device does not exist."""
    style = STYLES.index(arguments.style)
    require_mjsoul_points(arguments.room, style, vocabulary.num_seats)
    device = _kind_of_device(arguments.device, specs)
    return {
        "weights": tuple((weights_hash(spec.weights),) if spec.weights else () for spec in specs),
        "rules": arguments.rules,
        "style": style,
        "room": arguments.room,
        "grades": arguments.grades,
        "seed": arguments.seed,
        "precision": arguments.precision or usual_precision(device),
        "device": device,
    }


def _kind_of_device(name: str, specs: Sequence[AgentSpec]) -> str:
    """Returns the kind of the networks' device, or "cpu" if there are no networks."""
    if not any(spec.weights and not spec.is_int8 for spec in specs):
        return "cpu"
    from kanachan.models.device import chosen_device

    return chosen_device(name).type


def report_missing_records(program: str, records: Iterable[Path]) -> None:
    """Prints to standard error how many of the records of games played before do not exist."""
    missing = sum(not path.exists() for path in records)
    if missing:
        print(f"{program}: warning: {missing:,} games were played before and get no record", file=sys.stderr)


def print_speed(program: str, num_games: int, num_decisions: int, seconds: float) -> None:
    """Prints the number of games that a run has played, if any, and its speed to standard error."""
    if num_games:
        print(
            f"{program}: {num_games:,} games in {seconds:,.0f} s: {num_games / seconds:.3g} games/s, "
            f"{num_decisions / seconds:,.0f} decisions/s",
            file=sys.stderr,
        )


def usual_precision(device: str) -> Precision:
    """Returns the default precision for a kind of device."""
    if device == "cpu":
        return "fp32"
    import torch

    # emulated bf16 is slower than fp32
    return "fp32" if device == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False) else "bf16"


def report_int8(program: str, *players: str) -> None:
    """Prints the divergence of each player with int8 matrices to standard error. Raises ValueError if a package is
    missing, if the weights have no policy, or if the divergence is too large."""
    for text in players:
        spec = parse_agent(text)
        if spec.is_int8:
            print(f"{program}: {text}: {_compared(spec.weights, weights_hash(spec.weights))}", file=sys.stderr)


def precision_of(match: Match) -> str:
    """Returns the precision of a match's networks as one word."""
    networks = [spec for text in match.players if (spec := parse_agent(text, requires_files=False)).weights]
    return "int8" if networks and all(spec.is_int8 for spec in networks) else match.precision


@cache
def _compared(weights: str, _hash: str) -> str:
    """Returns in words the divergence of int8 matrices from the network; measured once per file."""
    # Heavy imports come only now, since most players have no int8 matrices.
    from kanachan.inference.int8_network import checked_divergence, with_int8
    from kanachan.inference.policy import Policy

    exact, name = Policy.load(weights), f"{weights}:int8"
    found = checked_divergence(with_int8(exact, name), exact, name)
    return (
        f"on {found.decisions:,} decisions of a simulated game, int8 matrices are {found.nats:.2g} nats from the "
        f"network, with the same best action in {found.same_best:.1%}"
    )
