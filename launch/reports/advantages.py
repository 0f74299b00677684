"""What values know of actions: do actions with a higher predicted advantage bring more?

.venv/bin/python launch/reports/advantages.py VALUES SHARDS --prior reference

An action's advantage is its value less the expected value of the prior's actions; what it brought is the outcome, less
the value that was predicted before it. Games in which some actions were drawn from all with equal probabilities
(kanachan-selfplay --explore) show what unlikely ones bring. A slope is that of the least squares of what they brought
on what was predicted: 1 if predictions are right, 0 if they say nothing. Intervals of 95 % are from drawing games.
"""

import argparse
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from annotate.runtime.terminal import require_positive, run_cleanly
from kanachan.data.loader import by_round
from kanachan.data.shards import open_shards
from kanachan.evaluation.bootstrap import Estimate, Statistic, cluster_bootstrap, ratio_statistic
from kanachan.inference.advantage_policy import AdvantagePolicy, advantages
from kanachan.inference.policy import NetworkPolicy
from kanachan.models.reference import resolved

_BATCH = 512
_KINDS = {"all": (0.0, np.inf), "likely, from 30 %": (0.3, np.inf), "2 to 30 %": (0.02, 0.3), "unlikely": (0.0, 0.02)}
"""by name: the range of the prior's probabilities"""
_WIDTHS = (10, 10, 28, 22)


class Actions(NamedTuple):
    """The actions taken, N of them."""

    advantage_N: NDArray[np.float64]
    """predicted, in the points of the stage"""
    brought_N: NDArray[np.float64]
    """the outcome less its prediction before the action, less the mean of that"""
    log_prior_N: NDArray[np.float64]
    game_N: NDArray[np.int64]

    def where(self, is_taken_N: NDArray[np.bool_]) -> Self:
        """Returns some of them."""
        return type(self)(*(column[is_taken_N] for column in self))


def report(values: str, shards: Path, prior: str, split: str, limit: int | None) -> str:
    """Formats a table of predicted advantages and of what the actions brought, by the probability of the actions.

    Raises:
        ValueError: the weights do not fit each other, the shards or the question; names them.
    """
    policy = AdvantagePolicy(NetworkPolicy.load(resolved(prior)), NetworkPolicy.load(resolved(values)))
    actions = taken_actions(policy, shards, split, limit)
    lines = [
        f"{values} on the {split} split of {shards}: {len(actions.game_N):,} decisions of "
        f"{len(np.unique(actions.game_N)):,} games; advantages to {prior}",
        "",
        _row("actions, by the prior", "decisions", "predicted", "brought", "slope"),
    ]
    probability_N = np.exp(actions.log_prior_N)
    for name, (low, high) in _KINDS.items():
        some = actions.where((probability_N >= low) & (probability_N < high))
        if len(np.unique(some.game_N)) > 1:
            brought, line = estimates(some.advantage_N, some)
            numbers = f"{len(some.game_N):,}", f"{some.advantage_N.mean():,.1f}"
            lines.append(_row(name, *numbers, _words(brought, 1), _words(line, 2)))
    _, line = estimates(actions.log_prior_N, actions)
    lines += ["", f"brought by a nat of the prior's log probability alone: {_words(line, 1)}"]
    return "\n".join(lines)


def taken_actions(policy: AdvantagePolicy, shards: Path, split: str, limit: int | None) -> Actions:
    """Evaluates the actions that were taken in some decisions of a split; of self-play those of players that have
    probabilities, not of rule-based ones.

    Raises:
        ValueError: as of `report`, or they are of fewer than two games.
    """
    opened = open_shards(shards, split, verify=True, behaviour=True)
    opened.require(policy.vocabulary, "the weights")
    row_N = np.arange(min(len(opened), limit or len(opened)))
    row_N = row_N[by_round(opened, row_N, len(row_N))]
    parts = []
    for first in tqdm(range(0, len(row_N), _BATCH), unit="batch", leave=False):
        columns = opened.gather(row_N[first : first + _BATCH])
        batch = policy.batch(columns)
        log_prior_BA, value_BA, _, value_B = policy.evaluate_all(batch)
        if value_B is None:
            raise ValueError(f"{policy.value.stage}: trained without objective.baseline: no value before the action")
        chosen_B1 = batch.chosen_B[:, None]
        taken = (
            advantages(log_prior_BA, value_BA).gather(1, chosen_B1)[:, 0].numpy(),
            (policy.value.objective.target(batch) - value_B).double().numpy(),
            log_prior_BA.gather(1, chosen_B1)[:, 0].numpy(),
            columns.game,
        )
        known_B = slice(None) if columns.log_probability is None else np.isfinite(columns.log_probability)
        parts.append([column[known_B] for column in taken])
    advantage_N, brought_N, log_prior_N, game_N = (np.concatenate(column) for column in zip(*parts, strict=True))
    games, game_N = np.unique(game_N, return_inverse=True)
    if len(games) < 2:
        raise ValueError(
            f"{shards}: decisions of {len(games)} games of the {split} split are taken, those of players with "
            "probabilities: at least two games are needed"
        )
    return Actions(advantage_N, brought_N - brought_N.mean(), log_prior_N, game_N)


def estimates(predictor_N: NDArray[np.float64], actions: Actions) -> tuple[Estimate, Estimate]:
    """Returns the mean of what the actions brought, and its slope on a predictor."""
    x_N, y_N = predictor_N, actions.brought_N
    ones_N = np.ones(len(x_N))

    def slope(sums_RC: NDArray[np.float64]) -> NDArray[np.float64]:
        x, y, xx, xy, n = sums_RC.T
        return (xy - x * y / n) / (xx - x * x / n)

    columns = tuple(lambda column=column: column for column in (x_N, y_N, x_N * x_N, x_N * y_N, ones_N))
    found = cluster_bootstrap(
        actions.game_N, {"mean": ratio_statistic(y_N), "slope": Statistic(columns, slope, ones_N)}
    )
    return found["mean"], found["slope"]


def _row(actions: str, *numbers: str) -> str:
    return f"{actions:<22}" + "".join(f"  {text:>{width}}" for text, width in zip(numbers, _WIDTHS, strict=True))


def _words(estimate: Estimate, digits: int) -> str:
    return f"{estimate.value:,.{digits}f} [{estimate.low:,.{digits}f}, {estimate.high:,.{digits}f}]"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="launch/reports/advantages.py",
        description="Measures whether actions with a higher predicted advantage bring more.",
    )
    parser.add_argument("values", metavar="VALUES", help="weights of round_delta, rank or grading")
    parser.add_argument("shards", type=Path, metavar="SHARDS", help="folder of shards")
    parser.add_argument("--prior", default="reference", help="weights of imitation (default: %(default)s)")
    parser.add_argument("--split", default="test", choices=("train", "validation", "test"), help="default: %(default)s")
    parser.add_argument("--limit", type=int, help="number of decisions (default: all)")
    arguments = parser.parse_args()
    if arguments.limit is not None:
        require_positive(parser, arguments, "limit")
    return run_cleanly(parser.prog, lambda: print(report(**vars(arguments))))


if __name__ == "__main__":
    raise SystemExit(main())
