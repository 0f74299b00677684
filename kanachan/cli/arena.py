"""kanachan-arena: compares two players in duplicate games."""

import argparse
import math
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from tqdm import tqdm

from annotate.game.grading import FIRST_DAN, tenhou_delta
from annotate.game.record_writer import SUFFIX
from annotate.game.settings import DEFAULT_GRADE, STYLES
from annotate.runtime.arguments import CommandParser, add_force_option
from annotate.runtime.files import check_output, require_folder
from annotate.runtime.journal import Journal
from annotate.runtime.resources import num_cores
from annotate.runtime.signals import StopRequest, noting_stop_signals
from annotate.runtime.terminal import require_positive, run_cleanly
from kanachan.cli.environment import set_environment
from kanachan.cli.options import (
    add_bootstrap_option,
    add_table_options,
    parse_grades,
    parse_points,
    print_report,
    require_policies,
)
from kanachan.cli.player_options import (
    PlayerFormatter,
    add_execution_options,
    add_players_option,
    precision_of,
    print_speed,
    report_int8,
    report_missing_records,
    shared_settings,
    vocabulary_of_players,
)
from kanachan.models.card import weights_file
from kanachan.play.agent import GameKey, IllegalAction
from kanachan.play.agent_spec import SPEC_HELP, AgentSpec, parse_agent
from kanachan.play.match import PLAYERS, Format, GameResult, Match, default_format, num_seatings, vocabulary_of_format
from kanachan.play.playing import Execution, GameStream, play_games

if TYPE_CHECKING:
    from kanachan.play.statistics import MatchStatistics

PROGRAM = "kanachan-arena"
FORMAT_VERSION = 2
_SEVEN_DAN = FIRST_DAN + 6
_LEAST_DIFFERENCE, _GREATEST_DIFFERENCE = 0.0001, 3.0
_DESCRIPTION = """Plays duplicate games between two players, A and B: each wall is played once in each seating, so that
both get the same tiles. Prints the ranks, points and habits of both players and their differences, with 95 % intervals
from a bootstrap of whole walls; a test of whether the mean ranks differ; and the number of games needed to detect a
given difference. Fix the number of games in advance: stopping at a favourable result invalidates the result. Ctrl-C
prints the result so far."""
_LABELS: dict[str, tuple[str, int, float]] = {
    "mean_rank": ("mean rank", 3, 1),
    "rank_1": ("1st %", 1, 100),
    "rank_2": ("2nd %", 1, 100),
    "rank_3": ("3rd %", 1, 100),
    "rank_4": ("4th %", 1, 100),
    "points": ("rank points", 2, 1),
    "grading_points": ("grading points", 1, 1),
    "stable_dan": ("stable dan", 2, 1),
    "score": ("final score", 0, 1),
    "win_rate": ("wins % of rounds", 1, 100),
    "deal_in_rate": ("deal-ins % of rounds", 1, 100),
    "call_rate": ("calls % of rounds", 1, 100),
    "riichi_rate": ("riichi % of rounds", 1, 100),
    "won_points": ("points of a win", 0, 1),
}
"""name, digits and scale of each metric"""
_ADVICE = "--force starts from scratch"
_STAR = "*: the interval excludes zero, as one in twenty does by chance if the players are equally good"


def main(argv: Sequence[str] | None = None) -> int:
    set_environment()
    parser = _parser()
    arguments = parser.parse_args(argv)
    require_positive(parser, arguments, "games", "processes", "together", "bootstrap")
    if not _LEAST_DIFFERENCE <= arguments.difference <= _GREATEST_DIFFERENCE:
        parser.error(
            f"--difference must be from {_LEAST_DIFFERENCE} to {_GREATEST_DIFFERENCE}, not {arguments.difference}"
        )
    if arguments.seed < 0:
        parser.error(f"--seed must not be negative, not {arguments.seed}")
    if arguments.resume and arguments.json is None:
        parser.error("--resume continues the journal of --json FILE: name it")
    return run_cleanly(PROGRAM, lambda: _run(arguments))


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(PROGRAM, description=_DESCRIPTION, epilog=SPEC_HELP, formatter_class=PlayerFormatter)
    for letter in PLAYERS:
        parser.add_argument(letter.lower(), metavar=letter, help="a PLAYER, see below")
    parser.add_argument("-n", "--games", type=int, required=True, help="number of games; rounded up to whole walls")
    parser.add_argument(
        "--format",
        choices=get_args(Format),
        help="1v3: A in each seat in turn against three copies of B, 4 games per wall; 2v2: two of A and two of B, "
        "then with seats swapped, 2 games per wall; for three players 1v2: A in each seat in turn against two of B, "
        "and 2v1: B against two of A, 3 games per wall (default: 1v3 or 1v2)",
    )
    add_players_option(parser)
    add_table_options(
        parser,
        room=", an input of the models; grading points are those of this Mahjong Soul room, under any rules",
    )
    parser.add_argument(
        "--grades",
        type=_grades,
        default=(DEFAULT_GRADE, DEFAULT_GRADE),
        metavar="G[,G]",
        help="grade of all players, or grades of A and B, 0 ... 15, also an input of the models (default: 14)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the walls (default: %(default)s)")
    parser.add_argument(
        "--points",
        type=parse_points,
        metavar="P,P,P[,P]",
        help="rank points from 1st to last place (default: those of Tenhou's Houou table at 7 dan, such as "
        "90,45,0,-135 for South games of four players)",
    )
    parser.add_argument(
        "--difference",
        type=float,
        default=0.05,
        help="difference of mean ranks for which to compute the number of games needed (default: %(default)s)",
    )
    add_bootstrap_option(parser)
    parser.add_argument("--json", metavar="FILE", help="file to write all metrics to; the journal is FILE.games")
    parser.add_argument("--records", metavar="DIR", help="folder for the games as mjai records, one file per game")
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument(
        "--resume",
        action="store_true",
        help="continue the run of the journal next to --json, however it ended; --games may be larger than before",
    )
    add_force_option(existing)
    add_execution_options(parser)
    return parser


def _grades(text: str) -> tuple[int, int]:
    grades = parse_grades(text, (1, 2))
    return grades[0], grades[-1]


def _run(arguments: argparse.Namespace) -> int:
    if arguments.records is not None:
        require_folder(arguments.records)
    match = _match(arguments)
    arguments.points = _points_of(arguments.points, match.style, match.vocabulary.num_seats)
    with closing(_journal(arguments, match)) as journal:
        try:
            found = {result.game: result for result in (GameResult(**entry) for entry in journal.entries())}
        except TypeError as unfit:
            raise ValueError(f"{arguments.json}.games: damaged ({unfit}): {_ADVICE}") from None
        games = match.games(arguments.games)
        _check_existing(arguments, match, found, games)
        report_int8(PROGRAM, *dict.fromkeys(match.players))
        with noting_stop_signals() as stop:
            error = _play(arguments, match, journal, found, games, stop)
        results = [found[game] for game in games if game in found]
        if stop.received is not None:
            _print_stopped(len(results), arguments.json)
        if results:
            _print_results(results, error, len(games), match, arguments)
        if error is not None:
            raise error
    return 0 if stop.received is None else 128 + stop.received


def _journal(arguments: argparse.Namespace, match: Match) -> Journal:
    """Opens the journal next to --json, which has a line per game, and prevents other matches from writing to it."""
    if arguments.json is None:
        return Journal(None, {}, is_light=True)
    weights = filter(None, (parse_agent(player).weights for player in match.players))
    check_output(arguments.json, [str(weights_file(path)) for path in weights])
    path, settings = Path(f"{arguments.json}.games"), {"arena": 4, **asdict(match)}
    return Journal(path, settings, restart=arguments.force, advice=_ADVICE, is_light=True)


def _play(
    arguments: argparse.Namespace,
    match: Match,
    journal: Journal,
    found: dict[GameKey, GameResult],
    games: Sequence[GameKey],
    stop: StopRequest,
) -> Exception | None:
    """Plays the games that are not in `found`, and adds the results to `found` and to the journal. Returns the error
    that ended the run, if any."""
    execution = Execution(
        backend="inline" if (arguments.processes or num_cores()) == 1 else "processes",
        workers=arguments.processes,
        together=arguments.together,
        device=arguments.device,
        records=Path(arguments.records) if arguments.records else None,
    )
    stream = GameStream(series=match, finish=GameResult.of, execution=execution)
    missing = [game for game in games if game not in found]
    num_before, num_decisions, start = len(found), 0, time.monotonic()
    error: Exception | None = None
    with tqdm(total=len(games), initial=len(games) - len(missing), unit="game", disable=None, smoothing=0.05) as bar:
        try:
            with closing(play_games(stream, missing, stop)) as played:
                for game, result in played:
                    journal.add(asdict(result))
                    found[game] = result
                    num_decisions += sum(result.decisions)
                    bar.update()
        except Exception as caught:  # the results so far are printed first
            error = caught
    print_speed(PROGRAM, len(found) - num_before, num_decisions, time.monotonic() - start)
    return error


def _match(arguments: argparse.Namespace) -> Match:
    specs = parse_agent(arguments.a), parse_agent(arguments.b)
    require_policies(*(spec.weights for spec in specs if spec.weights))
    format_ = _format(arguments, specs)
    shared = shared_settings(arguments, specs, vocabulary_of_format(format_))
    return Match(players=(arguments.a, arguments.b), format=format_, **shared)


def _format(arguments: argparse.Namespace, specs: Sequence[AgentSpec]) -> Format:
    given: Format | None = arguments.format
    num_seats: int | None = arguments.num_seats
    if given is not None and num_seats is None and not any(spec.weights for spec in specs):
        return given
    vocabulary = vocabulary_of_players(specs, num_seats)
    if given is None:
        return default_format(vocabulary)
    if (of_format := vocabulary_of_format(given)) is not vocabulary:
        raise ValueError(
            f"--format {given}: for games of {of_format.num_seats} players, but --players or the weights are for "
            f"{vocabulary.num_seats}"
        )
    return given


def _points_of(given: tuple[float, ...] | None, style: int, num_seats: int) -> tuple[float, ...]:
    """Returns the rank points, first to last: the given ones, or the points of 7 dan."""
    if given is None:
        return tuple(float(tenhou_delta(rank, _SEVEN_DAN, "houou", style, num_seats)) for rank in range(num_seats))
    if len(given) != num_seats:
        raise ValueError(f"--points {','.join(f'{p:g}' for p in given)}: one for each of {num_seats} places expected")
    return given


def _check_existing(
    arguments: argparse.Namespace, match: Match, found: dict[GameKey, GameResult], games: Sequence[GameKey]
) -> None:
    """Raises ValueError if the match would replace files that do not belong to the run that it resumes."""
    if arguments.force:
        return
    if found and not arguments.resume:
        missing = len(set(games) - found.keys())
        what = f"{missing:,} are missing" if missing else "a larger -n adds more"
        raise ValueError(
            f"{arguments.json}.games: the games of an earlier run ({what}): continue them with --resume, or start from "
            "scratch with --force"
        )
    if found.keys() - set(games):
        raise ValueError(
            f"{arguments.json}.games: {len(found):,} games are done: give at least as many, or start from scratch with "
            "--force"
        )
    if arguments.json and not found:
        check_output(arguments.json, force=False)
    if not arguments.records:
        return
    records = [Path(arguments.records) / f"{match.game_id(game)}{SUFFIX}" for game in games]
    check_output(str(records[0]))
    if not arguments.resume:
        for path in filter(Path.exists, records):
            raise ValueError(f"{path}: exists: name another folder, or replace its games of this match with --force")
    report_missing_records(PROGRAM, [path for game, path in zip(games, records, strict=True) if game in found])


def _print_stopped(num_results: int, json_path: str | None) -> None:
    what = "interrupted; --resume continues" if json_path else "interrupted"
    if not num_results:
        what = (
            "interrupted before a game had ended, so there is no result and nothing to resume: games advance together, "
            "so the first games end late; wait longer, or give a smaller --together"
        )
    print(f"{PROGRAM}: {what}", file=sys.stderr)


def _print_results(
    results: Sequence[GameResult],
    error: Exception | None,
    num_games: int,
    match: Match,
    arguments: argparse.Namespace,
) -> None:
    """Prints the statistics, and writes them to the file given by --json."""
    from kanachan.play.statistics import FEWEST_WALLS, as_json, match_statistics

    num_illegal = int(isinstance(error, IllegalAction))
    statistics = match_statistics(results, match, arguments.points, arguments.bootstrap)
    needed = None
    if statistics.test.whole_walls >= FEWEST_WALLS:
        needed = statistics.test.games_for(arguments.difference, num_seatings(match.format))
    decisions = {
        letter: sum(d for r in results for d, player in zip(r.decisions, r.players, strict=True) if player == letter)
        for letter in PLAYERS
    }
    content = {
        "format_version": FORMAT_VERSION,
        "match": asdict(match),
        "points": arguments.points,
        "games": len(results),
        "games_wanted": num_games,
        "rounds": sum(result.rounds for result in results),
        "draws": sum(result.draws for result in results),
        "decisions": decisions,
        "illegal_actions": num_illegal,
        **as_json(statistics),
        "games_needed": {"difference": arguments.difference, "games": needed},
        "bootstrap": arguments.bootstrap,
    }
    text = _report(results, num_games, match, arguments, statistics, needed)
    played = f"decisions: A {decisions['A']:,}, B {decisions['B']:,}; illegal actions: {num_illegal}"
    print_report(f"{text}\n{played}", arguments.json or None, content)


def _report(
    results: Sequence[GameResult],
    num_games: int,
    match: Match,
    arguments: argparse.Namespace,
    statistics: "MatchStatistics",
    needed: int | None,
) -> str:
    from kanachan.evaluation.tables import table, with_interval
    from kanachan.play.statistics import FEWEST_WALLS

    test = statistics.test
    rounds, draws = sum(result.rounds for result in results), sum(result.draws for result in results)
    so_far = f" of {num_games:,}" if len(results) < num_games else ""
    lines = [f"{letter}: {name}" for letter, name in zip(PLAYERS, match.players, strict=True)]
    lines += [
        f"{match.format}, {match.rules}, {STYLES[match.style]}, room {match.room}, grades "
        f"{','.join(map(str, match.grades))}, seed {match.seed}, {precision_of(match)}",
        f"{len(results):,}{so_far} games on {test.walls:,} walls, {rounds:,} rounds, {draws / rounds:.1%} drawn",
        f"[brackets]: 95 % intervals from {arguments.bootstrap:,} bootstrap samples of whole walls",
    ]

    def cells(name: str) -> list[str]:
        label, digits, scale = _LABELS[name]
        last = statistics.differences[name]
        shown = [with_interval(statistics.players[letter][name], digits, scale) for letter in PLAYERS]
        is_reliable = min(test.walls, last.decisions) >= FEWEST_WALLS and math.isfinite(last.value)
        mark = "*" if is_reliable and last.excludes_zero else ""
        return [label, *shown, with_interval(last, digits, scale, sign="+"), mark]

    rows = [cells(name) for name in _LABELS if name in statistics.differences]
    if so_far:
        lines.append("short games end first: games that were still running at the stop are missing")
    lines += ["", table(["", "A", "B", "A - B", ""], rows), _STAR, ""]
    lines.append(f"mean rank, A - B: {test.difference:+.3f}, p = {test.p:.2g} (signs of {test.walls:,} walls flipped)")
    if test.walls < FEWEST_WALLS:
        lines.append("few walls: the intervals are not reliable, and the number of games needed is unknown")
    elif test.whole_walls < FEWEST_WALLS:
        lines.append(f"{test.whole_walls} whole walls: the number of games needed is unknown")
    elif needed is None:
        lines.append("all walls have the same difference: the number of games needed is unknown")
    else:
        lines.append(
            f"a difference of {arguments.difference:g} in mean rank needs {needed:,} games (80 % power at 5 %)"
        )
    return "\n".join(lines)
