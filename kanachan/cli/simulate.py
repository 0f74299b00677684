"""kanachan-simulate: simulates games between rule-based players."""

import argparse
import sys
from collections.abc import Sequence
from typing import get_args

from annotate.game.record import Rules
from annotate.game.settings import DEFAULT_RULES, NUM_ROOMS, STYLES
from annotate.runtime.arguments import CommandParser
from annotate.runtime.resources import num_cores
from annotate.runtime.terminal import require_positive, run_cleanly
from annotate.simulation.simulate import Options, run
from annotate.vocabulary import NUMS_OF_SEATS, vocabulary_of_seats


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        "kanachan-simulate",
        description="Simulates whole games of riichi mahjong between rule-based players and writes each "
        "game's record as mjai JSON lines (gzip). The same seed and settings give the same files, on any number of "
        "cores; existing files are kept, so an interrupted run is resumed by the same command.",
    )
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="folder for the records, one per game")
    parser.add_argument("-n", "--games", type=int, required=True, help="number of games")
    parser.add_argument(
        "--players", type=int, choices=NUMS_OF_SEATS, default=NUMS_OF_SEATS[-1], help="players (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="other seeds give other games (default: %(default)s)")
    parser.add_argument("--style", choices=STYLES, default="south", help="length of the games (default: %(default)s)")
    parser.add_argument(
        "--rules", choices=get_args(Rules), default=DEFAULT_RULES, help="rule set (default: %(default)s)"
    )
    parser.add_argument(
        "--room", type=int, choices=range(NUM_ROOMS), help="0 Bronze ... 4 Throne (default: drawn for each game)"
    )
    parser.add_argument(
        "-j", "--processes", type=int, default=num_cores(), help="worker processes (default: all %(default)s cores)"
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    parser = _parser()
    arguments = parser.parse_args(argv)
    require_positive(parser, arguments, "games", "processes")

    def body() -> int:
        options = Options(
            vocabulary=vocabulary_of_seats(arguments.players),
            folder=arguments.output,
            num_games=arguments.games,
            seed=arguments.seed,
            style=STYLES.index(arguments.style),
            rules=arguments.rules,
            room=arguments.room,
            num_processes=arguments.processes,
        )
        counts = run(options)
        kept = f", {counts['kept']:,} of them simulated before" if counts["kept"] else ""
        mean = counts["rounds"] / counts["games"]
        print(f"{counts['games']:,} games{kept}, {counts['rounds']:,} rounds ({mean:.1f} a game)", file=sys.stderr)
        return 0

    return run_cleanly(parser.prog, body)
