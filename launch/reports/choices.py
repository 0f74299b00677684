"""Measures whether values know what imitation does not: the choices of strong players where the two differ.

    kanachan-annotate RECORDS --by Suphx LuckyJ --fractions 0,0,1 --pack SHARDS
    python launch/reports/choices.py reference reference/rank reference/round_delta SHARDS

For each network of values two questions. Where its best action among those of at least 10 % by imitation is another
than imitation's: how often do players take one, and the other? And does the log probability of imitation plus a factor
times the value predict choices better than imitation alone? The factor is fitted to half of the games, the gain
measured on the other half, and the other way round.

Shapes: B decisions, A candidates.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from annotate.runtime.terminal import run_cleanly
from kanachan.data.columns import Columns
from kanachan.data.loader import held_out_columns
from kanachan.evaluation.bootstrap import Estimate, cluster_bootstrap, ratio_statistic
from kanachan.evaluation.tables import table, with_interval
from kanachan.inference.policy import DEFAULT_BATCH, Policy, stacked

_LEAST = 0.1
"""probability by imitation of an action that a value may prefer: values of actions that nobody takes are not learned"""
_NEWTON_STEPS = 8


class Scores(NamedTuple):
    """Of one network, for all decisions."""

    score_BA: Tensor
    """-inf at padding"""
    chosen_B: Tensor


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="launch/reports/choices.py",
        description="Measures whether networks of values predict choices of players where they differ from imitation.",
    )
    parser.add_argument("policy", help="weights of imitation")
    parser.add_argument("values", nargs="+", help="weights of stages with values")
    parser.add_argument("shards", type=Path, help="folder of shards with a test split")
    arguments = parser.parse_args()
    return run_cleanly(parser.prog, lambda: print(report(arguments.policy, arguments.values, arguments.shards)))


def report(policy: str, values: list[str], shards: Path) -> str:
    """Formats the answers."""
    imitation = Policy.load(policy)
    columns = held_out_columns(shards, "test", imitation.vocabulary)
    score_BA, chosen_B = scores(imitation, columns)
    log_BA = score_BA.log_softmax(dim=1)
    rows = [answers(log_BA, scores(Policy.load(path), columns).score_BA, chosen_B, columns.game) for path in values]
    header = ["", "differ %", "players: imitation's %", "value's %", "imitation expects %", "%", "factor", "gain, nats"]
    return table(header, [[path, *row] for path, row in zip(values, rows, strict=True)], flush_left=1)


@torch.inference_mode()
def scores(policy: Policy, columns: Columns) -> Scores:
    """Computes the scores of all candidates, by rows."""
    parts = []
    for first in range(0, len(columns), DEFAULT_BATCH):
        batch = policy.batch(columns.rows(first, first + DEFAULT_BATCH))
        parts.append((policy.objective.score(policy.output(batch)).double(), batch.chosen_B))
    return Scores(stacked([score for score, _ in parts]), torch.cat([chosen for _, chosen in parts]))


def answers(log_BA: Tensor, value_BA: Tensor, chosen_B: Tensor, game_B: np.ndarray) -> list[str]:
    """Formats the row of a network."""
    probability_BA = log_BA.exp()
    usual_B = log_BA.argmax(dim=1)
    other_B = value_BA.where(probability_BA >= _LEAST, -torch.inf).argmax(dim=1)
    differ_B = (usual_B != other_B).numpy()
    rows = torch.arange(len(log_BA))
    # values of single decisions differ by thousands of points: what tells actions apart is the difference from the mean
    finite_BA = value_BA.where(probability_BA > 0, 0.0)
    value_BA = finite_BA - (probability_BA * finite_BA).sum(dim=1, keepdim=True)
    value_BA = value_BA / value_BA[rows, other_B][differ_B].std()
    half_B = torch.from_numpy((game_B % 2).astype(bool))
    gain_B = torch.zeros(len(log_BA), dtype=torch.float64)
    factors = []
    for is_fitted_B in (half_B, ~half_B):
        factor = fitted(log_BA[is_fitted_B], value_BA[is_fitted_B], chosen_B[is_fitted_B])
        new_BA = (log_BA + factor * value_BA).log_softmax(dim=1)
        gain_B = torch.where(is_fitted_B, gain_B, (new_BA - log_BA)[rows, chosen_B])
        factors.append(factor)
    measured = {
        "differ": ratio_statistic(differ_B.astype(float)),
        "usual": ratio_statistic((chosen_B == usual_B).numpy().astype(float), differ_B),
        "other": ratio_statistic((chosen_B == other_B).numpy().astype(float), differ_B),
        "expected": ratio_statistic(probability_BA[rows, usual_B].numpy(), differ_B),
        "expected other": ratio_statistic(probability_BA[rows, other_B].numpy(), differ_B),
        "gain": ratio_statistic(gain_B.numpy()),
    }
    found = cluster_bootstrap(game_B.view(np.int64), measured)
    *shares, gain = found.values()
    return [
        *(_percent(share) for share in shares),
        " ".join(f"{factor:.3f}" for factor in factors),
        with_interval(gain, 5, 1, sign="+"),
    ]


def _percent(share: Estimate) -> str:
    return with_interval(share, 1, 100)


def fitted(log_BA: Tensor, value_BA: Tensor, chosen_B: Tensor) -> float:
    """Fits the factor of the value to choices, by Newton's method."""
    factor = 0.0
    chosen_value_B = value_BA.gather(1, chosen_B[:, None])[:, 0]
    for _ in range(_NEWTON_STEPS):
        probability_BA = (log_BA + factor * value_BA).softmax(dim=1)
        mean_B = (probability_BA * value_BA).sum(dim=1)
        variance_B = (probability_BA * value_BA.square()).sum(dim=1) - mean_B.square()
        factor += float((chosen_value_B - mean_B).sum() / variance_B.sum())
    return factor


if __name__ == "__main__":
    raise SystemExit(main())
