"""kanachan-calibrate: fits the temperature of a network on held-out games and writes it into its card."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from annotate.runtime.arguments import CommandParser, add_force_option
from annotate.runtime.files import check_output
from annotate.runtime.json_output import plain
from annotate.runtime.terminal import require_positive, run_cleanly
from kanachan.cli.environment import set_environment
from kanachan.cli.options import WEIGHTS_HELP, add_bootstrap_option, add_device_option, files_of, require_policies
from kanachan.config import SPLITS
from kanachan.data.shard_folder import shards_of

PROGRAM = "kanachan-calibrate"
_DESCRIPTION = """Finds the temperature that, as a divisor of a network's logits, makes its probabilities fit held-out
games best (least negative log-likelihood). With -o, writes the weights with the temperature in their card; all commands
and ONNX files then divide by it. The tensors do not change. For weights of imitation and rank; rank has a second
temperature for the order of the seats. The metrics shown are computed on the decisions used for fitting."""
_NAMES = {"nll": ("negative log-likelihood", 4, 1), "ece": ("calibration error %", 2, 100)}


def main(argv: Sequence[str] | None = None) -> int:
    set_environment()
    parser = _parser()
    arguments = parser.parse_args(argv)
    require_positive(parser, arguments, "bootstrap")
    return run_cleanly(PROGRAM, lambda: _calibrate(arguments))


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(PROGRAM, description=_DESCRIPTION)
    parser.add_argument("weights", metavar="WEIGHTS", help=WEIGHTS_HELP)
    parser.add_argument("shards", metavar="SHARDS", help="folder made by kanachan-pack")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="weights file to write, with the temperature in its card (default: only print the temperature)",
    )
    add_force_option(parser)
    parser.add_argument(
        "--split",
        choices=SPLITS,
        default="validation",
        help="split to fit the temperature to; not the split for measuring the network (default: %(default)s)",
    )
    add_bootstrap_option(parser)
    add_device_option(parser)
    return parser


def _calibrate(arguments: argparse.Namespace) -> None:
    if arguments.output is not None:
        check_output(arguments.output, files_of(arguments.shards), force=arguments.force)
    require_policies(arguments.weights)
    shards_of(arguments.shards, arguments.split)
    # Heavy imports come only now, after the arguments have been found valid.
    import numpy as np

    from kanachan.data.loader import held_out_columns
    from kanachan.evaluation.temperature_scaling import calibrated_card, collect_logits
    from kanachan.inference.policy import Policy
    from kanachan.models.device import chosen_device
    from kanachan.models.learned_games import learned_text
    from kanachan.models.weights import CARD_NAME, read_weights, write_card, write_weights
    from kanachan.objectives.networks import objective_class

    weights = read_weights(arguments.weights)
    if not objective_class(weights.stage).temperatures:
        raise ValueError(f"{weights.path}: weights of the stage {weights.stage}: no probabilities to calibrate")
    policy = Policy.load(weights.path, chosen_device(arguments.device))
    columns = held_out_columns(arguments.shards, arguments.split, policy.vocabulary)
    with tqdm(total=len(columns), unit="decision", unit_scale=True, disable=None) as bar:
        data = collect_logits(policy, columns, bar.update)
    try:
        card = calibrated_card(weights.card, data, arguments.bootstrap, shards=arguments.shards, split=arguments.split)
    except ValueError as error:
        raise ValueError(f"{weights.path} on the {arguments.split} split of {arguments.shards}: {error}") from None
    if arguments.output is not None:
        output = Path(arguments.output)
        write_weights(output, weights.tensors, plain(card))
        if output.samefile(weights.path) and (output.parent / CARD_NAME).is_file():
            write_card(output.parent / CARD_NAME, plain(card))  # the readable copy next to the weights of a run
    print(_summary(card))
    print(learned_text({"": weights.learned_games}, np.unique(columns.game)))
    if arguments.output is None:
        print("no file written: -o FILE writes the weights with this temperature")


def _summary(card: dict[str, Any]) -> str:
    found = card["calibration"]
    lines = [
        f"temperature {card['temperature']:.4f}, from {found['decisions']:,} decisions of {found['games']:,} games "
        f"({found['split']} split of {found['shards']})",
        *_changes(found),
    ]
    if "summary" in found:
        lines += [f"order of the seats, before the action: temperature {card['summary_temperature']:.4f}"]
        lines += _changes(found["summary"])
    return "\n".join(lines)


def _changes(metrics: dict[str, Any]) -> list[str]:
    """Formats a line for each metric with its values before and after."""
    from kanachan.evaluation.tables import with_interval

    lines = []
    for key, (name, digits, scale) in _NAMES.items():
        before, after = (with_interval(metrics[when][key], digits, scale) for when in ("before", "after"))
        lines.append(f"{name:<24}{before}  ->  {after}")
    return lines
