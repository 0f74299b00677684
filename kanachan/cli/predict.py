"""kanachan-predict: adds a network's predictions for every candidate to annotation lines, or explains them."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tqdm import tqdm

from annotate.annotation import Annotation
from annotate.runtime.arguments import CommandParser, add_force_option
from annotate.runtime.files import check_output, require_exists, writing_text
from annotate.runtime.terminal import run_cleanly
from annotate.vocabulary import Vocabulary
from annotate.words import describe, describe_action
from kanachan.cli.environment import set_environment
from kanachan.cli.options import WEIGHTS_HELP, add_device_option, require_policies
from kanachan.models.card import weights_file

if TYPE_CHECKING:
    from kanachan.inference.choice import Prediction
    from kanachan.inference.policy import Policy

PROGRAM = "kanachan-predict"
_LINES_AT_ONCE = 4096  # sorted by length together; bounds the memory and the delay of the first line
_DESCRIPTION = """Evaluates a network on decisions. Adds one field to every annotation line, after a tab: a number for
every candidate, separated by commas, in the order of field 4: its probability after imitation, its expected points
after the other stages. Numbers have enough digits to distinguish 32-bit floats."""


def main(argv: Sequence[str] | None = None) -> int:
    set_environment()
    parser = _parser()
    arguments = parser.parse_args(argv)
    return run_cleanly(PROGRAM, lambda: _predict(arguments))


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(PROGRAM, description=_DESCRIPTION)
    parser.add_argument("weights", metavar="WEIGHTS", help=WEIGHTS_HELP)
    parser.add_argument("lines", metavar="LINES", help="annotation lines; plain, gzip or zstd; -: standard input")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="-",
        help="file to write; compressed by suffix (.gz, .zst); -: standard output (default: %(default)s)",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="write in words: the situation, and the candidates from the best to the worst, with the action "
        "taken marked; after rank also the probability of every rank",
    )
    parser.add_argument(
        "--unseen",
        action="store_true",
        help="leave out the games from which the network has learned, directly or through earlier networks, its prior "
        "or its teacher; their number is always reported",
    )
    add_force_option(parser)
    add_device_option(parser)
    return parser


def _predict(arguments: argparse.Namespace) -> None:
    require_policies(arguments.weights)
    if arguments.lines != "-":
        require_exists(arguments.lines)
    inputs = [arguments.lines, str(weights_file(arguments.weights))]
    check_output(arguments.output, inputs, may_stream=True, force=arguments.force)
    # Heavy imports come only now, after the arguments have been found valid.
    import numpy as np

    from kanachan.data.columns import game_key
    from kanachan.inference.policy import Policy
    from kanachan.models.device import chosen_device
    from kanachan.models.learned_games import LearnedGames, learned_text

    policy = Policy.load(arguments.weights, chosen_device(arguments.device))
    learned = LearnedGames.of_card(policy.card, arguments.weights)
    key_of: dict[str, int] = {}
    with writing_text(arguments.output) as output:
        is_seen = arguments.output == "-" and sys.stdout.isatty()  # a bar would appear among the lines
        for chunk in _chunks(arguments.lines, policy.vocabulary, shows_bar=not is_seen):
            games = {annotation.game: game_key(annotation.game) for _, annotation in chunk}
            key_of |= games
            if arguments.unseen:
                is_learned = dict(zip(games, learned.has(np.array(list(games.values()), np.uint64)), strict=True))
                chunk = [each for each in chunk if not is_learned[each[1].game]]
            predictions = policy.predictions([annotation for _, annotation in chunk])
            for (line, annotation), prediction in zip(chunk, predictions, strict=True):
                if arguments.explain:
                    output.write(explained(annotation, prediction, policy) + "\n\n")
                else:
                    output.write(f"{line}\t{','.join(map(str, prediction.shown))}\n")
    game_X = np.array(list(key_of.values()), np.uint64)
    print(f"{PROGRAM}: {learned_text({'': learned}, game_X, left_out=arguments.unseen)}", file=sys.stderr)


def _chunks(path: str, vocabulary: Vocabulary, *, shows_bar: bool) -> Iterator[list[tuple[str, Annotation]]]:
    """Yields the lines of a file and their annotations in chunks, with a progress bar on a terminal.

    Raises ValueError ("file:line: ...") if a line is not an annotation, or if the file has no lines.
    """
    from kanachan.data.text import read_blocks
    from kanachan.evaluation.predictions_file import parsed_line

    name = "standard input" if path == "-" else path
    num_bytes: list[int] = []  # bytes read from the file for each block; unknown for standard input
    total = os.path.getsize(path) if os.path.isfile(path) else None
    num_lines = 0
    with tqdm(total=total, unit="B", unit_scale=True, disable=None if shows_bar else True, smoothing=0.05) as bar:
        for first_line, block in read_blocks(path, num_bytes.append):
            lines = block.split(b"\n")[:-1]
            read = sum(num_bytes)
            num_bytes.clear()
            for first in range(0, len(lines), _LINES_AT_ONCE):
                chunk = lines[first : first + _LINES_AT_ONCE]
                yield [parsed_line(name, first_line + first + i, line, vocabulary) for i, line in enumerate(chunk)]
                num_lines += len(chunk)
                bar.set_postfix_str(f"{num_lines:,} lines", refresh=False)
                bar.update(read * len(chunk) / len(lines))
    if not num_lines:
        raise ValueError(f"{name}: empty; annotation lines expected, one decision each")


def explained(annotation: Annotation, prediction: "Prediction", policy: "Policy") -> str:
    """Describes a decision in words: its candidates from the best to the worst, with an arrow at the action taken."""
    from kanachan.evaluation.tables import decimals

    names = [describe_action(action, policy.vocabulary) for action in annotation.actions]
    form = f"+z,.{decimals(policy.objective.scale)}f" if prediction.probability is None else ".1%"
    numbers = [format(number, form) for number in prediction.shown]
    name_width, number_width = max(map(len, names)), max(map(len, numbers))
    lines = [f"   ({policy.meaning})"]
    for i in sorted(range(len(names)), key=lambda i: -prediction.score[i]):
        mark = "->" if i == annotation.chosen else "  "
        ranks = "" if prediction.rank_probability is None else _ranks(prediction.rank_probability[i])
        lines.append(f"{mark} {names[i]:<{name_width}}  {numbers[i]:>{number_width}}{ranks}")
    return describe(annotation, policy.vocabulary, lines)


def _ranks(probabilities: Sequence[float]) -> str:
    return "   " + " ".join(f"{rank}: {probability:5.1%}" for rank, probability in enumerate(probabilities, 1))
