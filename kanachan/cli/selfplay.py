"""kanachan-selfplay: plays games and writes them to shards."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from tqdm import tqdm

from annotate.game.record_writer import SUFFIX
from annotate.runtime.arguments import CommandParser, add_force_option
from annotate.runtime.files import check_output, name_where_disk_is_full, require_folder
from annotate.runtime.signals import noting_stop_signals
from annotate.runtime.terminal import error_text, require_positive, run_cleanly
from kanachan.cli.environment import set_environment
from kanachan.cli.options import add_grades_option, add_table_options, require_policies
from kanachan.cli.player_options import (
    PlayerFormatter,
    add_execution_options,
    add_players_option,
    print_speed,
    report_int8,
    report_missing_records,
    shared_settings,
    vocabulary_of_players,
)
from kanachan.data.pack_options import add_options, packing_of
from kanachan.play.agent_spec import MIXTURE_HELP, SPEC_HELP, AgentSpec, parse_mixture
from kanachan.play.selfplay import SelfPlay
from kanachan.policy_config import BackendName

if TYPE_CHECKING:
    from kanachan.data.played_games import PlayedGame, PlayedGames
    from kanachan.play.playing import GameStream

PROGRAM = "kanachan-selfplay"
_DESCRIPTION = """Plays games and writes the decisions of all seats into a folder of shards, as kanachan-pack does, with
hidden hands and the log probability that the player assigned to its action. The shards are a function of players,
settings and seed; after any interruption, the same command resumes. A game that its engine cannot play to the end is
left out and reported."""
_MOST_SHOWN = 10


def main(argv: Sequence[str] | None = None) -> int:
    set_environment()
    parser = _parser()
    arguments = parser.parse_args(argv)
    require_positive(parser, arguments, "games", "processes", "together")
    if arguments.address is not None and arguments.backend != "ray":
        parser.error("--address is for Ray clusters: give it with --backend ray")
    if arguments.backend == "inline" and arguments.processes not in (None, 1):
        parser.error(f"-j {arguments.processes} has no effect with --backend inline; leave one of them out")
    if arguments.address is not None:
        if arguments.device not in ("auto", "cpu"):
            parser.error(
                f"--device {arguments.device}: on a cluster (--address) each worker computes on a core; remove it"
            )
        arguments.device = "cpu"  # otherwise each worker would have a network, a cache and a context on its first GPU
    return run_cleanly(PROGRAM, lambda: _run(arguments))


def _parser() -> argparse.ArgumentParser:
    epilog = f"{SPEC_HELP}\n{MIXTURE_HELP}"
    parser = CommandParser(PROGRAM, description=_DESCRIPTION, epilog=epilog, formatter_class=PlayerFormatter)
    parser.add_argument("players", nargs="+", metavar="PLAYER", help="a PLAYER, or PLAYER=SHARE, see below")
    parser.add_argument("-n", "--games", type=int, required=True, help="number of games")
    parser.add_argument("-o", "--output", required=True, metavar="SHARDS", help="folder to write the shards to")
    parser.add_argument(
        "--explore",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="share of the networks' actions that are drawn uniformly from all possible actions, such as 0.05; needs "
        "players with a temperature (default: 0)",
    )
    add_table_options(parser, room=", an input of the models; grading points are those of this Mahjong Soul room")
    add_grades_option(parser, "the players")
    add_players_option(parser)
    add_options(parser, seed="seed of the games and of the order of the rows")
    parser.add_argument("--records", metavar="DIR", help="also write the games as mjai records, one file per game")
    parser.add_argument(
        "--restart", action="store_true", help="discard the games of an interrupted run instead of resuming it"
    )
    add_force_option(parser)
    parser.add_argument(
        "--backend",
        choices=get_args(BackendName),
        help="inline: this process; processes: several processes on this machine; ray: Ray, here or on a cluster "
        "(extra ray) (default: processes; with -j 1, inline)",
    )
    parser.add_argument("--address", help="with --backend ray: the cluster's HOST:PORT, or auto on one of its machines")
    add_execution_options(parser, processes="; with --address, all cores of the cluster")
    return parser


def _run(arguments: argparse.Namespace) -> int:
    players, shares = parse_mixture(arguments.players)
    require_policies(*(player.weights for player in players if player.weights))
    require_folder(arguments.output)
    packing = packing_of(arguments)
    if arguments.records is not None:
        require_folder(arguments.records)
        check_output(str(Path(arguments.records) / "GAME"))
    selfplay = _selfplay(arguments, players, shares)
    # heavy imports come only now, after the arguments have been found valid
    from kanachan.data.played_games import PlayedGames
    from kanachan.play.playing import Execution
    from kanachan.play.selfplay_run import stream_of

    backend: BackendName = arguments.backend or ("inline" if arguments.processes == 1 else "processes")
    execution = Execution(
        backend=backend,
        workers=arguments.processes,
        address=arguments.address,
        together=arguments.together,
        device=selfplay.device if arguments.device == "auto" else arguments.device,
        records=Path(arguments.records) if arguments.records else None,
    )
    games = PlayedGames(
        Path(arguments.output),
        arguments.games,
        selfplay.as_json(),
        f"self-play {selfplay.key} of {' '.join(arguments.players)}",
        packing,
        selfplay.vocabulary,
    )
    report_int8(PROGRAM, *(player.text for player in players))
    with games.opened(force=arguments.force, restart=arguments.restart):
        if execution.records is not None:
            ids = map(selfplay.game_id, games.held - games.failures.keys())
            report_missing_records(PROGRAM, (execution.records / f"{id_}{SUFFIX}" for id_ in ids))
        try:
            return _play(stream_of(selfplay, execution, packing.seed), games)
        except (ValueError, OSError) as error:
            if isinstance(error, OSError):
                name_where_disk_is_full(error, arguments.output)
            if games.is_empty:
                raise
            kind = ValueError if isinstance(error, ValueError) else OSError
            raise kind(f"{error_text(error)}; games that have ended are kept: the same command resumes") from None


def _selfplay(arguments: argparse.Namespace, players: Sequence[AgentSpec], shares: tuple[float, ...]) -> SelfPlay:
    vocabulary = vocabulary_of_players(players, arguments.num_seats)
    return SelfPlay(
        vocabulary=vocabulary,
        players=tuple(player.text for player in players),
        shares=shares,
        explore=arguments.explore,
        **shared_settings(arguments, players, vocabulary),
    )


def _play(stream: "GameStream[PlayedGame]", games: "PlayedGames") -> int:
    """Plays the missing games into an opened folder, publishes the shards, and returns the exit status."""
    from kanachan.play.selfplay_run import run_selfplay

    if games.held:
        print(f"{PROGRAM}: resuming {games.folder} after {len(games.held):,} games", file=sys.stderr)
    num_games, num_decisions, start = len(games.held), games.num_decisions, time.monotonic()
    bar = tqdm(total=games.num_games, initial=len(games.held), unit="game", disable=None, smoothing=0.05)
    with noting_stop_signals() as stop, bar:
        run_selfplay(stream, games, lambda _: bar.update(), stop)
    num_games, num_decisions = len(games.held) - num_games, games.num_decisions - num_decisions
    print_speed(PROGRAM, num_games, num_decisions, time.monotonic() - start)
    if stop.received is not None:
        print(
            f"{PROGRAM}: stopped by {stop.received.name} after {len(games.held):,} games; the same command resumes",
            file=sys.stderr,
        )
        return 128 + stop.received
    for text in [games.failures[number] for number in sorted(games.failures)][:_MOST_SHOWN]:
        print(f"{PROGRAM}: warning: left out: {text}", file=sys.stderr)
    if len(games.failures) > _MOST_SHOWN:
        print(f"{PROGRAM}: warning: {len(games.failures):,} games were left out in all", file=sys.stderr)
    games.publish().report(PROGRAM, games.folder, games.packing.fractions)
    return 0
