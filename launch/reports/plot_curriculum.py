"""Draws what networks gain over the scores alone, by stage and by their first encoder, against the number of games.

python launch/reports/plot_curriculum.py ENCODER:GAMES=EVALUATION … -o PICTURE

EVALUATION is what `kanachan-evaluate --json` has written of one network, whose stage it names.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from annotate.runtime.files import replacing, require_exists
from annotate.runtime.terminal import run_cleanly
from kanachan.extras import require
from kanachan.objectives.stages import STAGES

_UNITS = {"nats": (1, "nats"), "squared error": (100, "% of the squared error")}
"""scale and name of the measures of a verdict"""


class Gain(NamedTuple):
    """Of a network over the scores, with its interval."""

    games: int
    value: float
    low: float
    high: float
    measure: str


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="launch/reports/plot_curriculum.py",
        description="Draws what networks of the later stages gain over the scores alone, by games and encoder.",
    )
    parser.add_argument(
        "evaluations",
        metavar="ENCODER:GAMES=EVALUATION",
        nargs="+",
        help="what the encoder was before, in words; the number of games; a file of kanachan-evaluate --json",
    )
    parser.add_argument("-o", "--output", type=Path, required=True, help="picture: .png, .svg or .pdf")
    arguments = parser.parse_args()
    return run_cleanly(parser.prog, lambda: draw(arguments.evaluations, arguments.output))


def draw(evaluations: Sequence[str], output: Path) -> None:
    """Draws a panel for each stage. Raises ValueError: an argument or a file is not as described; or matplotlib is not
    installed."""
    require("pictures", ("matplotlib",))
    gains: dict[str, dict[str, list[Gain]]] = defaultdict(lambda: defaultdict(list))
    for given in evaluations:
        encoder, stage, gain = gain_of(given)
        gains[stage][encoder].append(gain)

    from matplotlib.figure import Figure

    stages = [stage for stage in STAGES if stage in gains]
    encoders = list(dict.fromkeys(encoder for of_stage in gains.values() for encoder in of_stage))
    figure = Figure(figsize=(3.4 * len(stages), 3.2), layout="constrained")
    for axes, stage in zip(figure.subplots(1, len(stages), squeeze=False)[0], stages, strict=True):
        for encoder, found in gains[stage].items():
            number = encoders.index(encoder)
            scale, unit = _UNITS[found[0].measure]
            games, value, low, high = zip(*(gain[:4] for gain in sorted(found)), strict=True)
            # beside each other, so that intervals can be told apart
            place = [each * 1.06**number for each in games]
            bars = [[scale * (v - lo) for v, lo in zip(value, low, strict=True)]]
            bars.append([scale * (hi - v) for v, hi in zip(value, high, strict=True)])
            scaled = [scale * each for each in value]
            axes.errorbar(place, scaled, bars, marker="o", markersize=3, color=f"C{number}", label=encoder)
        axes.set(title=stage.replace("_", " "), xscale="log", xlabel="games", ylabel=unit)
        axes.axhline(0, color="grey", linewidth=0.8)
        axes.grid(alpha=0.3)
    drawn = {label: line for axes in figure.axes for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    title = "ahead of the scores; encoder from:"
    figure.legend(drawn.values(), drawn.keys(), title=title, ncols=len(drawn), loc="outside upper center", fontsize=8)
    with replacing(output) as temporary:
        figure.savefig(temporary, format=output.suffix.removeprefix("."), dpi=110)


def gain_of(given: str) -> tuple[str, str, Gain]:
    """Returns the first encoder, the stage and the gain of an argument."""
    described, _, name = given.partition("=")
    encoder, _, games = described.rpartition(":")
    if not encoder or not games.isdigit() or not name:
        raise ValueError(f"{given}: ENCODER:GAMES=EVALUATION is expected, such as imitation:962=rank.json")
    path = Path(name)
    require_exists(path)
    try:
        (network,) = json.loads(path.read_text(encoding="utf-8"))["weights"]
        verdict = network["verdict"]
        less = verdict["less_scores"]
        gain = Gain(int(games), less["value"], less["low"], less["high"], verdict["measure"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: no evaluation of one network of a later stage ({error!r})") from error
    return encoder, network["stage"], gain


if __name__ == "__main__":
    raise SystemExit(main())
