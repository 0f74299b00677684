"""kanachan-evaluate for reward predictors, which are measured on rounds."""

import argparse
from typing import TYPE_CHECKING, Any

from annotate.runtime.json_output import plain
from kanachan.cli.options import check_json_option, letter, print_report

if TYPE_CHECKING:
    from kanachan.evaluation.reward_evaluation import RewardEvaluation
    from kanachan.inference.reward_predictor import RewardPredictor

FORMAT_VERSION = 1
DESCRIPTION = """Reward predictors are measured on the rounds of the shards: log-likelihood of the seats' final order at
the starts of rounds, by round, and explained variance of the grading points; others also compared with the first."""


def evaluate_reward_predictors(arguments: argparse.Namespace) -> None:
    """Measures the predictors, prints the tables, and writes the metrics."""
    check_json_option(arguments)
    # Heavy imports come only now, after the arguments have been found valid.
    import numpy as np

    from kanachan.data.round_shards import open_rounds
    from kanachan.evaluation.reward_evaluation import evaluate_rewards, rows_of
    from kanachan.evaluation.tables import reward_tables
    from kanachan.inference.reward_predictor import RewardPredictor
    from kanachan.models.device import chosen_device
    from kanachan.models.learned_games import LearnedGames, learned_text

    device = chosen_device(arguments.device)
    predictors = {path: RewardPredictor.load(path, device) for path in arguments.weights}
    rounds = open_rounds(arguments.shards, arguments.split, verify=True)
    vocabulary = next(iter(predictors.values())).vocabulary
    for path, predictor in predictors.items():
        if predictor.vocabulary is not vocabulary or rounds.num_seats != vocabulary.num_seats:
            raise ValueError(f"{path}: of the vocabulary {predictor.vocabulary.name}, unlike the others or the rounds")
    rows = {path: rows_of(predictor, rounds) for path, predictor in predictors.items()}
    first = arguments.weights[0]
    found = {
        path: evaluate_rewards(of_path, rounds, vocabulary, None if path == first else rows[first], arguments.bootstrap)
        for path, of_path in rows.items()
    }
    game_X = np.unique(rounds.game)
    learned = {path: LearnedGames.of_card(predictor.card, path) for path, predictor in predictors.items()}
    header = {
        "format_version": FORMAT_VERSION,
        "shards": arguments.shards,
        "split": arguments.split,
        "fingerprint": vocabulary.fingerprint,
        "games": len(game_X),
        "rounds": len(rounds),
        "learned_games": {path: int(games.has(game_X).sum()) for path, games in learned.items()},
        "bootstrap": arguments.bootstrap,
    }
    letters = {path: "" if len(found) == 1 else letter(i) for i, path in enumerate(found)}
    tables = reward_tables({letters[path]: evaluation for path, evaluation in found.items()}, vocabulary.num_seats)
    entries = [_entry(path, predictors[path], evaluation) for path, evaluation in found.items()]
    note = learned_text({letters[path]: games for path, games in learned.items()}, game_X)
    text = f"{_heading(header, predictors, letters)}\n{note}\n\n{tables}"
    print_report(text, arguments.json, {**header, "weights": entries})


def _heading(header: dict[str, Any], predictors: "dict[str, RewardPredictor]", letters: dict[str, str]) -> str:
    from kanachan.evaluation.tables import table

    rows = []
    for path, predictor in predictors.items():
        config = predictor.network.config
        network = f"{config.width} x {config.layers}"
        rows.append([letters[path], network, f"{predictor.card.get('steps') or 0:,}", path])
    return (
        f"{header['split']} split of {header['shards']}: {header['games']:,} games, {header['rounds']:,} rounds\n"
        f"[brackets]: 95 % intervals from {header['bootstrap']:,} resamples of whole games\n\n"
        f"{table(['', 'network', 'steps', 'weights'], rows, flush_left=4)}\n"
    )


def _entry(path: str, predictor: "RewardPredictor", evaluation: "RewardEvaluation") -> dict[str, Any]:
    card = predictor.card
    about = {name: card.get(name) for name in ("stage", "steps", "samples", "model", "objective", "commit")}
    return {"path": path, **about, **plain(vars(evaluation))}
