"""The network of the reward predictor: predicts the final order of the seats and grading points from a round.

It predicts them at the start of a round, and after a round in which one seat's points are known.

Everything is computed from the view of each seat, counting seats from that seat onwards. Each view yields logits of the
final order. Renumbered from one common seat, the logits of all views refer to the same orders; their mean is the
prediction, so the seats never disagree. Each view has its own loss: with few games, the mean then overfits less
(docs/LOG.md).

Shapes: X any leading dimensions, S seats, F features, W width, O orders of the seats, K outputs of grading points, P
pairs of seats, H hypotheses about the points of a seat in the round, Y = O + K.
"""

from itertools import combinations, pairwise
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from annotate.vocabulary import NUM_GRADES, Vocabulary
from kanachan.config import RewardConfig
from kanachan.data.round_state import RoundState
from kanachan.models.seat_orders import SeatOrders

_POINTS_PER_UNIT = 10_000.0
_STICKS_PER_UNIT = 10.0
_SCALES_OF_LEADS = (1.0, 4.0, 12.0)  # of 10,000 points
_LOG_POINTS = 1_000.0  # of which a seat's points are a logarithmic feature


class RewardOutput(NamedTuple):
    """The outputs of a network for each situation and seat."""

    order_XSO: Tensor
    """logits of the orders (`SeatOrders`), place 0 being the seat"""
    grading_XSK: Tensor
    """the seat's grading points: logits of bins"""

    def plus(self, change_XSY: Tensor) -> "RewardOutput":
        """Returns the outputs after adding a change to all logits."""
        order_XSO, grading_XSK = change_XSY.tensor_split([self.order_XSO.shape[-1]], dim=-1)
        return RewardOutput(self.order_XSO + order_XSO, self.grading_XSK + grading_XSK)


class RewardNetwork(nn.Module):
    """A small network that predicts from the current round how the game ends."""

    points_logit: Tensor
    """log probabilities of bins of a seat's points in a round, over all rounds that it learned from"""

    def __init__(
        self, config: RewardConfig, vocabulary: Vocabulary, num_grading_outputs: int, num_points_outputs: int
    ) -> None:
        super().__init__()
        self.config = config
        self.features = SeatFeatures(vocabulary)
        self.orders = SeatOrders(vocabulary.num_seats)
        widths = [self.features.size, *[config.width] * config.layers]
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(widths):
            layers += [nn.Linear(inputs, outputs), nn.GELU(), nn.Identity()]  # Identity: keeps earlier weights' names
        self.trunk = nn.Sequential(*layers)
        self.head = nn.Linear(config.width, self.orders.num_orders + num_grading_outputs)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)
        self.after_round = AfterRound(config.width, self.features, self.head.out_features)
        self.register_buffer("points_logit", torch.zeros(num_points_outputs))

    def forward(self, state: RoundState) -> RewardOutput:
        return self.averaged(self.views(state))

    def averaged(self, of_view: RewardOutput) -> RewardOutput:
        """Returns the prediction, in which the logits of the orders are the mean over the seats' views."""
        order_XO = self.orders.seen_from_first(of_view.order_XSO).mean(dim=-2)
        return of_view._replace(order_XSO=self.orders.seen_from(order_XO))

    def views(self, state: RoundState) -> RewardOutput:
        """Returns the output of each seat's view, for training."""
        output_XSY = self.head(self.trunk(self.features(state))).float()
        order_XSO, grading_XSK = output_XSY.tensor_split([self.orders.num_orders], dim=-1)
        return RewardOutput(order_XSO, grading_XSK)


class AfterRound(nn.Module):
    """Predicts the change of a seat's outputs from the start to the end of a round, given its points in the round."""

    def __init__(self, width: int, features: "SeatFeatures", num_outputs: int) -> None:
        super().__init__()
        self._num_seats = features.num_seats
        num_of_points = 2 + len(_SCALES_OF_LEADS) * (features.num_seats - 1)
        self.from_state = nn.Linear(features.size, width)
        self.from_points = nn.Linear(num_of_points, width, bias=False)
        self.hidden = nn.Linear(width, width)
        self.head = nn.Linear(width, num_outputs)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, feature_XF: Tensor, points_XH: Tensor) -> Tensor:
        """Returns change_XHY for each hypothesis, from the features of the seat's view at the start."""
        score_XS = feature_XF[..., : self._num_seats]
        points_XH1 = points_XH[..., None] / _POINTS_PER_UNIT
        lead_XHS = points_XH1 + (score_XS[..., :1] - score_XS[..., 1:])[..., None, :]
        log_XH1 = points_XH1.sign() * (points_XH1.abs() * (_POINTS_PER_UNIT / _LOG_POINTS)).log1p() / 4
        of_points = [points_XH1, log_XH1, *[(scale * lead_XHS).tanh() for scale in _SCALES_OF_LEADS]]
        hidden_XHW = self.from_state(feature_XF)[..., None, :] + self.from_points(torch.cat(of_points, dim=-1))
        return self.head(F.gelu(self.hidden(F.gelu(hidden_XHW)))).float()


class SeatFeatures(nn.Module):
    """The features of a state from each seat's view. In the last round they include the leads between all pairs of
    seats at several resolutions; before that these are 0."""

    seat_SS: Tensor
    """the seats, counted from each seat onwards"""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.num_seats = vocabulary.num_seats
        self.num_rounds = vocabulary.sparse["wind"].size * self.num_seats
        self._pairs = list(combinations(range(self.num_seats), 2))
        self.num_rooms = vocabulary.sparse["room"].size
        seat_S = torch.arange(self.num_seats)
        self.register_buffer("seat_SS", (seat_S[:, None] + seat_S) % self.num_seats, persistent=False)
        state = RoundState(*(torch.zeros(1, self.num_seats, dtype=torch.int64),) * 2, *(torch.zeros(1).long(),) * 6)
        self.size = self(state).shape[-1]

    def forward(self, state: RoundState) -> Tensor:
        """Returns feature_XSF; the scores of all seats come first."""
        num_seats, seat_S = self.num_seats, self.seat_SS[:, 0]
        score_XSS = state.score_XS[..., self.seat_SS] / _POINTS_PER_UNIT
        ahead_XSS = score_XSS[..., 1:] - score_XSS[..., :1]
        is_before_XSS = (ahead_XSS > 0) | ((ahead_XSS == 0) & (self.seat_SS[:, 1:] < seat_S[:, None]))
        round_X = state.wind_X * num_seats + state.dealer_X
        left_X = ((state.style_X + 1) * num_seats - 1 - round_X).clamp(min=0)
        lead_XSP = torch.stack([score_XSS[..., b] - score_XSS[..., a] for a, b in self._pairs], dim=-1)
        is_last_X11 = (left_X == 0)[..., None, None]
        features = [
            score_XSS,
            (4 * ahead_XSS).tanh(),  # small leads are resolved more finely than large ones
            is_before_XSS,
            _one_hot(is_before_XSS.sum(dim=-1), num_seats),
            self._of_table((state.honba_X / _STICKS_PER_UNIT)[..., None]),
            self._of_table((state.deposits_X / _STICKS_PER_UNIT)[..., None]),
            self._of_table(_one_hot(round_X, self.num_rounds)),
            self._of_table((left_X / num_seats)[..., None]),
            self._of_table((left_X == 0)[..., None]),
            self._of_table(state.style_X[..., None]),
            _one_hot((state.dealer_X[..., None] - seat_S) % num_seats, num_seats),
            _one_hot(seat_S, num_seats).expand(*round_X.shape, -1, -1),
            self._of_table(_one_hot(state.room_X, self.num_rooms)),
            _one_hot(state.grade_XS, NUM_GRADES),
            *[(scale * lead_XSP).tanh() * is_last_X11 for scale in _SCALES_OF_LEADS],
        ]
        return torch.cat([feature.to(score_XSS.dtype) for feature in features], dim=-1)

    def _of_table(self, feature_XF: Tensor) -> Tensor:
        """Repeats a feature for every seat."""
        return feature_XF[..., None, :].expand(*feature_XF.shape[:-1], self.num_seats, -1)


def _one_hot(value_X: Tensor, size: int) -> Tensor:
    """Returns [X, size]; all zeros for a value out of range."""
    return value_X[..., None] == torch.arange(size, device=value_X.device)
