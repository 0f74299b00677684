"""Describes a weights card in lines of text, for kanachan-models and for the folder of an exported encoder."""

from collections.abc import Mapping
from typing import Any


def card_sections(card: Mapping[str, Any]) -> dict[str, list[str]]:
    """Returns the card's contents by title: metrics with 95 % intervals, calibration, games, training, matches and the
    commands that made the weights."""
    sections: dict[str, list[str]] = {}
    if "evaluation" in card:
        evaluation = card["evaluation"]
        unit = "rounds" if "rounds" in evaluation else "decisions"
        title = f"Metrics ({evaluation['split']} split: {evaluation['games']} games, {evaluation[unit]:,} {unit})"
        sections[title] = metric_lines(evaluation)
    elif card.get("metrics"):
        when = ", before the calibration" if "calibration" in card else ""
        sections[f"Metrics (validation split{when})"] = [
            f"{name} {value:.4f}" for name, value in card["metrics"].items()
        ]
    if "temperature" in card:
        fitted = card.get("calibration", {})
        source = f", fitted to {fitted['games']} games of the {fitted['split']} split" if fitted else ""
        sections["Calibration"] = [f"temperature {card['temperature']:.4f}{source}"]
        if "summary_temperature" in card:
            sections["Calibration"].append(f"of the order of the seats {card['summary_temperature']:.4f}")
    if "teacher" in card:
        share = card["objective"].get("teacher_share", 1.0)
        rest = "instead of the actions taken" if share == 1 else f"with {share:g} of the loss; the rest: actions taken"
        sections["Teacher"] = [f"learned the probabilities of {teacher_name(card)}, {rest}"]
    sections["Games"] = _games(card)
    sections["Training"] = _training(card)
    sections["Matches"] = [_match(match) for match in card.get("arena", [])]
    sections["Commands"] = card.get("commands", [])
    return {title: lines for title, lines in sections.items() if lines}


def metric_lines(evaluation: Mapping[str, Any]) -> list[str]:
    """Formats the main metrics with their intervals, one per line, after the verdict."""
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


def _metrics_of_rounds(evaluation: Mapping[str, Any]) -> list[str]:
    likelihood, explained = evaluation["log_likelihood"], evaluation["explained_variance"]
    return [
        *(f"log-likelihood of the order, {name}: {_interval(likelihood[name], 3)} nats" for name in explained),
        *(
            f"explained variance of grading points, {name}: {_interval(explained[name], 1, 100)} %"
            for name in explained
        ),
    ]


def teacher_name(card: Mapping[str, Any]) -> str:
    """Returns the name of the teacher's weights, or if they have no name, the hash of their file."""
    teacher: dict[str, Any] = card["teacher"]
    return teacher.get("name") or f"{teacher['stage']} weights {teacher['sha256'][:16]}"


def _games(card: Mapping[str, Any]) -> list[str]:
    data = card.get("data", {})
    counts = data.get("games", {}).items()
    return [f"{split}: {games:,} games, {data['decisions'][split]:,} decisions" for split, games in counts]


def _training(card: Mapping[str, Any]) -> list[str]:
    if "training" in card:
        lines = [
            f"{run['stage']}: {run['steps']:,} steps, {_seen(run)}, {run['passes']:.2f} passes "
            f"over {run['train_games']:,} games"
            for run in card["training"]
        ]
    else:
        runs = [run for run in [*card.get("lineage", []), card] if run.get("steps")]
        lines = [f"{run['stage']}: {run['steps']:,} steps, {run['samples']:,} {_samples(run)}" for run in runs]
    for run in card.get("lineage", []):
        if "encoder_blocks" in run:
            blocks = ", ".join(map(str, run["encoder_blocks"]))
            lines.append(f"began with the blocks {blocks} of the encoder of {run.get('name', run['stage'])}")
    return lines + [_iteration(entry) for entry in card.get("iterations", [])]


def _iteration(entry: Mapping[str, Any]) -> str:
    """Describes the share of an update that the gate took in an iteration of stage policy."""
    number, share = entry["iteration"] + 1, entry["share"]
    if share is None:
        return f"iteration {number}: none of the update was taken"
    gain = entry["metrics"]["iteration/gain_taken"]
    unit = entry.get("unit", "ranks")  # earlier weights do not say it
    return f"iteration {number}: {share:.0%} of the update was taken, estimated gain {gain:+.4f} {unit} a game"


def _samples(run: Mapping[str, Any]) -> str:
    return "games" if run["stage"] == "reward" else "decisions"


def _seen(run: Mapping[str, Any]) -> str:
    return f"{run['games_seen']:,} games" if "games_seen" in run else f"{run['decisions_seen']:,} decisions"


def _match(match: Mapping[str, Any]) -> str:
    a, b = match["players"]
    ours, theirs, difference = (_interval(each, 3) for each in (*match["mean_rank"].values(), match["difference"]))
    games = f"{match['games']:,} games {match['format']}, {match['rules']} rules"
    return f"{a} against {b}, {games}: mean rank {ours} against {theirs}, difference {difference}"


def _interval(estimate: Mapping[str, float | None], digits: int, scale: float = 1.0) -> str:
    numbers = (estimate[name] for name in ("value", "low", "high"))
    value, *interval = (f"{number * scale:z,.{digits}f}" for number in numbers if number is not None)
    return f"{value} [{', '.join(interval)}]" if interval else value
