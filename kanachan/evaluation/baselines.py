"""Predicts points only from the scores and the round, without tiles and events: the baseline of points of the round.

It is a ridge regression on the features of the reward predictor (`kanachan.models.reward_network.SeatFeatures`):
sticks, scores, round, style, the actor's seat, and the room and own grade.

Shapes: B decisions, F features, Y = F + 1: features and target.
"""

from collections.abc import Iterator

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from annotate.vocabulary import Vocabulary
from kanachan.data.columns import Columns
from kanachan.data.round_state import RoundState
from kanachan.evaluation.bootstrap import Floats
from kanachan.models.reward_network import SeatFeatures
from kanachan.models.seat_orders import SeatOrders
from kanachan.objectives.targets import Results, final_ranks_from_actor

_PENALTIES = [10.0**exponent for exponent in range(-6, 3)]
"""weights of the squared coefficients, to be multiplied by the number of decisions"""
_HELD_OUT = 10  # one of this many games is held out, to choose the penalty
_ROWS = 65_536  # decisions whose features are in memory at once


def predicted_from_scores(
    train: Columns, target_B: NDArray[np.generic], columns: Columns, vocabulary: Vocabulary
) -> Floats:
    """Predicts the mean of a target of `columns` by a regression fitted to `train`.

    Rows must be as annotated, with seats not canonicalised: all decisions of a split or a sample of them. `train` must
    be of at least two games, a tenth of which chooses the penalty. `target_B`: the targets of `train`.
    """
    games = np.unique(train.game)  # sorted by a hash, so the first ones are a random sample
    assert len(games) > 1
    is_held_out_B = torch.from_numpy(np.isin(train.game, games[: max(1, len(games) // _HELD_OUT)]))
    number_B = np.asarray(target_B, np.float64)
    mean = number_B.mean()
    centred_B1 = torch.from_numpy(number_B - mean)[:, None]
    fitted_YY, held_out_YY = torch.zeros(2, 1, 1, dtype=torch.float64)  # sums of products, all that a regression needs
    for number, feature_BF in enumerate(_features(train, vocabulary)):
        rows = slice(number * _ROWS, (number + 1) * _ROWS)
        both_BY, where_B = torch.cat((feature_BF, centred_B1[rows]), dim=1), is_held_out_B[rows]
        fitted_YY = fitted_YY + both_BY[~where_B].T @ both_BY[~where_B]
        held_out_YY = held_out_YY + both_BY[where_B].T @ both_BY[where_B]
    num_fitted = int((~is_held_out_B).sum())
    best = min(_PENALTIES, key=lambda each: _error(_regression(fitted_YY, num_fitted * each), held_out_YY))
    weight_F = _regression(fitted_YY + held_out_YY, len(train) * best)
    return torch.cat([feature_BF @ weight_F for feature_BF in _features(columns, vocabulary)]).numpy() + mean


def actor_orders(columns: Columns, vocabulary: Vocabulary) -> NDArray[np.int64]:
    """Returns order_B: the final order of the game, with the ranks of the actor and of the following seats in turn.

    Orders are numbered as in `kanachan.models.seat_orders.SeatOrders`, with the actor at place 0.
    """
    rank_BS = final_ranks_from_actor(Results.of_columns(columns, vocabulary))
    return SeatOrders(vocabulary.num_seats).number(rank_BS).numpy()


def _features(columns: Columns, vocabulary: Vocabulary) -> Iterator[Tensor]:
    """Yields feature_BF of the actors, the last of which is 1, for `_ROWS` decisions at a time."""
    of_seats = SeatFeatures(vocabulary)
    for first in range(0, len(columns), _ROWS):
        rows = columns.rows(first, min(first + _ROWS, len(columns)))
        feature_BSF = of_seats(RoundState.of_observations(rows, vocabulary))
        feature_BF = feature_BSF[torch.arange(len(rows)), torch.from_numpy(rows.seat)]
        yield F.pad(feature_BF.double(), (0, 1), value=1.0)


def _regression(product_YY: Tensor, penalty: float) -> Tensor:
    """Returns the coefficients weight_F."""
    product_FF, target_F = product_YY[:-1, :-1], product_YY[:-1, -1]
    return torch.linalg.solve(product_FF + penalty * torch.eye(len(product_FF), dtype=torch.float64), target_F)


def _error(weight_F: Tensor, product_YY: Tensor) -> float:
    """Returns the sum of squared errors of a regression."""
    weight_Y = F.pad(weight_F, (0, 1), value=-1.0)
    return float(weight_Y @ product_YY @ weight_Y)
