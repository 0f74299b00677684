"""kanachan-models: lists the weights that come with the package, or describes one of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from annotate.runtime.arguments import CommandParser
from annotate.runtime.terminal import run_cleanly
from kanachan.cli.environment import set_environment
from kanachan.cli.options import WEIGHTS_HELP, require_weights
from kanachan.models.card_text import card_sections, metric_lines, teacher_name

if TYPE_CHECKING:
    from kanachan.models.weights import Weights

PROGRAM = "kanachan-models"
_DESCRIPTION = """Lists the weights of this package and their metrics. Their names are accepted wherever weights are
expected. With WEIGHTS, prints a card: metrics with 95 % intervals, the games that the network was trained on, the
temperature, matches, and the commands that made the weights, with the settings of their time."""


def main(argv: Sequence[str] | None = None) -> int:
    set_environment()
    parser = CommandParser(PROGRAM, description=_DESCRIPTION)
    parser.add_argument("weights", metavar="WEIGHTS", nargs="?", help=f"{WEIGHTS_HELP}; default: list the package's")
    arguments = parser.parse_args(argv)
    return run_cleanly(PROGRAM, lambda: _show(arguments.weights))


def _show(name: str | None) -> None:
    require_weights(name)
    # Heavy imports come only now, after the arguments have been found valid.
    from kanachan.models.reference import shipped_weights
    from kanachan.models.weights import read_weights

    if name is not None:
        print(_described(name, read_weights(name)))
    else:
        print(_listed({name: read_weights(name) for name in shipped_weights()}))


def _listed(found: "dict[str, Weights]") -> str:
    from kanachan.evaluation.tables import table

    rows = []
    for name, weights in found.items():
        card = weights.card
        rows.append(
            [
                name,
                card["stage"],
                str(weights.vocabulary.num_seats),
                f"{weights.path.stat().st_size / 1e6:.1f}",
                f"{len(weights.learned_games.key_G):,}",
                f"{card['temperature']:.3f}" if "temperature" in card else "-",
                card.get("licence", "-"),
            ]
        )
    parts = [table(["name", "stage", "players", "MB", "games learned", "temperature", "licence"], rows, flush_left=2)]
    for name, weights in found.items():
        evaluation = weights.card.get("evaluation")
        if evaluation is not None:
            about = f"{evaluation['split']} split, {evaluation['games']} games"
            about += f"; learned from {teacher_name(weights.card)}" if "teacher" in weights.card else ""
            parts.append("\n".join([f"{name} ({about})", *(f"  {line}" for line in metric_lines(evaluation))]))
    parts.append(f"the whole card: {PROGRAM} NAME")
    return "\n\n".join(parts)


def _described(name: str, weights: "Weights") -> str:
    card = weights.card
    size = f"{weights.path.stat().st_size / 1e6:.1f} MB, {card.get('precision', 'fp32')}"
    num_parameters = sum(tensor.numel() for tensor in weights.tensors.values())
    model = ", ".join(f"{key} {value}" for key, value in card["model"].items() if key != "dropout")
    sections = {
        name: [
            f"stage {card['stage']}, {num_parameters:,} numbers ({model}), vocabulary {card['vocabulary']}",
            f"{size}, licence {card.get('licence', 'not stated')}",
            str(weights.path),
        ]
    }
    return "\n\n".join(
        "\n".join([title, *(f"  {line}" for line in lines)])
        for title, lines in (sections | card_sections(card)).items()
    )
