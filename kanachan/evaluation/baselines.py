"""Predicts points only from the scores and the round, without tiles and events: the baseline of points of the round.

It uses the features of the reward predictor (`kanachan.models.reward_network.SeatFeatures`): sticks, scores, round,
style, the actor's seat, and the room and own grade (on which grading points depend). All decisions of a seat with the
same scores have the same features and are merged before fitting.

Shapes: B decisions, U distinct situations, F features.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from annotate.vocabulary import Vocabulary
from kanachan.data.columns import Columns
from kanachan.data.round_state import RoundState
from kanachan.evaluation.bootstrap import Floats
from kanachan.models.reward_network import SeatFeatures
from kanachan.models.seat_orders import SeatOrders
from kanachan.objectives.targets import Results, final_ranks_from_actor

_WIDTH = 64
_EPOCHS = 60
_PATIENCE = 6  # epochs without a gain on the held-out games
_STEPS_PER_EPOCH = 16  # more if batches would exceed _LARGEST_BATCH
_LARGEST_BATCH = 2048
_LEARNING_RATE = 5e-3
_WEIGHT_DECAY = 0.01
_HELD_OUT = 10  # one of this many games is held out


def predicted_from_scores(
    train: Columns, target_B: NDArray[np.generic], columns: Columns, vocabulary: Vocabulary
) -> Floats:
    """Predicts the mean of a target of `columns` by a small network fitted to `train`; deterministic for given rows.

    Rows must be as annotated, with seats not canonicalised: all decisions of a split or a sample of them. `train` must
    be of at least two games, a tenth of which is held out for early stopping. `target_B`: the targets of `train`.
    """
    feature_UF, first_U, which_B = _situations(train, vocabulary)
    target_U = torch.from_numpy(np.asarray(target_B, np.float64)[first_U])
    weight_U = torch.from_numpy(np.bincount(which_B).astype(np.float32))
    games = np.unique(train.game)  # sorted by a hash, so the first ones are a random sample
    assert len(games) > 1
    held_out = games[: max(1, len(games) // _HELD_OUT)]
    is_fitted_U = torch.from_numpy(~np.isin(train.game[first_U], held_out))
    share_U = weight_U[is_fitted_U] / weight_U[is_fitted_U].sum()
    mean = float((target_U[is_fitted_U] * share_U).sum())
    scale = float(((target_U[is_fitted_U] - mean).square() * share_U).sum().sqrt()) or 1.0
    examples = _Examples(feature_UF, ((target_U - mean) / scale).float(), weight_U)
    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)  # such small products are slower on several threads, and much slower on a busy machine
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            network = _network(feature_UF.shape[1])
            _train(network, examples.at(is_fitted_U), examples.at(~is_fitted_U))
    finally:
        torch.set_num_threads(num_threads)
    feature_UF, _, which_B = _situations(columns, vocabulary)
    with torch.no_grad():
        output_U = network(feature_UF)[:, 0].double()
    return (output_U * scale + mean).numpy()[which_B]


def actor_orders(columns: Columns, vocabulary: Vocabulary) -> NDArray[np.int64]:
    """Returns order_B: the final order of the game, with the ranks of the actor and of the following seats in turn.

    Orders are numbered as in `kanachan.models.seat_orders.SeatOrders`, with the actor at place 0.
    """
    rank_BS = final_ranks_from_actor(Results.of_columns(columns, vocabulary))
    return SeatOrders(vocabulary.num_seats).number(rank_BS).numpy()


class _Examples(NamedTuple):
    """Distinct situations with their target and the number of their decisions."""

    feature_UF: Tensor
    target_U: Tensor
    weight_U: Tensor

    def at(self, which_U: Tensor) -> "_Examples":
        return _Examples(*(column[which_U] for column in self))


def _train(network: nn.Module, training: _Examples, held_out: _Examples) -> None:
    """Trains the network and restores the best epoch; before the first epoch, it predicts the mean."""
    optimizer = torch.optim.AdamW(network.parameters(), _LEARNING_RATE, weight_decay=_WEIGHT_DECAY)
    best_loss, best_epoch = _held_out_loss(network, held_out), 0
    best = {name: value.clone() for name, value in network.state_dict().items()}
    for epoch in range(1, _EPOCHS + 1):
        order_U = torch.randperm(len(training.target_U))
        batch = min(_LARGEST_BATCH, math.ceil(len(order_U) / _STEPS_PER_EPOCH))
        for first in range(0, len(order_U), batch):
            optimizer.zero_grad()
            loss: Any = _loss(network, training.at(order_U[first : first + batch]))
            loss.backward()
            optimizer.step()
        held_out_loss = _held_out_loss(network, held_out)
        if held_out_loss < best_loss:
            best_loss, best_epoch = held_out_loss, epoch
            best = {name: value.clone() for name, value in network.state_dict().items()}
        elif epoch - best_epoch >= _PATIENCE:
            break
    network.load_state_dict(best)


@torch.no_grad()
def _held_out_loss(network: nn.Module, held_out: _Examples) -> float:
    return float(_loss(network, held_out))


def _loss(network: nn.Module, examples: _Examples) -> Tensor:
    error_U = (network(examples.feature_UF)[:, 0] - examples.target_U).square()
    return (error_U * examples.weight_U).sum() / examples.weight_U.sum()


def _network(num_features: int) -> nn.Sequential:
    last = nn.Linear(_WIDTH, 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    return nn.Sequential(nn.Linear(num_features, _WIDTH), nn.GELU(), nn.Linear(_WIDTH, _WIDTH), nn.GELU(), last)


def _situations(columns: Columns, vocabulary: Vocabulary) -> tuple[Tensor, NDArray[np.int64], NDArray[np.int64]]:
    """Returns the features of scores, round and table that the actor sees in each distinct situation of a game,
    feature_UF; the first row of each situation [U]; and the index of each row's situation [B]."""
    state, seat_B = RoundState.of_observations(columns, vocabulary), torch.from_numpy(columns.seat)
    of_seats = state._replace(grade_XS=seat_B[:, None])  # within a game, grades do not change
    parts = torch.cat([column.view(len(columns), -1) for column in of_seats], dim=1).numpy().T
    # The sum of products with random odd numbers, modulo 2^64, is a hash; collisions are negligible here.
    odd = np.random.default_rng(0).integers(0, 2**63, len(parts) + 1, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    key_B = columns.game * odd[0]
    for part, factor in zip(parts, odd[1:], strict=True):
        key_B += part.astype(np.uint64) * factor
    _, first_U, which_B = np.unique(key_B, return_index=True, return_inverse=True)
    row_U = torch.from_numpy(first_U)
    feature_USF = SeatFeatures(vocabulary)(state.at(row_U))
    return feature_USF[torch.arange(len(row_U)), seat_B[row_U]], first_U, which_B
