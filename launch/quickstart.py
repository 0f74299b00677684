"""The steps of launch/quickstart.sh after the installation: from games to a table of results and a review page.

Steps that are done already are skipped. Results from other records than the given ones are set aside.
"""

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from annotate.game.record import Game
from annotate.records.finding import archive_of, check_paths, find_files
from annotate.records.reading import games_of, num_players_of_first, read_record, records_of
from annotate.runtime.files import replacing
from annotate.runtime.terminal import run_cleanly
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.data.dataset_card import README_NAME
from kanachan.data.shard_folder import splits_in
from kanachan.data.shards import open_shards
from kanachan.models.reference import FIRST_STAGE, shipped_name
from kanachan.models.weights import read_weights
from kanachan.objectives.networks import objective_class
from kanachan.objectives.stages import STAGES

CHECKOUT = Path(__file__).resolve().parents[1]
GAMES, IMITATION_STEPS, LATER_STEPS, BATCH = 300, 1600, 500, 64
MOST_TRIED = 50
"""number of records to search for one that can be reviewed"""
LEAST_GAMES = 30
FEW_FILES = 100
"""with fewer files of records, more games are held out, so that the measurements are meaningful"""
ADVICE = """
== what to expect

A network of this size, trained for minutes, imitates the common discards, but loses to rule-based players: the network
of the simulated games had a mean rank of 3.5 of 4 against them. Values (round delta, rank, grading) need thousands of
games: after a few hundred they are no better than the scores alone. The network `{shipped}` has learned from {games:,}
games of strong players.

== next steps (see README.md and docs/)

the review of a game, in a browser:
    xdg-open {work}/review.html
the review of any game, with the network of the package:
    {bin}/kanachan-review RECORD {shipped} --seat all -o game.html
100 games against rule-based players:
    {bin}/kanachan-arena {work}/runs/imitation rule -n 100
a bot for an mjai table, in seat 2:
    {bin}/kanachan-bot {shipped} 2
every decision of a game with its prediction:
    {bin}/kanachan-annotate RECORD -o - | {bin}/kanachan-predict {work}/runs/imitation - --explain | less
all metrics, and the calibration as a picture:
    less {work}/runs/evaluation.txt; xdg-open {work}/runs/reliability.png
a larger model, for an hour or more:
    {launch}/curriculum.sh {work}/shards --output {work}/small -- --model.size small
the same with your game records:
    {launch}/quickstart.sh RECORDS…"""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="quickstart.sh", description=__doc__)
    parser.add_argument("records", metavar="RECORD", nargs="*", help="game records; none: simulated games")
    parser.add_argument("--folder", type=Path, required=True, help="folder for all results")
    arguments = parser.parse_args(argv)
    return run_cleanly(parser.prog, lambda: quickstart(arguments.folder, arguments.records))


def quickstart(folder: Path, records: Sequence[str]) -> None:
    """Runs all steps that are not done yet. Raises ValueError if no or too few records are found."""
    work = folder / ("records" if records else "simulated")
    files = files_of(records) if records else {f"{GAMES} simulated games": [0, 0]}
    num_players = num_players_of_first(records) or FOUR_PLAYERS.num_seats
    shipped = shipped_name(FIRST_STAGE, num_players)
    work.mkdir(parents=True, exist_ok=True)
    set_aside_others(work, files)

    games = records or [str(work / "games")]
    if records and not (work / "review-reference.html").exists():
        review(games, num_players, [shipped], work / "review-reference.html")
    if records:
        require_games(list(files), num_players)

    shards = work / "shards"
    if not (shards / README_NAME).is_file():  # which is written after all shards
        if not records:
            say(f"simulating {GAMES:,} games between rule-based players")
            run("kanachan-simulate", "-n", GAMES, "--rules", "mjsoul", "--seed", "1", "-o", *games)
        one_in = 5 if len(files) < FEW_FILES and records else 10
        say(f"annotating every decision; one game in {one_in} is held out for validation, as many for the test")
        fractions = f"{1 - 2 / one_in},{1 / one_in},{1 / one_in}"
        run("kanachan-annotate", *games, "--players", num_players, "--pack", shards, "--fractions", fractions)
    if len(splits_in(shards)) < 3:
        raise ValueError(
            f"too few games of {num_players} players to hold out some for validation and test ({len(files):,} "
            "files of records): add records, to about 30 games or more, and give the same command again"
        )
    if (game := first_game(games, num_players)) is not None:
        say("a decision in words")
        run("kanachan-annotate", game[0], "--players", num_players, "--explain", "20")

    steps = max(1, min(LATER_STEPS, len(open_shards(shards, "train")) // BATCH))
    lengths = ("--imitation-steps", IMITATION_STEPS, "--later-steps", steps)
    settings = ("--config", CHECKOUT / "configs" / "quickstart.yaml")
    run(CHECKOUT / "launch" / "curriculum.sh", shards, "--output", work / "runs", *lengths, "--", *settings)

    if not (work / "review.html").exists():
        review(games, num_players, learned(work / "runs"), work / "review.html")
    num_games = len(read_weights(shipped).learned_games.key_G)
    places = {"work": typed(work), "bin": typed(Path(sys.prefix, "bin")), "launch": typed(CHECKOUT / "launch")}
    print(ADVICE.format(shipped=shipped, games=num_games, **places), file=sys.stderr)


def say(text: str) -> None:
    print(f"\n== {text}", file=sys.stderr, flush=True)


def run(*command: object) -> None:
    """Runs a command to its end. Ends this program if the command failed or was stopped by Ctrl-C, sent to both."""
    stopped: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: stopped.append(number))
    try:
        status = subprocess.run([str(word) for word in command]).returncode
    finally:
        signal.signal(signal.SIGINT, before)
    if status < 0 and not stopped:
        raise ChildProcessError(f"{command[0]} was killed by signal {-status}; the same command continues")
    if stopped:
        say("stopped; the same command resumes")
    if status or stopped:
        raise SystemExit(status if status > 0 else 128 + signal.SIGINT)


def files_of(paths: Sequence[str]) -> dict[str, list[int]]:
    """Returns the size and modification time of each file of records. Raises ValueError if a path matches nothing."""
    check_paths(paths)
    found = {}
    for path in sorted(os.path.realpath(path) for path in find_files(paths)):
        about = os.stat(archive_of(path)[0])
        found[path] = [about.st_size, about.st_mtime_ns]
    return found


def require_games(files: Sequence[str], num_players: int) -> None:
    """Raises ValueError if files of records contain too few games to learn from."""
    found, unreadable = 0, ""
    for record in records_of(files):
        try:
            games = (game for game in games_of(record) if isinstance(game, Game))
            found += sum(game.vocabulary.num_seats == num_players for game in games)
        except ValueError as error:
            unreadable = unreadable or f" (not readable: {error})"
        if found >= LEAST_GAMES:
            return
    raise ValueError(
        f"{found} games of {num_players} players{unreadable}: at least {LEAST_GAMES} are needed to train on and to "
        "hold out enough for meaningful results; to review one: kanachan review GAME"
    )


def set_aside_others(work: Path, files: dict[str, list[int]]) -> None:
    """Moves results from other files to a separate folder, and stores the files from which results will be made."""
    made_from = work / "made-from.json"
    if made_from.exists() and json.loads(made_from.read_text()) == files:
        return
    made = [path for path in work.iterdir() if path.name != "games" and not path.name.startswith("before-")]
    if made:
        kept = work / f"before-{1 + sum(path.name.startswith('before-') for path in work.iterdir())}"
        kept.mkdir()
        for path in sorted(made, key=lambda path: path == made_from):  # last: an interrupted move is then completed
            path.rename(kept / path.name)
        say(f"other records than last time; starting again. The earlier results are kept in {typed(kept)}")
    with replacing(made_from) as path:
        path.write_text(json.dumps(files, indent=0))


def review(records: Sequence[str], num_players: int, weights: Sequence[object], page: Path) -> None:
    """Writes the page of the first complete game."""
    if (game := first_game(records, num_players)) is not None:
        say(f"a review of one of the games, by {', '.join(map(str, weights))}")
        run("kanachan-review", game[0], *weights, "--game", game[1], "--seat", "all", "-o", page)
        print(f"Open {typed(page)} in a browser: {page.absolute().as_uri()}", file=sys.stderr)


def first_game(records: Sequence[str], num_players: int) -> tuple[str, int] | None:
    """Returns the path of the first complete game of `num_players` in `MOST_TRIED` records, and its number there."""
    for record in islice(records_of(find_files(records)), MOST_TRIED):
        try:
            games = read_record(record)
        except ValueError:
            continue
        for number, game in enumerate(games, start=1):
            if game.vocabulary.num_seats == num_players and game.final_scores is not None and game.rounds:
                return record.name, number
    return None


def learned(runs: Path) -> list[Path]:
    """Returns the runs to use for a review: imitation, and the runs whose values are better than the scores alone."""
    networks = json.loads((runs / "evaluation.json").read_text())["weights"]
    better = {network["stage"] for network in networks if network["verdict"]["is_better"]}
    return [runs / stage for stage in STAGES if stage in better or not objective_class(stage).has_value]


def typed(path: Path) -> str:
    """Formats a path for typing in a shell: relative to the current folder if it is below this folder."""
    absolute = Path(os.path.abspath(path))
    below = absolute.is_relative_to(Path.cwd())
    return shlex.quote(str(absolute.relative_to(Path.cwd()) if below else absolute))


if __name__ == "__main__":
    sys.exit(main())
