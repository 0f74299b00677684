"""kanachan-evaluate: measures networks on held-out games; reports tables and JSON."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from annotate.runtime.arguments import CommandParser, add_force_option
from annotate.runtime.files import require_exists
from annotate.runtime.terminal import require_positive, run_cleanly
from kanachan.cli.environment import set_environment
from kanachan.cli.evaluate_gain import DESCRIPTION as GAIN_DESCRIPTION
from kanachan.cli.evaluate_gain import OF_DECISIONS, add_gain_options, check_gain_options, evaluate_gain
from kanachan.cli.evaluate_report import Measured, Subject, report_of, side_by_side_report
from kanachan.cli.evaluate_reward import DESCRIPTION as REWARD_DESCRIPTION
from kanachan.cli.evaluate_reward import evaluate_reward_predictors
from kanachan.cli.options import (
    WEIGHTS_HELP,
    add_bootstrap_option,
    add_device_option,
    check_json_option,
    given_option,
    letter,
    print_report,
    require_policies,
    require_weights,
)
from kanachan.config import SPLITS
from kanachan.data.shard_folder import shards_of
from kanachan.models.card import read_card, vocabulary_of
from kanachan.models.reference import shipped_name
from kanachan.objectives.stages import REWARD

if TYPE_CHECKING:
    from kanachan.evaluation.evaluator import Predictions
    from kanachan.evaluation.held_out import HeldOut
    from kanachan.models.learned_games import LearnedGames

PROGRAM = "kanachan-evaluate"
FORMAT_VERSION = 2
_DESCRIPTION = """Measures networks on a split of packed annotations, with 95 % intervals from resampling whole games.
After imitation: how often and with what probability the network predicts the player's action, by kind of decision.
After the other stages: explained variance of the predicted points, also compared with a baseline that sees only scores
and round; likelihood of ranks; reliability. If a rank network is given, grading networks are compared with the expected
points computed from its rank probabilities. With several SHARDS, shows the most important metrics side by side. """


def main(argv: Sequence[str] | None = None) -> int:
    set_environment()
    parser = _parser()
    arguments = parser.parse_args(argv)
    folders = _folders(arguments)
    require_positive(parser, arguments, "limit", "bootstrap")
    check_gain_options(parser, arguments)
    if _is_weights(Path(arguments.shards)):
        parser.error(f"{arguments.shards} is a file of weights: SHARDS are expected behind WEIGHTS")
    if arguments.compare and len(arguments.weights) < 2 and not arguments.predictions:
        parser.error("--compare needs two WEIGHTS or more, and SHARDS behind them")
    return run_cleanly(PROGRAM, lambda: _evaluate(arguments, folders))


def _folders(arguments: argparse.Namespace) -> list[str]:
    """Removes the folders of SHARDS, and files of lines, from the weights, and returns them with the last of SHARDS."""
    folders = [arguments.shards]
    while len(arguments.weights) > 1 and _holds_decisions(Path(arguments.weights[-1])):
        folders.insert(0, arguments.weights.pop())
    return folders


def _holds_decisions(path: Path) -> bool:
    return any(path.glob("*.arrow")) if path.is_dir() else path.is_file() and not _is_weights(path)


def _is_weights(path: Path) -> bool:
    """Returns whether a file starts like safetensors: with the length of a JSON object, and the object."""
    if not path.is_file():  # a pipe can be read only once
        return False
    try:
        with open(path, "rb") as file:
            start, size = file.read(9), path.stat().st_size
    except OSError:  # is reported when it is read
        return False
    return start[8:] == b"{" and int.from_bytes(start[:8], "little") < size


def _parser() -> argparse.ArgumentParser:
    description = f"{_DESCRIPTION}{REWARD_DESCRIPTION} {GAIN_DESCRIPTION}"
    parser = CommandParser(PROGRAM, description=description)
    parser.add_argument("weights", metavar="WEIGHTS", nargs="+", help=f"{WEIGHTS_HELP}; one or several")
    parser.add_argument(
        "shards",
        metavar="SHARDS",
        help="folder made by kanachan-pack; or annotation lines, plain, gzip or zstd; one or several",
    )
    parser.add_argument(
        "--predictions",
        metavar="FILE",
        nargs="+",
        action="extend",
        default=[],
        help="probabilities by any program for the annotation lines given as SHARDS, one line per decision: one "
        "number for each possible action, in the order of field 4, separated by commas; optionally preceded by the "
        "annotation line and a tab, as kanachan-predict writes them; plain, gzip or zstd",
    )
    parser.add_argument(
        "--compare",
        action="store_true",
        help="also report the differences between each other WEIGHTS and the first in all metrics, with intervals",
    )
    parser.add_argument(
        "--baseline",
        metavar="WEIGHTS",
        help="reward predictor (stage reward) that predicts ranks and grading points from scores and round (default: "
        f"{shipped_name(REWARD, 4)}); for the points of the round a regression is fitted to the train split",
    )
    parser.add_argument("--split", choices=SPLITS, help="split of the folders of SHARDS to measure on (default: test)")
    parser.add_argument("--json", metavar="FILE", help="file to write all metrics to (default: none)")
    add_force_option(parser)
    parser.add_argument("--limit", type=int, metavar="N", help="measure on the first N decisions (default: all)")
    parser.add_argument(
        "--unseen",
        action="store_true",
        help="leave out the games from which any of the networks has learned, directly or through earlier networks, "
        "its prior or its teacher; the report always states their number",
    )
    add_bootstrap_option(parser)
    add_gain_options(parser)
    add_device_option(parser)
    return parser


def _evaluate(arguments: argparse.Namespace, folders: Sequence[str]) -> None:
    if arguments.split is not None and all(Path(folder).is_file() for folder in folders):
        raise ValueError("--split has no effect on annotation lines; leave it out")
    arguments.split = arguments.split or "test"
    if len(folders) > 1 and (arguments.gain or arguments.predictions):
        name = "--gain" if arguments.gain else "--predictions"
        raise ValueError(f"{name} is for one folder of SHARDS or file of lines, not for {len(folders)}")
    if arguments.gain:
        require_policies(*arguments.weights)
        require_weights(arguments.reward)
        evaluate_gain(arguments)
        return
    if _are_reward_predictors(arguments, folders):
        evaluate_reward_predictors(arguments)
        return
    baseline = arguments.baseline or shipped_name(REWARD, vocabulary_of(arguments.weights[0]).num_seats)
    require_weights(baseline)
    _check_paths(arguments, folders)
    # Heavy imports come only now, after the arguments have been found valid.
    subjects = _subjects(arguments)
    measured = [_measured(subjects, folder, arguments, baseline) for folder in folders]
    reports = [of_folder.report for of_folder in measured]
    if len(folders) == 1:
        print_report(report_of(*measured), arguments.json, reports[0])
    else:
        content = {"format_version": FORMAT_VERSION, "evaluations": reports}
        print_report(side_by_side_report(measured), arguments.json, content)


def _measured(subjects: list[Subject], folder: str, arguments: argparse.Namespace, baseline: str) -> Measured:
    """Measures all networks on the decisions of a folder of shards or file of lines."""
    from kanachan.evaluation.comparison import compared
    from kanachan.evaluation.evaluator import evaluated
    from kanachan.models.learned_games import LearnedGames, learned_text

    learned = {s: LearnedGames.of_card(s.policy.card, s.path) for s in subjects if s.policy is not None}
    without = list(learned.values()) if arguments.unseen else []
    held_out, predictions = _predictions(subjects, folder, arguments, baseline, without)
    evaluations = {s: evaluated(s.objective, predictions[s], held_out) for s in predictions}
    comparisons = {
        s: compared(predictions[subjects[0]], predictions[s], held_out.game_B, held_out.starts, held_out.replicates)
        for s in predictions
        if s is not subjects[0] and (arguments.compare or s.policy is None)
    }
    header = {
        "format_version": FORMAT_VERSION,
        "shards": folder,
        "split": _split(folder, arguments.split),
        "fingerprint": held_out.vocabulary.fingerprint,
        "games": held_out.num_games,
        "decisions": len(held_out.columns),
        "limit": arguments.limit,
        "unseen": arguments.unseen,
        "learned_games": {s.path: int(games.has(held_out.game_X).sum()) for s, games in learned.items()},
        "bootstrap": arguments.bootstrap,
        "baseline": baseline,
    }
    by_letter = {s.letter: games for s, games in learned.items()}
    notes = [learned_text(by_letter, held_out.game_X, left_out=arguments.unseen)] if learned else []
    return Measured(header, notes, evaluations, comparisons)


def _are_reward_predictors(arguments: argparse.Namespace, folders: Sequence[str]) -> bool:
    """Returns whether WEIGHTS are reward predictors. Raises ValueError if only some are, or if several folders or an
    option without effect are given."""
    stages = {read_card(path)["stage"] for path in arguments.weights}
    if REWARD not in stages:
        return False
    if stages != {REWARD} or len(folders) > 1:
        raise ValueError(f"weights of stage {REWARD} are measured alone, on one folder of SHARDS: use separate calls")
    option = given_option(arguments, OF_DECISIONS)
    if option is not None:
        raise ValueError(f"{option} has no effect on weights of stage {REWARD}; leave it out")
    return True


def _check_paths(arguments: argparse.Namespace, folders: Sequence[str]) -> None:
    """Raises ValueError if a required file or split is missing, or if the metrics cannot be written."""
    for path in arguments.predictions:
        require_exists(path)
    for folder in folders:
        if not Path(folder).is_file():
            shards_of(folder, arguments.split)
    check_json_option(arguments, *folders[:-1], *arguments.predictions)


def _split(folder: str, split: str) -> str:
    """Returns the name of the split; for annotation lines, "lines"."""
    return "lines" if Path(folder).is_file() else split


def _predictions(
    subjects: list[Subject],
    folder: str,
    arguments: argparse.Namespace,
    baseline: str,
    without: "list[LearnedGames]",
) -> "tuple[HeldOut, dict[Subject, Predictions]]":
    """Reads the decisions and files of probabilities, and evaluates the networks; the files come last in the result."""
    from kanachan.config import ObjectiveConfig
    from kanachan.evaluation.evaluator import predictions_of
    from kanachan.evaluation.held_out import held_out_rows
    from kanachan.evaluation.predictions_file import held_out_lines, predictions_in
    from kanachan.inference.reward_predictor import RewardPredictor
    from kanachan.objectives.imitation import Imitation

    vocabulary = subjects[0].objective.vocabulary
    predictor = RewardPredictor.load(baseline)
    if predictor.vocabulary is not vocabulary:
        raise ValueError(f"--baseline {baseline}: of the vocabulary {predictor.vocabulary.name}, not {vocabulary.name}")
    settings = (predictor, arguments.limit, arguments.bootstrap, without)
    of_files = {}
    if Path(folder).is_file():
        lines = held_out_lines(folder, *settings)
        held_out, imitation = lines.held_out, Imitation(ObjectiveConfig(), vocabulary)
        for i, path in enumerate(arguments.predictions, len(subjects)):
            of_files[Subject(letter(i), path, imitation, None)] = predictions_in(path, lines)
    elif arguments.predictions:
        raise ValueError(
            f"{folder}: --predictions are for annotation lines: give annotation lines as SHARDS "
            f"(kanachan-pack --unpack {folder} --split {arguments.split} -o lines.txt)"
        )
    else:
        held_out = held_out_rows(folder, arguments.split, *settings)
    rows = len(held_out.columns)
    with tqdm(total=rows * len(subjects), unit="decision", unit_scale=True, disable=None) as bar:
        predictions = {
            s: predictions_of(s.policy, held_out.columns, bar.update) for s in subjects if s.policy is not None
        }
    return held_out, predictions | of_files


def _subjects(arguments: argparse.Namespace) -> list[Subject]:
    """Loads the networks."""
    from kanachan.inference.policy import Policy
    from kanachan.models.device import chosen_device

    device = chosen_device(arguments.device)
    is_alone = len(arguments.weights) == 1 and not arguments.predictions
    loaded = [(path, Policy.load(path, device)) for path in arguments.weights]
    networks = [
        Subject("" if is_alone else letter(i), path, policy.objective, policy)
        for i, (path, policy) in enumerate(loaded)
    ]
    for path, policy in loaded[1:]:
        first, name = loaded[0][1].vocabulary.name, policy.vocabulary.name
        if name != first:
            raise ValueError(
                f"{path}: of the vocabulary {name}, but {loaded[0][0]} is of {first}: measure them separately"
            )
    return networks
