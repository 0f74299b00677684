"""Estimates the probability that a discard deals in, from what a network predicts of the hidden hands and the winner.

An estimate, not a search through hands: a wait on a tile is likely where a seat probably holds its neighbours or a pair
of it, and where that seat probably wins the round. Tiles that a seat has discarded itself, or that were discarded after
its riichi, are safe from it (furiten). A logistic regression combines these features; its coefficients were fitted to
the discards of validation games of four players, and `launch/reports/danger.py` fits and measures them again.

Shapes: B decisions, H other seats (next, opposite, previous), K kinds of tiles, L counts (at least 1, 2, …),
F features.
"""

from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from annotate.vocabulary import NUM_TILES34, Vocabulary, tile34_of
from kanachan.data.columns import ObservationColumns
from kanachan.inference.policy import Policy
from kanachan.objectives.auxiliary import HiddenHands, RoundWinner

FEATURES = ("constant", "winner", "riichi", "turn", "wait")
COEFFICIENTS = (-9.70, 0.11, 2.24, 1.51, 0.80)
"""of `FEATURES`"""
FITTED_SEATS = 4
"""seats of the games to which they were fitted"""
_LEAST_WAIT = 0.01
_RANKS_OF_SUIT = 9
_NUM_SUITED = 27


class Danger(NamedTuple):
    """What threatens a seat at some decisions."""

    deal_in_BHK: Tensor
    """probability that a discard of this kind deals in to the seat"""
    win_BH: Tensor
    """probability that the seat wins the round"""

    @property
    def deal_in_BK(self) -> Tensor:
        """Probability that a discard of this kind deals in to anybody."""
        return 1 - (1 - self.deal_in_BHK).prod(dim=1)


def predicts_danger(policy: Policy) -> bool:
    """Returns whether the policy's network has the auxiliary heads that an estimate needs."""
    return {"hidden_hands", "round_winner"} <= policy.objective.auxiliary.weights.keys()


@torch.inference_mode()
def estimate_danger(policy: Policy, columns: ObservationColumns) -> Danger:
    """Estimates the danger of discards for a policy of which `predicts_danger` is true, in games of `FITTED_SEATS`."""
    assert policy.vocabulary.num_seats == FITTED_SEATS, "the coefficients are for other games"
    inputs = danger_inputs(policy, columns)
    logit_BHK = (inputs.feature_BHKF * torch.tensor(COEFFICIENTS)).sum(dim=3)
    return Danger(logit_BHK.sigmoid().masked_fill(inputs.is_safe_BHK, 0.0), inputs.win_BH)


class DangerInputs(NamedTuple):
    """What the regression needs."""

    feature_BHKF: Tensor
    is_safe_BHK: Tensor
    """whether the seat cannot win on a discard of this kind, as it is furiten"""
    win_BH: Tensor


@torch.inference_mode()
def danger_inputs(policy: Policy, columns: ObservationColumns) -> DangerInputs:
    """Computes the features of the regression for some decisions."""
    auxiliary = policy.objective.auxiliary
    output_BO = policy.output(policy.batch(columns).to(policy.device)).auxiliary_BK
    assert output_BO is not None, "a network without auxiliary heads"
    outputs = auxiliary.outputs(output_BO)
    hands, winner = auxiliary.targets["hidden_hands"], auxiliary.targets["round_winner"]
    assert isinstance(hands, HiddenHands) and isinstance(winner, RoundWinner)
    win_BH = winner.probability(outputs["round_winner"])[:, 1:-1].cpu()  # without the actor and without nobody
    wait_BHK = wait_weight(hands.probability(outputs["hidden_hands"]).cpu())
    public = _public(columns, policy.vocabulary)
    parts = {
        "constant": torch.ones(()),
        "winner": win_BH.clamp(1e-6, 1 - 1e-6).logit()[:, :, None],
        "riichi": torch.from_numpy(public.is_riichi_BH).float()[:, :, None],
        "turn": torch.from_numpy(public.discards_B).float().log1p()[:, None, None],
        "wait": wait_BHK.add(_LEAST_WAIT).log(),
    }
    feature_BHKF = torch.stack([parts[name].expand(wait_BHK.shape) for name in FEATURES], dim=3)
    return DangerInputs(feature_BHKF, torch.from_numpy(public.is_safe_BHK), win_BH)


def wait_weight(held_BHKL: Tensor) -> Tensor:
    """Returns weight_BHK: how well the tiles that a seat probably holds would wait on each kind.

    The sum over the shapes that wait on it: two neighbours on one side, which wait on both ends (weight 1), two that
    wait on it alone, on its sides or at an end of the suit (0.5), and a pair (1).
    """
    one_BHK, pair_BHK = held_BHKL[..., 0], held_BHKL[..., 1]
    suited_BHSR = one_BHK[..., :_NUM_SUITED].reshape(*one_BHK.shape[:2], -1, _RANKS_OF_SUIT)
    padded = F.pad(suited_BHSR, (2, 2))

    def at(offset: int) -> Tensor:
        """Returns the probability of the tile `offset` ranks higher."""
        return padded[..., 2 + offset : 2 + offset + _RANKS_OF_SUIT]

    rank_R = torch.arange(_RANKS_OF_SUIT)
    # 8 and 9 wait on 7 alone, 1 and 2 on 3 alone
    above_BHSR = at(1) * at(2) * torch.where(rank_R == _RANKS_OF_SUIT - 3, 0.5, 1.0)
    below_BHSR = at(-1) * at(-2) * torch.where(rank_R == 2, 0.5, 1.0)
    sequences_BHK = (above_BHSR + below_BHSR + 0.5 * at(-1) * at(1)).flatten(2)
    return F.pad(sequences_BHK, (0, NUM_TILES34 - _NUM_SUITED)) + pair_BHK


class _Public(NamedTuple):
    """What everybody at the table has seen."""

    is_riichi_BH: NDArray[np.bool_]
    is_safe_BHK: NDArray[np.bool_]
    discards_B: NDArray[np.int64]
    """of all seats so far"""


def _public(columns: ObservationColumns, vocabulary: Vocabulary) -> _Public:
    block = vocabulary.progression["discard"]
    progression, num_others = columns.progression, vocabulary.num_seats - 1
    event = progression.values.astype(np.int64) - block.first
    row = np.repeat(np.arange(len(columns)), progression.lengths)
    is_discard = (event >= 0) & (event < block.size)
    event, row = event[is_discard], row[is_discard]
    seat, tile, _, riichi = np.unravel_index(event, [factor.size for factor in block.factors])
    kind = np.array([tile34_of(tile) for tile in range(block.factors[1].size)])[tile]
    place = np.arange(len(event))
    other = (seat - columns.seat[row] - 1) % vocabulary.num_seats
    is_riichi_BH = np.zeros((len(columns), num_others), bool)
    is_safe_BHK = np.zeros((len(columns), num_others, NUM_TILES34), bool)
    for h in range(num_others):
        own = other == h
        is_safe_BHK[row[own], h, kind[own]] = True
        declared_at = np.full(len(columns), len(event))
        declares = own & (riichi == 1)
        declared_at[row[declares]] = place[declares]
        is_riichi_BH[:, h] = declared_at < len(event)
        later = place > declared_at[row]
        is_safe_BHK[row[later], h, kind[later]] = True
    return _Public(is_riichi_BH, is_safe_BHK, np.bincount(row, minlength=len(columns)))
