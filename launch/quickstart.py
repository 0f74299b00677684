"""The steps of launch/quickstart.sh after the installation: from games to a table of results and a page to look at.

Every step is skipped if it is done. What was made from other records than those given is set aside, never shown again
as if it were new.
"""

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from annotate.records.finding import check_paths, find_files
from annotate.records.reading import num_players_of_first, read_record, records_of
from annotate.runtime.files import replacing
from annotate.runtime.terminal import run_cleanly
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.data.shard_folder import splits_in
from kanachan.data.shards import open_shards
from kanachan.models.reference import FIRST_STAGE, shipped_name
from kanachan.models.weights import read_weights
from kanachan.objectives.networks import objective_class
from kanachan.objectives.stages import STAGES

CHECKOUT = Path(__file__).resolve().parents[1]
MADE_FROM = "made-from.json"
SHOWN = 3
"""file names that a message has"""
MOST_TRIED = 50
"""records among which one is looked for that can be reviewed"""
BATCH = 64
FEW_FILES = 100
"""of records, below which more games are held out, so that they measure something"""
NUM_SPLITS = 3
"""train, validation, test"""

EXPECTATIONS = """
== what to expect

A network of this size, trained for minutes, imitates the common discards, but loses to the players by rules: the one of
the simulated games was placed 3.5 of 4 on average against them. Values (round delta, rank, grading) need thousands of
games: of a few hundred they are no better than the scores alone. The network `{name}` has learned from {games:,}
games of strong players.

== next steps (see README.md and docs/)"""

Files = dict[str, list[int]]
"""by real path: size and modification time"""


class Ended(Exception):
    """A command has failed, after a message of its own, or was stopped."""

    def __init__(self, status: int) -> None:
        self.status = status


@dataclass(frozen=True)
class Settings:
    """What to make, and where."""

    folder: Path
    records: Sequence[str]
    """none: simulated games"""
    games: int
    imitation_steps: int
    later_steps: int
    config: Path

    @property
    def work(self) -> Path:
        return self.folder / ("records" if self.records else "simulated")

    @cached_property
    def num_players(self) -> int:
        """of the games to learn from: as the first one has"""
        return num_players_of_first(self.records) or FOUR_PLAYERS.num_seats

    @property
    def shipped(self) -> str:
        """the imitation of the package for such games"""
        return shipped_name(FIRST_STAGE, self.num_players)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="quickstart.sh", description=__doc__)
    parser.add_argument("records", metavar="RECORD", nargs="*", help="game records; none: simulated games")
    parser.add_argument("--folder", type=Path, required=True, help="folder of all that is made")
    parser.add_argument("--games", type=int, default=300, help="simulated games (default: %(default)s)")
    parser.add_argument("--imitation-steps", type=int, default=1600, help="of the first stage (default: %(default)s)")
    parser.add_argument(
        "--later-steps",
        type=int,
        default=500,
        help="of each later stage, but no more than one pass over the decisions (default: %(default)s)",
    )
    parser.add_argument(
        "--config", type=Path, default=CHECKOUT / "configs" / "quickstart.yaml", help="settings of all stages"
    )
    settings = Settings(**vars(parser.parse_args(argv)))

    def body() -> int:
        try:
            quickstart(settings)
        except Ended as ended:
            return ended.status
        return 0

    return run_cleanly(parser.prog, body)


def quickstart(settings: Settings) -> None:
    """Takes all steps that are not done."""
    work = settings.work
    files = files_of(settings.records) if settings.records else {f"{settings.games} simulated games": [0, 0]}
    work.mkdir(parents=True, exist_ok=True)
    set_aside_others(work, files)
    if settings.records:
        review_with_reference(settings)
    annotations = make_annotations(settings, files)
    say("the first decision in words")
    run("kanachan-annotate", "--explain", "1", annotations)
    shards = make_shards(settings, len(files))
    steps = max(1, min(settings.later_steps, len(open_shards(shards, "train")) // BATCH))
    run(
        *(CHECKOUT / "launch" / "curriculum.sh", shards, "--output", work / "runs"),
        *("--imitation-steps", settings.imitation_steps, "--later-steps", steps, "--", "--config", settings.config),
    )
    review_with_own(settings)
    print(next_steps(settings), file=sys.stderr)


def say(text: str) -> None:
    print(f"\n== {text}", file=sys.stderr, flush=True)


def run(*command: object) -> None:
    """Runs a command to its end.

    Raises:
        Ended: it failed, or was stopped by Ctrl-C, which reaches the command as well.
    """
    stopped: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: stopped.append(number))
    try:
        status = subprocess.run([str(word) for word in command]).returncode
    finally:
        signal.signal(signal.SIGINT, before)
    if status or stopped:
        raise Ended(status if status > 0 else 128 + signal.SIGINT)


def files_of(paths: Sequence[str]) -> Files:
    """Returns the files of records; raises ValueError if a path matches nothing."""
    check_paths(paths)
    found: Files = {}
    for path in find_files(paths):
        real = os.path.realpath(path)
        about = os.stat(real)
        found[real] = [about.st_size, about.st_mtime_ns]
    return found


def changes(before: Mapping[str, list[int]], now: Mapping[str, list[int]]) -> str:
    """Describes how two sets of files differ; empty if they do not."""
    parts = {
        "added": sorted(now.keys() - before.keys()),
        "removed": sorted(before.keys() - now.keys()),
        "changed": sorted(path for path in now.keys() & before.keys() if now[path] != before[path]),
    }
    return ", ".join(f"{len(paths):,} {what} ({_names(paths)})" for what, paths in parts.items() if paths)


def _names(paths: Sequence[str]) -> str:
    names = [os.path.basename(path) for path in paths]
    return ", ".join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "")


def set_aside_others(work: Path, files: Files) -> None:
    """Moves what was made from other files to a folder of its own, or removes it if nothing was trained yet."""
    made_from = work / MADE_FROM
    if made_from.exists():
        difference = changes(json.loads(made_from.read_text()), files)
        if not difference:
            return
    elif (work / "annotations.txt.zst").exists() or (work / "runs").exists():
        difference = "it is not known which were read"  # by an earlier version, or in the step that was interrupted
    else:
        return
    made = [path for path in work.iterdir() if path.name != "games" and not path.name.startswith("before-")]
    what = f"other records than last time: {difference}"
    if not (work / "runs").exists():
        say(f"{what}; starting again")
        for path in made:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return
    number = 1
    while (work / f"before-{number}").exists():
        number += 1
    kept = work / f"before-{number}"
    kept.mkdir()
    for path in sorted(made, key=lambda path: path.name == MADE_FROM):  # last: until then the next run goes on
        path.rename(kept / path.name)
    say(f"{what}; starting again. The earlier results are kept in {typed(kept)}")


def first_game(paths: Sequence[str], num_players: int) -> str | None:
    """Returns the first record that is one whole game of so many players; None if it is not among the first ones."""
    for record in islice(records_of(find_files(paths)), MOST_TRIED):
        try:
            games = read_record(record)
        except ValueError:
            continue
        if len(games) != 1 or games[0].vocabulary.num_seats != num_players:
            continue
        if games[0].final_scores is not None and games[0].rounds:
            return record.name
    return None


def make_annotations(settings: Settings, files: Files) -> Path:
    work = settings.work
    annotations, made_from, making = work / "annotations.txt.zst", work / MADE_FROM, work / "annotating.json"
    if made_from.exists() and annotations.exists():
        return annotations
    records: Sequence[object] = settings.records
    if not records:
        records = [work / "games"]
        say(f"simulating {settings.games:,} games between rule-based players")
        simulated = ("--rules", "mjsoul", "--seed", "1", "-o", work / "games")
        run("kanachan-simulate", "-n", settings.games, *simulated)
    say("converting games to annotations: one line for each decision of each player")
    is_same = making.exists() and json.loads(making.read_text()) == files
    _write(making, files)
    players = ("--players", settings.num_players)  # where there are both kinds, the others are skipped and counted
    run("kanachan-annotate", *records, *players, "-o", annotations, *([] if is_same else ["--restart"]))
    _write(made_from, files)
    making.unlink()
    return annotations


def _write(path: Path, files: Files) -> None:
    with replacing(path) as temporary:
        Path(temporary).write_text(json.dumps(files, indent=0))


def make_shards(settings: Settings, num_files: int) -> Path:
    """Packs the annotations; raises ValueError if one of the splits would be empty."""
    work = settings.work
    shards, part = work / "shards", work / "shards.part"
    if shards.exists():
        return shards
    one_in = 5 if num_files < FEW_FILES else 10
    say(f"packing annotations into shards; one game in {one_in} is held out for validation, as many for the test")
    shutil.rmtree(part, ignore_errors=True)
    run(
        "kanachan-pack",
        work / "annotations.txt.zst",
        "-o",
        part,
        "--fractions",
        f"{1 - 2 / one_in},{1 / one_in},{1 / one_in}",
    )
    if len(splits_in(part)) < NUM_SPLITS:
        raise ValueError(
            f"too few games of {settings.num_players} players to hold out some for validation and test "
            f"({num_files:,} files of records): add records, to about 30 games or more, and give the same command again"
        )
    part.rename(shards)
    return shards


def review_with_reference(settings: Settings) -> None:
    """Writes the page of one of the user's games with the networks of the package, before anything is trained."""
    page, game = settings.work / "review-reference.html", first_game(settings.records, settings.num_players)
    if page.exists() or game is None:
        return
    say("a review of one of the games, by the network that comes with the program")
    run("kanachan-review", game, settings.shipped, "--seat", "all", "-o", page)
    print(how_to_open(page), file=sys.stderr)


def review_with_own(settings: Settings) -> None:
    """Writes the page of one of the games with the networks just trained, of values only those that learned any."""
    work = settings.work
    page, game = work / "review.html", first_game(settings.records or [str(work / "games")], settings.num_players)
    if not page.exists() and game is not None:
        say("a review of one of the games, by the networks just trained")
        run("kanachan-review", game, *learned(work / "runs"), "--seat", "all", "-o", page)


def learned(runs: Path) -> list[Path]:
    """Returns the runs to review with: imitation, and those whose values are better than the scores alone."""
    networks = json.loads((runs / "evaluation.json").read_text())["weights"]
    better = {network["stage"] for network in networks if network["verdict"]["is_better"]}
    return [runs / stage for stage in STAGES if stage in better or not objective_class(stage).has_value]


def typed(path: Path) -> str:
    """Formats a path as it can be typed: from the current folder on if it is below."""
    absolute = Path(os.path.abspath(path))
    below = absolute.is_relative_to(Path.cwd())
    return shlex.quote(str(absolute.relative_to(Path.cwd()) if below else absolute))


def how_to_open(page: Path) -> str:
    return f"Open {typed(page)} in a browser: {page.absolute().as_uri()}"


def next_steps(settings: Settings) -> str:
    """Formats what to expect of the networks, and commands to go on with."""
    work, bin_ = settings.work, Path(sys.prefix, "bin")
    runs = work / "runs"
    first, *_, last = (runs / stage for stage in STAGES)
    game = typed(work / "review.html")
    commands = {
        f"the review of a game, in a browser ({game})": f"xdg-open {game}",
        "the review of any game, with the network of the package": _command(
            bin_ / "kanachan-review", "RECORD", settings.shipped, "--seat", "all", "-o", "game.html"
        ),
        "100 games against the players by rules": _command(
            bin_ / "kanachan-arena", first, "rule", "-n", "100", "--json", work / "arena.json"
        ),
        "a bot for an mjai table, in seat 2": _command(bin_ / "kanachan-bot", settings.shipped, "2"),
        "the curves of the training": _command(bin_ / "kanachan-curves", runs / "*", "-o", work / "curves.png"),
        "every decision with its prediction": (
            _command(bin_ / "kanachan-predict", first, work / "annotations.txt.zst", "--explain") + " | less"
        ),
        "all metrics, and the calibration as a picture": f"less {typed(runs / 'evaluation.txt')}; "
        f"xdg-open {typed(runs / 'reliability.png')}",
        "the encoder, for other projects": _command(bin_ / "kanachan-export", last, "-o", "encoder"),
        "a larger model, for an hour or more": _command(
            CHECKOUT / "launch" / "curriculum.sh",
            work / "shards",
            "--output",
            work / "small",
            "--",
            "--model.size",
            "small",
        ),
    }
    if not settings.records:
        commands["the same with your game records"] = _command(CHECKOUT / "launch" / "quickstart.sh", "RECORDS…")
    games = read_weights(settings.shipped).card["data"]["games"]["train"]
    lines = [EXPECTATIONS.format(name=settings.shipped, games=games)]
    lines += [line for what, command in commands.items() for line in ("", f"{what}:", f"    {command}")]
    return "\n".join(lines)


def _command(*words: object) -> str:
    return " ".join(typed(word) if isinstance(word, Path) else str(word) for word in words)


if __name__ == "__main__":
    sys.exit(main())
