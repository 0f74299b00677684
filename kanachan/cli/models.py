"""kanachan-models: lists the weights that come with the package, or describes one of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from annotate.runtime.arguments import CommandParser
from annotate.runtime.terminal import run_cleanly
from kanachan.cli.environment import set_environment
from kanachan.cli.options import WEIGHTS_HELP, require_weights

if TYPE_CHECKING:
    from kanachan.models.weights import Weights

PROGRAM = "kanachan-models"
_DESCRIPTION = """Lists the weights of this package with what was measured of them: their names are understood wherever
weights are. With WEIGHTS, prints a card: metrics with 95 % intervals, the games that the network was trained on, the
temperature, matches, and the commands that make the weights again."""


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
        games = card.get("data", {}).get("games", {})
        rows.append(
            [
                name,
                card["stage"],
                str(weights.vocabulary.num_seats),
                f"{weights.path.stat().st_size / 1e6:.1f}",
                f"{games['train']:,}" if "train" in games else "-",
                f"{card['temperature']:.3f}" if "temperature" in card else "-",
                card.get("licence", "-"),
            ]
        )
    parts = [table(["name", "stage", "players", "MB", "train games", "temperature", "licence"], rows, flush_left=2)]
    for name, weights in found.items():
        evaluation = weights.card.get("evaluation")
        if evaluation is not None:
            about = f"{evaluation['split']} split, {evaluation['games']} games"
            about += f"; learned from {_teacher(weights.card)}" if "teacher" in weights.card else ""
            parts.append("\n".join([f"{name} ({about})", *(f"  {line}" for line in _metrics(evaluation))]))
    parts.append(f"the whole card: {PROGRAM} NAME")
    return "\n\n".join(parts)


def _metrics(evaluation: dict[str, Any]) -> list[str]:
    """Formats the main metrics with their intervals, a line each, the verdict first."""
    if "rounds" in evaluation:
        return _metrics_of_rounds(evaluation)
    lines = [evaluation["verdict"]["sentence"]] if "verdict" in evaluation else []
    if not evaluation.get("values"):
        agreement = evaluation["agreement"]
        return [
            *lines,
            f"accuracy of all decisions {_interval(agreement['top1'], 1, 100)} %",
            f"accuracy of discards {_interval(agreement['discard/accuracy'], 1, 100)} %",
            f"negative log-likelihood {_interval(agreement['nll'], 3)} nats",
            f"calibration error {_interval(agreement['ece'], 1, 100)} %",
        ]
    predictors = {"action": "network", "scores": "scores and round only"}
    for predictor, label in predictors.items():
        if predictor in evaluation["values"]:
            explained = _interval(evaluation["values"][predictor]["explained_variance"], 1, 100)
            lines.append(f"explained variance, {label}: {explained} %")
        likelihood = evaluation.get("log_likelihood", {}).get("rank", {}).get(predictor)
        if likelihood is not None:
            lines.append(f"log-likelihood of the rank, {label}: {_interval(likelihood, 3)} nats")
    return lines


def _metrics_of_rounds(evaluation: dict[str, Any]) -> list[str]:
    """Formats the metrics of a reward predictor."""
    likelihood, explained = evaluation["log_likelihood"], evaluation["explained_variance"]
    return [
        *(f"log-likelihood of the order, {name}: {_interval(likelihood[name], 3)} nats" for name in explained),
        *(
            f"explained variance of grading points, {name}: {_interval(explained[name], 1, 100)} %"
            for name in explained
        ),
    ]


def _interval(estimate: dict[str, Any], digits: int, scale: float = 1.0) -> str:
    from kanachan.evaluation.bootstrap import Estimate
    from kanachan.evaluation.tables import with_interval

    return with_interval(Estimate(**estimate), digits, scale)


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
    if "evaluation" in card:
        evaluation = card["evaluation"]
        unit = "rounds" if "rounds" in evaluation else "decisions"
        title = f"Metrics ({evaluation['split']} split: {evaluation['games']} games, {evaluation[unit]:,} {unit})"
        sections[title] = _metrics(evaluation)
    if "temperature" in card:
        fitted = card.get("calibration", {})
        source = f", fitted to {fitted['games']} games of the {fitted['split']} split" if fitted else ""
        sections["Calibration"] = [f"temperature {card['temperature']:.4f}{source}"]
        if "summary_temperature" in card:
            sections["Calibration"].append(f"of the order of the seats {card['summary_temperature']:.4f}")
    if "int8" in card:
        found = card["int8"]
        sections["With int8 matrices (WEIGHTS:int8)"] = [
            f"{found['nats']:.2g} nats from the network, the same best action in {found['same_best']:.1%} of "
            f"{found['decisions']:,} decisions of the {found['split']} split"
        ]
    if "teacher" in card:
        sections["Teacher"] = [f"learned the probabilities of {_teacher(card)}, in place of the actions taken"]
    sections["Games"] = _games(card)
    sections["Training"] = _training(card)
    sections["Matches"] = [_match(match) for match in card.get("arena", [])]
    sections["Commands"] = card.get("commands", [])
    return "\n\n".join(
        "\n".join([title, *(f"  {line}" for line in lines)]) for title, lines in sections.items() if lines
    )


def _teacher(card: dict[str, Any]) -> str:
    """Returns the name of the weights whose probabilities a network learned, or else the hash of their file."""
    teacher: dict[str, Any] = card["teacher"]
    return teacher.get("name") or f"{teacher['stage']} weights {teacher['sha256'][:16]}"


def _games(card: dict[str, Any]) -> list[str]:
    lines = []
    data = card.get("data", {})
    for split, games in data.get("games", {}).items():
        lines.append(f"{split}: {games:,} games, {data['decisions'][split]:,} decisions")
        for table, date, count in card.get("games", {}).get(split, {}).get("tables", []):
            lines.append(f"  {table}{f', {date}' if date else ''}: {count:,}")
    return lines


def _training(card: dict[str, Any]) -> list[str]:
    if "training" in card:
        lines = [
            f"{run['stage']}: {run['steps']:,} steps, {_seen(run)}, {run['passes']:.2f} passes "
            f"over {run['train_games']:,} games"
            for run in card["training"]
        ]
    else:
        runs = [run for run in [*card.get("lineage", []), card] if run.get("steps")]
        lines = [f"{run['stage']}: {run['steps']:,} steps, {run['samples']:,} decisions" for run in runs]
    for run in card.get("lineage", []):
        if "encoder_blocks" in run:
            blocks = ", ".join(map(str, run["encoder_blocks"]))
            lines.append(f"began with the blocks {blocks} of the encoder of {run.get('name', run['stage'])}")
    return lines + [_iteration(entry) for entry in card.get("iterations", [])]


def _iteration(entry: dict[str, Any]) -> str:
    """Describes what the gate of an iteration of stage policy has taken."""
    number, share = entry["iteration"] + 1, entry["share"]
    if share is None:
        return f"iteration {number}: nothing of the update was taken"
    gain = entry["metrics"]["iteration/gain_taken"]
    return f"iteration {number}: {share:.0%} of the update was taken, estimated gain {gain:+.4f} a game"


def _seen(run: dict[str, Any]) -> str:
    return f"{run['games_seen']:,} games" if "games_seen" in run else f"{run['decisions_seen']:,} decisions"


def _match(match: dict[str, Any]) -> str:
    a, b = match["players"]
    ours, theirs, difference = (
        _interval({**estimate, "decisions": 0}, 3) for estimate in (*match["mean_rank"].values(), match["difference"])
    )
    games = f"{match['games']:,} games {match['format']}, {match['rules']} rules"
    return f"{a} against {b}, {games}: mean rank {ours} against {theirs}, difference {difference}"
