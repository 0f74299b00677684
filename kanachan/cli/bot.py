"""kanachan-bot: plays at an mjai table over standard input and output, with the protocol of Mortal's program."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from annotate.game.settings import STYLES, grades_by_seat
from annotate.runtime.arguments import CommandParser
from annotate.runtime.garbage import no_search_for_cycles
from annotate.runtime.terminal import run_cleanly
from annotate.vocabulary import NUMS_OF_SEATS
from kanachan.cli.environment import set_environment
from kanachan.cli.options import WEIGHTS_HELP, add_device_option, add_grades_option, add_table_options, require_policies
from kanachan.cli.player_options import report_int8
from kanachan.extras import require_extra
from kanachan.play.agent_spec import AgentSpec, parse_weights
from kanachan.play.mjai_agent import made_up_game
from kanachan.play.mjai_server import PROGRAM, Bot, serve

if TYPE_CHECKING:
    from kanachan.inference.policy import Policy
    from kanachan.play.mjai_bot import MjaiBot

_DESCRIPTION = """Plays at an mjai table: reads one event per line from standard input, and writes one answer per line
to standard output: {"type":"none"} if the seat cannot act or passes. Tiles that the seat cannot see may be "?". An
answer has "meta" with Mortal's fields and, for all candidates, probabilities, expected_points and rank_probabilities if
the weights predict them. The answer to a line that is not an event, or that cannot follow the lines before it, is
{"type":"error","message":...}, as are all further answers until the next round or game starts."""


def main(argv: Sequence[str] | None = None) -> int:
    set_environment()
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.sample is not None and not arguments.sample > 0:
        parser.error(f"--sample must be positive, not {arguments.sample}")
    if arguments.seed < 0:
        parser.error(f"--seed must not be negative, not {arguments.seed}")
    if arguments.connect is None and arguments.seat is None:
        parser.error("SEAT is missing, 0 ... 3 (of three players 0 ... 2)")
    if arguments.connect is not None and arguments.seat is not None:
        parser.error("SEAT has no effect with --connect: the server assigns it")
    if (arguments.connect is None) != (arguments.token_file is None):
        parser.error("--connect and --token-file belong together")
    return run_cleanly(PROGRAM, lambda: _run(arguments))


def _run(arguments: argparse.Namespace) -> None:
    named = parse_weights(arguments.weights)
    require_policies(named.weights)
    token = _token(arguments) if arguments.connect is not None else ""
    seat: int = arguments.seat or 0
    # Heavy imports come only now, after the arguments have been found valid.
    with no_search_for_cycles():  # saves a tenth of the time until the first answer: almost all objects stay
        import torch

        from annotate.game.features import ObservationEncoder
        from kanachan.play.mjai_bot import MjaiBot

        torch.set_num_threads(1)  # more threads are slower for one decision
        policy = _policy(arguments, named)
        style = STYLES.index(arguments.style)
        num_seats = policy.vocabulary.num_seats
        if seat >= num_seats:
            raise ValueError(
                f"{arguments.weights}: for games of {num_seats} players: give a seat from 0 to {num_seats - 1}"
            )
        grades = grades_by_seat(arguments.grades, num_seats)
        encoder = ObservationEncoder(policy.vocabulary, arguments.room, style, grades)
        player = MjaiBot(policy, seat, arguments.rules, encoder, sampling=arguments.sample, seed=arguments.seed)
        _warm_up(MjaiBot(policy, seat, arguments.rules, encoder))
    if arguments.connect is not None:
        from kanachan.play.riichi_dev import Arena, play

        play(Arena(Bot(player, is_seated=True)), arguments.connect, token)
        return
    serve(Bot(player), sys.stdin.buffer, sys.stdout)


def _token(arguments: argparse.Namespace) -> str:
    """Reads the account's token for the arena. Raises ValueError if there is none."""
    require_extra("connect", ("websockets",))
    try:
        token = Path(arguments.token_file).read_text(encoding="utf-8").strip()
    except UnicodeDecodeError as error:
        raise ValueError(f"{arguments.token_file}: not UTF-8: {error}") from None
    if not token:
        raise ValueError(f"{arguments.token_file}: empty; the token of the account expected")
    return token


def _warm_up(player: "MjaiBot") -> None:
    """Computes one answer in advance, since the first answer takes ten times as long."""
    (_, start, draw), _ = made_up_game(player.seat, player.num_seats)
    player.start_round(start)
    player.follow(draw)


def _policy(arguments: argparse.Namespace, named: AgentSpec) -> "Policy":
    from kanachan.inference.policy import Policy
    from kanachan.models.device import chosen_device

    if named.is_int8:
        if arguments.device not in ("auto", "cpu"):
            raise ValueError(f"--device {arguments.device}: int8 matrices run on the CPU; leave it out")
        from kanachan.inference.int8_network import with_int8

        report_int8(PROGRAM, arguments.weights)
        return with_int8(Policy.load(named.weights), arguments.weights)
    return Policy.load(named.weights, chosen_device(arguments.device))


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(PROGRAM, description=_DESCRIPTION)
    parser.add_argument(
        "weights",
        metavar="WEIGHTS",
        help=f"{WEIGHTS_HELP}, of any stage; WEIGHTS:int8 for int8 matrices (see kanachan-arena --help)",
    )
    parser.add_argument(
        "seat",
        metavar="SEAT",
        type=int,
        choices=range(NUMS_OF_SEATS[-1]),
        nargs="?",
        help="seat to play, 0 ... 3; not with --connect, as the server then assigns it",
    )
    online = parser.add_argument_group("an arena over a WebSocket, such as riichi.dev")
    online.add_argument(
        "--connect",
        metavar="URL",
        help="play at this arena, such as wss://game.riichi.dev/ws/validate or /ws/ranked: answers each request_action "
        "with one of its possible_actions, reconnects if the connection is lost, ends when the server closes it",
    )
    online.add_argument("--token-file", metavar="FILE", help="file with the token of the account")
    table = parser.add_argument_group("the table, which mjai does not describe")
    add_table_options(table)
    add_grades_option(table, "the players")
    choice = parser.add_argument_group("the choice; by default the option with the highest score")
    choice.add_argument(
        "--sample", type=float, metavar="T", help="sample an option from the softmax of the scores divided by T"
    )
    choice.add_argument("--seed", type=int, default=0, help="seed of the samples (default: %(default)s)")
    add_device_option(parser)
    return parser
