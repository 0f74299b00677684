"""Evaluates critics on held-out games of self-play.

Shapes: B decisions, S seats, N decisions whose return is known.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kanachan.data.columns import Columns
from kanachan.evaluation.bootstrap import REPLICATES, Estimate, Floats, cluster_bootstrap, ratio_statistic
from kanachan.evaluation.value_metrics import explained_variance_statistic

ACTOR, ALL = "the actor's", "of all seats"


@dataclass(frozen=True)
class CriticEvaluation:
    """The metrics of a critic, of the returns `ACTOR` and `ALL`."""

    explained_variance: dict[str, Estimate]
    mean_square: dict[str, Estimate]
    """of the returns, in squared units of the utility"""
    mean_squared_error: dict[str, Estimate]
    """of what is left when the values are subtracted"""


def evaluate_critic(
    value_BS: NDArray[np.float32], return_BS: NDArray[np.float32], columns: Columns, replicates: int = REPLICATES
) -> CriticEvaluation:
    """Computes the metrics on the decisions whose return is known. `value_BS`: as predicted; seats are counted from
    seat 0, as in `columns`. Raises ValueError: there are no such decisions."""
    is_known_B = np.isfinite(return_BS).all(axis=1)
    if not is_known_B.any():
        raise ValueError("no decision is of a round whose return is known")
    seat_N1, game_N = columns.seat[is_known_B, None], columns.game[is_known_B].view(np.int64)
    num_seats = value_BS.shape[1]
    value_NS, return_NS = value_BS[is_known_B].astype(np.float64), return_BS[is_known_B].astype(np.float64)
    value_N, return_N = (np.take_along_axis(each_NS, seat_N1, axis=1)[:, 0] for each_NS in (value_NS, return_NS))
    parts: dict[str, tuple[NDArray[np.int64], Floats, Floats]] = {
        ACTOR: (game_N, value_N, return_N),
        ALL: (np.repeat(game_N, num_seats), value_NS.ravel(), return_NS.ravel()),
    }
    metrics = {}
    for name, (game, value, target) in parts.items():
        statistics = {
            "explained_variance": explained_variance_statistic(value, target),
            "mean_square": ratio_statistic(target**2),
            "mean_squared_error": ratio_statistic((value - target) ** 2),
        }
        metrics[name] = cluster_bootstrap(game, statistics, replicates)
    return CriticEvaluation(
        **{
            metric: {name: of_name[metric] for name, of_name in metrics.items()}
            for metric in CriticEvaluation.__dataclass_fields__
        }
    )
