"""Options that several commands share."""

import argparse
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args

from annotate.game.record import Rules
from annotate.game.settings import DEFAULT_GRADE, DEFAULT_ROOM, DEFAULT_RULES, NUM_ROOMS, STYLES
from annotate.runtime.files import check_output
from annotate.runtime.json_output import write_json
from annotate.vocabulary import NUM_GRADES, NUMS_OF_SEATS, Vocabulary
from kanachan.models.card import read_card, vocabulary_of, weights_file
from kanachan.models.reference import shipped_weights
from kanachan.objectives.stages import require_scoring

WEIGHTS_HELP = (
    "weights file, folder of a finished run, weights of the package (reference, reference/STAGE; for three players "
    "reference/3p, reference/3p/STAGE), or weights on the Hugging Face Hub (hf:ORG/NAME)"
)


def require_weights(*paths: str | None) -> None:
    """Reads the cards of weights, without torch; None stands for an option that is not given. Raises ValueError if
    weights are missing or not a weights file of this program."""
    for path in paths:
        if path is not None:
            read_card(path)


def require_policies(*paths: str) -> None:
    """Reads the cards of weights that must score actions, without torch. Raises ValueError if weights are missing, not
    a weights file of this program, or of a stage that does not score actions."""
    for path in paths:
        require_scoring(read_card(path)["stage"], path)


def require_vocabulary(vocabulary: Vocabulary, where: str, *paths: str) -> None:
    """Reads the cards of weights that must score the actions of a game, without torch. Raises ValueError if weights are
    for games of another vocabulary; the message names weights that fit."""
    for path in paths:
        if read_card(path)["vocabulary"] == vocabulary.name:
            continue
        theirs = vocabulary_of(path)
        shipped = [name for name, file in shipped_weights().items() if read_card(file)["vocabulary"] == vocabulary.name]
        raise ValueError(
            f"{where}: a game of {vocabulary.num_seats} players, but {path} is for games of {theirs.num_seats}: give "
            f"weights for {vocabulary.num_seats} players (vocabulary {vocabulary.name}), "
            + (f"such as {shipped[0]}" if shipped else "but the package has none")
        )


def files_of(path: str) -> list[str]:
    """Returns the files in a folder of shards, or the file itself."""
    return [str(file) for file in Path(path).rglob("*")] if Path(path).is_dir() else [path]


def check_json_option(arguments: argparse.Namespace, *inputs: str) -> None:
    """Checks that the file of --json, if given, can be written without overwriting SHARDS or WEIGHTS. Raises ValueError
    like `check_output`."""
    if arguments.json is not None:
        weights = [str(weights_file(path)) for path in arguments.weights]
        shards = [file for path in (arguments.shards, *inputs) for file in files_of(path)]
        check_output(arguments.json, [*shards, *weights], force=arguments.force)


def given_option(arguments: argparse.Namespace, names: Sequence[str]) -> str | None:
    """Returns the first given option among `names`, such as --unseen; None if none is given."""
    return next((f"--{name}" for name in names if getattr(arguments, name)), None)


def print_report(text: str, json_name: str | None, content: Any) -> None:
    """Prints a report and writes `content` to the file of --json, if given, even if the reader of the text has exited
    (`| head`)."""
    try:
        print(text, flush=True)
    finally:
        if json_name is not None:
            write_json(Path(json_name), content)


def letter(index: int) -> str:
    """Returns the name of a network in tables: A, B ... Z, AA, AB ..."""
    return (letter(index // 26 - 1) if index >= 26 else "") + chr(ord("A") + index % 26)


def add_table_options(parser: argparse._ActionsContainer, *, room: str = "") -> None:
    """Adds --rules, --style and --room. `room`: an addition to the help of --room."""
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


def add_assumptions(parser: argparse.ArgumentParser) -> None:
    """Adds the options --room and --grades, used for games whose record does not contain them."""
    parser.add_argument(
        "--room",
        type=int,
        default=DEFAULT_ROOM,
        choices=range(NUM_ROOMS),
        help="room of games whose record has none: 0 Bronze ... 4 Throne (default: %(default)s)",
    )
    add_grades_option(parser, "players whose record has none")


def add_grades_option(parser: argparse._ActionsContainer, whose: str) -> None:
    """Adds the option --grades; `annotate.game.settings.grades_by_seat` expands its value."""
    parser.add_argument(
        "--grades",
        type=partial(parse_grades, numbers=(1, *NUMS_OF_SEATS)),
        default=(DEFAULT_GRADE,),
        metavar="G[,G,G,G]",
        help=f"grade of {whose}, one for all or one for each seat: 0 Novice 1, 14 Saint 3, 15 Celestial "
        f"(default: {DEFAULT_GRADE})",
    )


def parse_grades(text: str, numbers: Sequence[int]) -> tuple[int, ...]:
    """Parses grades separated by commas, as many as one of `numbers`; raises ArgumentTypeError for anything else."""
    grades = tuple(int(part) if part.isdecimal() else -1 for part in text.split(","))
    if len(grades) not in numbers or not all(0 <= grade < NUM_GRADES for grade in grades):
        wanted = " or ".join(map(str, numbers))
        raise argparse.ArgumentTypeError(f"{wanted} grades 0 ... {NUM_GRADES - 1} expected, such as 14, not {text!r}")
    return grades


def add_device_option(parser: argparse._ActionsContainer) -> None:
    """Adds --device."""
    parser.add_argument("--device", default="auto", help="cpu, cuda, cuda:1 ...; auto (default): a GPU if there is one")


def add_bootstrap_option(parser: argparse._ActionsContainer) -> None:
    """Adds --bootstrap, which the caller checks with `require_positive`."""
    parser.add_argument(
        "--bootstrap", type=int, metavar="N", default=1000, help="bootstrap resamples (default: %(default)s)"
    )


def parse_points(text: str) -> tuple[float, ...]:
    """Parses the points of each rank. Raises ArgumentTypeError if they are not finite numbers."""
    try:
        points = tuple(map(float, text.split(",")))
    except ValueError:
        points = (math.nan,)
    if not all(map(math.isfinite, points)):
        raise argparse.ArgumentTypeError(f"numbers such as 90,45,0,-135 expected, not {text}")
    return points
