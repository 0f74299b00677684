"""A summary of an experiment's metrics as Markdown tables, printed by launch/curriculum.sh at its end.

python launch/reports/results.py evaluation.json    # written by kanachan-evaluate
"""

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

from annotate.runtime.terminal import run_cleanly
from annotate.vocabulary import VOCABULARIES
from kanachan.objectives.networks import objective_class
from kanachan.objectives.stages import STAGES


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="launch/reports/results.py",
        description="Prints a summary of an experiment's metrics as Markdown tables.",
    )
    parser.add_argument("evaluation", type=Path, help="JSON that kanachan-evaluate --json has written")
    arguments = parser.parse_args()
    return run_cleanly(parser.prog, lambda: show(arguments.evaluation))


def show(path: Path) -> None:
    """Prints the tables; raises ValueError if the file was not written by kanachan-evaluate."""
    try:
        evaluation = json.loads(path.read_text(encoding="utf-8"))
        split, games, decisions, networks = (evaluation[key] for key in ("split", "games", "decisions", "weights"))
        num_seats = {v.fingerprint: v.num_seats for v in VOCABULARIES.values()}[evaluation["fingerprint"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: not written by kanachan-evaluate --json: {error}") from None
    print(f"{split} split: {games:,} games, {decisions:,} decisions\n")
    for network in networks:
        if not network["values"]:
            print(decision_table(network), end="\n\n")
    print(value_table([network for network in networks if network["values"]], num_seats), end="\n\n")
    for network in networks:
        if "verdict" in network:
            print(f"{network['stage']} ({_origin(network)}): {network['verdict']['sentence']}")
    print("\nIn brackets: 95 % intervals, bootstrapped by game.")


def decision_table(network: dict[str, Any]) -> str:
    """Formats a row for each kind of decisions: accuracy, likelihood and recall of the player's action."""
    rows = [
        [network["stage"], "decisions", "accuracy %", "negative log-likelihood", "recall %"],
        ["---", *["---:"] * 4],
    ]
    metrics = network["agreement"]
    accuracies = {"all": "top1"} | {
        name.partition("/")[0]: name for name in metrics if name.endswith("/accuracy") and metrics[name]
    }
    chance = network.get("chance", {})
    for kind, name in accuracies.items():
        rows.append(_decision_row(kind, name, metrics))
        if chance.get(name):
            rows.append(_decision_row(kind, name, chance, "chance"))
    return _markdown(rows)


def _decision_row(kind: str, accuracy: str, metrics: dict[str, Any], suffix: str = "") -> list[str]:
    prefix = "" if kind == "all" else f"{kind}/"
    return [
        f"{kind}, {suffix}" if suffix else kind,
        f"{metrics[accuracy]['decisions']:,}",
        _cell(metrics[accuracy], 1, 100),
        _cell(metrics.get(f"{prefix}nll"), 3),
        _cell(metrics.get(f"{prefix}recall"), 1, 100),
    ]


def value_table(networks: list[dict[str, Any]], num_seats: int) -> str:
    """Formats a row for each network that predicts values, by stage, and for the baseline of scores and round."""
    rows = [["predicted quantity", "encoder from", "steps", "explained variance %", "log-likelihood of the rank"]]
    rows[0].append("weights")
    rows.append(["---", "---", "---:", "---:", "---:", "---"])
    for stage in STAGES:
        what = objective_class(stage).quantity
        of_stage = [network for network in networks if network["stage"] == stage]
        for network in of_stage:
            cells = _value_cells(network, "action")
            rows.append([what, _origin(network), f"{network['steps']:,}", *cells, network["path"]])
        if of_stage and "scores" in of_stage[0]["values"]:
            rows.append([what, "scores and round only", "", *_value_cells(of_stage[0], "scores"), ""])
        if of_stage:
            has_ranks = "rank" in of_stage[0]["log_likelihood"]
            rows.append([what, "chance", "", "0.0", f"{-math.log(num_seats):.3f}" if has_ranks else "", ""])
    return _markdown(rows)


def _origin(network: dict[str, Any]) -> str:
    lineage = [step["stage"] for step in network["lineage"] or []]
    return lineage[-1] if lineage else "scratch"


def _value_cells(network: dict[str, Any], predictor: str) -> list[str]:
    likelihood = network["log_likelihood"].get("rank", {}).get(predictor)
    return [_cell(network["values"][predictor]["explained_variance"], 1, 100), _cell(likelihood, 3)]


def _cell(estimate: dict[str, Any] | None, digits: int, scale: float = 1.0) -> str:
    if estimate is None or estimate["value"] is None:
        return ""
    numbers = [estimate[name] for name in ("value", "low", "high")]
    if None in numbers:
        return f"{numbers[0] * scale:.{digits}f}"
    value, low, high = (f"{number * scale:.{digits}f}" for number in numbers)
    return value if numbers[1] == numbers[2] else f"{value} [{low}, {high}]"


def _markdown(rows: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: list[str], widths: list[int]) -> str:
    if row[0].startswith("---"):
        cells = ["-" * (width - 1) + cell[-1] for cell, width in zip(row, widths, strict=True)]
    else:
        cells = [
            cell.rjust(width) if cell[:1].isdigit() or cell[:1] == "-" else cell.ljust(width)
            for cell, width in zip(row, widths, strict=True)
        ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
