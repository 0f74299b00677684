"""kanachan-evaluate of critics, which are measured on the returns of self-play."""

import argparse
from typing import TYPE_CHECKING, Any

from annotate.runtime.json_output import plain
from kanachan.cli.options import check_json_option, print_report

if TYPE_CHECKING:
    from kanachan.reinforcement.critic import Critic
    from kanachan.reinforcement.critic_evaluation import CriticEvaluation

FORMAT_VERSION = 1
DESCRIPTION = """ Critics are measured on self-play: explained variance of the returns of rounds, which the reward
predictor of their training gives, or that of --baseline."""


def evaluate_critics(arguments: argparse.Namespace) -> None:
    """Measures the critics, prints the tables, and writes the metrics."""
    check_json_option(arguments)
    # Heavy imports come only now, after the arguments have been found valid.
    import numpy as np

    from kanachan.data.round_shards import open_rounds
    from kanachan.data.shards import open_shards
    from kanachan.inference.reward_predictor import RewardPredictor
    from kanachan.models.device import chosen_device
    from kanachan.reinforcement.critic import CRITIC_KEY, Critic
    from kanachan.reinforcement.critic_evaluation import evaluate_critic
    from kanachan.reinforcement.returns import RoundReturns

    device = chosen_device(arguments.device)
    critics = {path: Critic.load(path, device) for path in arguments.weights}
    shards = open_shards(arguments.shards, arguments.split, verify=True, hidden=True, behaviour=True)
    if not shards.has_behaviour:
        raise ValueError(f"{arguments.shards}: holds no walls, which critics see: kanachan-selfplay makes such shards")
    rounds = open_rounds(arguments.shards, arguments.split, verify=True)
    columns = shards.gather(np.arange(len(shards)))
    found = {}
    for path, critic in critics.items():
        shards.require(critic.vocabulary, path)
        reward = (arguments.baseline or critic.card[CRITIC_KEY]["reward"]) if critic.utility.needs_reward else None
        predictor = None if reward is None else RewardPredictor.load(reward)
        return_BS = RoundReturns(rounds, predictor, critic.utility, critic.vocabulary).of(columns)
        value_BS = critic.of(columns)
        found[path] = evaluate_critic(value_BS, return_BS, columns, arguments.bootstrap)
    header = {
        "format_version": FORMAT_VERSION,
        "shards": arguments.shards,
        "split": arguments.split,
        "fingerprint": shards.vocabulary.fingerprint,
        "games": len(set(columns.game.tolist())),
        "decisions": len(columns),
        "bootstrap": arguments.bootstrap,
        "baseline": arguments.baseline,
    }
    entries = [_entry(path, critics[path], evaluation) for path, evaluation in found.items()]
    print_report(_report(header, critics, found), arguments.json, {**header, "weights": entries})


def _report(header: dict[str, Any], critics: "dict[str, Critic]", found: "dict[str, CriticEvaluation]") -> str:
    from kanachan.evaluation.tables import table, with_interval

    rows = []
    for path, evaluation in found.items():
        for name, explained in evaluation.explained_variance.items():
            cells = [with_interval(explained, 1, 100)]
            cells += [with_interval(each[name], 4) for each in (evaluation.mean_square, evaluation.mean_squared_error)]
            rows.append([name, *cells, critics[path].utility.kind, path])
    columns = ["returns", "explained variance, %", "mean square", "after the values", "utility", "weights"]
    return (
        f"{header['split']} split of {header['shards']}: {header['games']:,} games, {header['decisions']:,} decisions\n"
        f"[brackets]: 95 % intervals from {header['bootstrap']:,} resamples of whole games\n\n"
        f"{table(columns, rows)}"
    )


def _entry(path: str, critic: "Critic", evaluation: "CriticEvaluation") -> dict[str, Any]:
    about = {name: critic.card.get(name) for name in ("stage", "steps", "samples", "model", "critic", "commit")}
    return {"path": path, **about, **plain(vars(evaluation))}
