"""Estimates who wins a round, who is tenpai, and the probability that a discard deals in, from a network's predictions
of the hidden hands and the winner and from the public state of the table.

This is an estimate, not a search through hands. A wait on a tile is likely if a seat probably holds its neighbours or a
pair of it, and if that seat probably wins the round. Tiles that a seat has discarded itself, or that were discarded
since its last turn or its riichi, are safe from it (furiten). Three regressions combine these features with riichi,
melds and turn: for the winner, for tenpai without riichi, and for dealing in. Their coefficients were fitted to games
that the network has not learned from; `launch/reports/danger.py` evaluates them.

Shapes: B decisions, S seats from the actor on, O outcomes of a round (S, and nobody last), H other seats (next,
opposite, previous), K kinds of tiles, L counts (at least 1, 2, …), F features.
"""

from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from annotate.game.record import CLAIMS
from annotate.vocabulary import FIRST_HONOUR, NUM_TILES34, RANKS_PER_SUIT, Vocabulary, tile34_of
from kanachan.data.columns import ObservationColumns
from kanachan.inference.policy import Policy
from kanachan.objectives.auxiliary import HiddenHands, RoundWinner

CHANCES_KEY = "chances"
"""card entry of weights whose chances launch/reports/danger.py has compared with the actual outcomes"""


class Coefficients(NamedTuple):
    """The coefficients of the three regressions, in the order of their features below."""

    win: tuple[float, ...]
    """coefficients of the log probability that the head predicts, and of the other features of each outcome"""
    tenpai: tuple[float, ...]
    deal_in: tuple[float, ...]


COEFFICIENTS = {
    4: Coefficients(
        win=(0.66, -0.18, 0.24, 0.14, 0.04, 0.10, 0.05, -1.57, 0.21, 0.33, 0.23, -0.17, 0.07, 0.42, 0.06),
        tenpai=(-12.89, 0.18, 2.27, -0.39, 1.61, -0.14, 2.83, -0.43),
        deal_in=(-15.68, 0.28, 11.40, -2.30, 8.19, -1.80, 0.21, 2.96, 0.75),
    ),
    3: Coefficients(
        win=(0.73, 2.61, -0.49, -0.45, 0.23, 0.77, -0.13, 0.06, -0.26, 0.01, 0.56, -0.43, 0.20, 1.54, 0.04),
        tenpai=(-10.28, 0.50, 0.80, 0.15, 1.72, -0.36, 2.72, -0.36),
        deal_in=(-13.02, 0.39, 10.04, -2.33, 6.15, -1.36, 0.04, 2.67, 0.55),
    ),
}
"""coefficients by the number of seats"""
_LEAST_WAIT = 0.01
_LATE = 36
"""number of discards of all seats after which a feature shows that the wall may end first"""


class Danger(NamedTuple):
    """The danger for a seat at some decisions."""

    deal_in_BHK: Tensor
    """probability that a discard of each kind deals in to each other seat"""
    win_BO: Tensor
    """probability that each seat, the actor first, or nobody wins the round"""
    tenpai_BH: Tensor
    """probability that each other seat is tenpai; 1 in riichi"""

    @property
    def deal_in_BK(self) -> Tensor:
        """Probability that a discard of each kind deals in to anybody."""
        return (-self.deal_in_BHK).log1p().sum(dim=1).expm1().abs()  # 1 - product, without rounding small ones to 0


def predicts_danger(policy: Policy) -> bool:
    """Returns whether the policy's network has the auxiliary heads that an estimate needs."""
    return {"hidden_hands", "round_winner"} <= policy.objective.auxiliary.weights.keys()


@torch.inference_mode()
def estimate_danger(policy: Policy, columns: ObservationColumns) -> Danger:
    """Estimates the danger of discards; `predicts_danger` must be true for the policy."""
    fitted = COEFFICIENTS[policy.vocabulary.num_seats]
    auxiliary = policy.objective.auxiliary
    output_BO = policy.network.auxiliary(policy.network.encoded(policy.batch(columns).to(policy.device)))
    assert output_BO is not None, "a network without auxiliary heads"
    outputs = auxiliary.outputs(output_BO)
    hands, winner = auxiliary.targets["hidden_hands"], auxiliary.targets["round_winner"]
    assert isinstance(hands, HiddenHands) and isinstance(winner, RoundWinner)
    public = public_of(columns, policy.vocabulary)
    win_feature_BOF = _win_features(winner.probability(outputs["round_winner"]).cpu(), public)
    win_BO = (win_feature_BOF @ torch.tensor(fitted.win)).softmax(dim=1)
    wait_BHK = wait_weight(hands.probability(outputs["hidden_hands"]).cpu())
    riichi_BH, melds_BH = (column_BS[:, 1:].float() for column_BS in (public.is_riichi_BS, public.melds_BS))
    called_BH, turn_B1 = (melds_BH > 0).float(), public.discards_B.float().log1p()[:, None]
    against_B1 = public.is_riichi_BS.any(dim=1, keepdim=True).float()
    one, winner_BH = torch.ones(()), win_BO[:, 1:-1].clamp(1e-6, 1 - 1e-6).logit()
    calls = called_BH, called_BH * turn_B1, melds_BH
    tenpai_feature_BHF = _stacked(riichi_BH, one, winner_BH, *calls, melds_BH * turn_B1, turn_B1, against_B1)
    by_seat_BHF = _stacked(riichi_BH, one, winner_BH, riichi_BH, riichi_BH * turn_B1, *calls, turn_B1)
    by_seat_BHKF = by_seat_BHF[:, :, None].expand(*wait_BHK.shape, -1)
    feature_BHKF = torch.cat((by_seat_BHKF, wait_BHK.add(_LEAST_WAIT).log()[..., None]), dim=3)
    deal_in_BHK = (feature_BHKF @ torch.tensor(fitted.deal_in)).sigmoid()
    tenpai_BH = (tenpai_feature_BHF @ torch.tensor(fitted.tenpai)).sigmoid()
    return Danger(deal_in_BHK.masked_fill(public.is_safe_BHK, 0.0), win_BO, tenpai_BH.masked_fill(riichi_BH > 0, 1.0))


def _win_features(head_BO: Tensor, public: "Public") -> Tensor:
    """Returns the features of each outcome in the order of the coefficients: the log probability that the head
    predicts; riichi, melds, whether there are any, and riichi of others only, each followed by its product with the
    turn; melds and the actor against riichi; nobody, also times the turn, and late in the round; the actor."""
    riichi_BO, melds_BO = (F.pad(column_BS.float(), (0, 1)) for column_BS in (public.is_riichi_BS, public.melds_BS))
    turn_B1, called_BO = public.discards_B.float().log1p()[:, None], (melds_BO > 0).float()
    against_BO = F.pad((~public.is_riichi_BS & public.is_riichi_BS.any(dim=1, keepdim=True)).float(), (0, 1))
    nobody_BO, actor_BO = torch.zeros_like(head_BO), torch.zeros_like(head_BO)
    nobody_BO[:, -1] = actor_BO[:, 0] = 1
    by_turn = [part for x in (riichi_BO, melds_BO, called_BO, against_BO) for part in (x, x * turn_B1)]
    late_BO = nobody_BO * (public.discards_B[:, None] - _LATE).clamp(min=0) / 10
    nobody = nobody_BO, nobody_BO * turn_B1, late_BO
    against = called_BO * against_BO, actor_BO * against_BO
    return _stacked(head_BO, head_BO.clamp(min=1e-6).log(), *by_turn, *against, *nobody, actor_BO)


def _stacked(like: Tensor, *features: Tensor) -> Tensor:
    return torch.stack([each.expand(like.shape) for each in features], dim=-1)


def wait_weight(held_BHKL: Tensor) -> Tensor:
    """Returns weight_BHK: how well the tiles that a seat probably holds wait on each kind.

    It is the sum over the shapes that wait on the kind: two neighbours on one side, which wait on both ends (weight 1),
    two tiles that wait only on this kind, on both sides of it or at an end of the suit (0.5), and a pair (1).
    """
    one_BHK, pair_BHK = held_BHKL[..., 0], held_BHKL[..., 1]
    suited_BHSR = one_BHK[..., :FIRST_HONOUR].reshape(*one_BHK.shape[:2], -1, RANKS_PER_SUIT)
    padded = F.pad(suited_BHSR, (2, 2))

    def at(offset: int) -> Tensor:
        """Returns the probability of the tile `offset` ranks higher."""
        return padded[..., 2 + offset : 2 + offset + RANKS_PER_SUIT]

    rank_R = torch.arange(RANKS_PER_SUIT)
    # 8 and 9 wait only on 7, 1 and 2 only on 3
    above_BHSR = at(1) * at(2) * torch.where(rank_R == RANKS_PER_SUIT - 3, 0.5, 1.0)
    below_BHSR = at(-1) * at(-2) * torch.where(rank_R == 2, 0.5, 1.0)
    sequences_BHK = (above_BHSR + below_BHSR + 0.5 * at(-1) * at(1)).flatten(2)
    return F.pad(sequences_BHK, (0, NUM_TILES34 - FIRST_HONOUR)) + pair_BHK


class Public(NamedTuple):
    """Information that everybody at the table has seen."""

    is_riichi_BS: Tensor
    melds_BS: Tensor
    """numbers of open melds"""
    is_safe_BHK: Tensor
    """whether each other seat cannot win on a discard of this kind because of furiten"""
    discards_B: Tensor
    """number of discards of all seats so far"""


def public_of(columns: ObservationColumns, vocabulary: Vocabulary) -> Public:
    """Returns what everybody has seen at some decisions."""
    num_seats, num_rows = vocabulary.num_seats, len(columns)
    row, seat, tile, _, riichi = events_of(columns, vocabulary, "discard")
    kind = np.array([tile34_of(tile) for tile in range(vocabulary.progression["discard"].factors[1].size)])[tile]
    place = np.arange(len(row))
    is_riichi_BS = np.zeros((num_rows, num_seats), bool)
    is_safe_BHK = np.zeros((num_rows, num_seats - 1, NUM_TILES34), bool)
    for s in range(num_seats):
        is_of_seat = seat == s
        declared_at = np.full(num_rows, len(row))
        declares = is_of_seat & (riichi == 1)
        declared_at[row[declares]] = place[declares]
        is_riichi_BS[:, s] = declared_at < len(row)
        if s > 0:
            last_at = np.full(num_rows, -1)
            last_at[row[is_of_seat]] = place[is_of_seat]
            later = is_of_seat | (place > np.minimum(declared_at, last_at)[row])
            is_safe_BHK[row[later], s - 1, kind[later]] = True
    melds_BS = np.zeros((num_rows, num_seats), np.int64)
    for name in CLAIMS:
        if name in vocabulary.progression.blocks:
            row_of_call, seat_of_call, *_ = events_of(columns, vocabulary, name)
            np.add.at(melds_BS, (row_of_call, seat_of_call), 1)
    discards_B = np.bincount(row, minlength=num_rows)
    return Public(*map(torch.from_numpy, (is_riichi_BS, melds_BS, is_safe_BHK, discards_B)))


def events_of(columns: ObservationColumns, vocabulary: Vocabulary, name: str) -> list[NDArray[np.int64]]:
    """Returns the row, the seat counted from the actor, and the other factors of each event of a kind."""
    block, progression = vocabulary.progression[name], columns.progression
    event = progression.values.astype(np.int64) - block.first
    row = np.repeat(np.arange(len(columns)), progression.lengths)
    is_of_kind = (event >= 0) & (event < block.size)
    row = row[is_of_kind]
    seat, *rest = np.unravel_index(event[is_of_kind], [factor.size for factor in block.factors])
    return [row, (seat - columns.seat[row]) % vocabulary.num_seats, *rest]
