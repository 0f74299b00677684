"""Extrapolation to more games: a power law through networks that differ only in their number of games.

python launch/reports/learning_curve.py evaluation.json
"""

import argparse
import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from annotate.runtime.terminal import run_cleanly
from kanachan.models.card import read_card

_FACTORS = (10, 100)
_MEASURES = {"nll": "negative log-likelihood", "top1": "errors", "discard/accuracy": "errors of discards"}
"""by key of the evaluation; accuracies are converted to error rates, so that all fall towards zero"""


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """value = scale x games ** -exponent, fitted by least squares to the logarithms."""

    scale: float
    exponent: float
    error: float
    """standard error of the exponent; NaN for two points"""

    @classmethod
    def through(cls, games: list[int], values: list[float]) -> "PowerLaw":
        """Fits the law; raises ValueError if there are not two numbers of games, or a value without a logarithm."""
        if len(set(games)) < 2:
            raise ValueError("a curve needs networks of at least two numbers of games")
        if min(*games, *values) <= 0:
            raise ValueError("a power law needs numbers above zero")
        x, y = np.log(games), np.log(values)
        slope, intercept = np.polyfit(x, y, 1)
        rest = y - (slope * x + intercept)
        spread = ((x - x.mean()) ** 2).sum()
        error = np.sqrt((rest**2).sum() / (len(x) - 2) / spread) if len(x) > 2 else np.nan
        return cls(float(np.exp(intercept)), float(-slope), float(error))

    def at(self, games: float) -> float:
        """Computes the value for a number of games."""
        return self.scale * games**-self.exponent


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="launch/reports/learning_curve.py",
        description="Fits a power law to imitation networks that were trained alike on different numbers of games, and "
        "prints its prediction for ten and a hundred times the highest number. The law has no lower bound, although "
        "players differ: its predictions are optimistic.",
    )
    parser.add_argument("evaluation", type=Path, help="JSON that kanachan-evaluate --json has written of them")
    arguments = parser.parse_args()
    return run_cleanly(parser.prog, lambda: print(report(arguments.evaluation)))


def report(evaluation: Path) -> str:
    """Formats a Markdown table of the networks, and a line for each power law.

    Raises:
        ValueError: the file was not written by kanachan-evaluate, or its networks make no curve.
    """
    try:
        networks = json.loads(evaluation.read_text(encoding="utf-8"))["weights"]
        imitation = [network for network in networks if not network.get("values")]
        steps = sorted({int(network["steps"]) for network in imitation})
        rows = [(str(network["path"]), _values(network["agreement"])) for network in imitation]
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{evaluation}: not written by kanachan-evaluate --json: {error}") from None
    if len(steps) > 1:
        listed = ", ".join(map(str, steps))
        raise ValueError(f"{evaluation}: networks of {listed} steps make no curve: train all for as many")
    cards = [read_card(path) for path, _ in rows]
    _require_alike(cards, evaluation)
    points = sorted(
        ((_games(card, path), values) for card, (path, values) in zip(cards, rows, strict=True)),
        key=lambda point: point[0],
    )
    games = [num for num, _ in points]
    lines = [f"| games | {' | '.join(_MEASURES.values())} |", "| ---: " * (1 + len(_MEASURES)) + "|"]
    lines += [f"| {num:,} | {' | '.join(f'{value:.4f}' for value in values.values())} |" for num, values in points]
    lines.append("")
    for key, name in _MEASURES.items():
        try:
            law = PowerLaw.through(games, [values[key] for _, values in points])
        except ValueError as error:
            raise ValueError(f"{evaluation}: {error}") from None
        forecast = ", ".join(f"{law.at(factor * games[-1]):.4f} with {factor} times the games" for factor in _FACTORS)
        error = "" if math.isnan(law.error) else f" (± {law.error:.4f})"
        if law.exponent > 0:
            lines.append(f"{name}: games ** -{law.exponent:.4f}{error}; {forecast}")
        else:
            lines.append(f"{name}: games ** {-law.exponent:.4f}{error}: more games do not improve it here; no forecast")
    return "\n".join(lines)


def _values(agreement: dict[str, dict[str, float]]) -> dict[str, float]:
    found = {key: float(agreement[key]["value"]) for key in _MEASURES}
    return {key: value if key == "nll" else 1 - value for key, value in found.items()}


def _require_alike(cards: list[dict[str, Any]], evaluation: Path) -> None:
    """Raises ValueError if networks or training differ."""
    for name in ("model", "objective"):
        if any(card[name] != cards[0][name] for card in cards):
            raise ValueError(f"{evaluation}: networks that differ in {name} make no curve")
    for section, keys in (("optim", None), ("data", ("batch", "neighbours", "exchange_suits", "actor_first"))):
        settings = [card.get("config", {}).get(section, {}) for card in cards]
        relevant = [{key: of_run.get(key) for key in keys or of_run} for of_run in settings]
        if any(of_run != relevant[0] for of_run in relevant):
            raise ValueError(f"{evaluation}: networks that were trained with other {section} settings make no curve")


def _games(card: dict[str, Any], path: str) -> int:
    try:
        return int(card["data"]["games"]["train"])
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{path}: its card does not contain the number of games that it was trained on") from None


if __name__ == "__main__":
    sys.exit(main())
