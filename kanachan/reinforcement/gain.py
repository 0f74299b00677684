"""Estimates, from the games of an old policy, the gain of playing a new one instead: importance sampling by rounds.

One seat plays the new policy, the other seats keep the old one. Each round is weighted by the ratio of the
probabilities of the seat's actions, W = Π π_new(a) / π_old(a), so that the weighted mean estimates the new policy. The
gain is the mean of (W - 1) · return. For one round it is exact for any two policies, but too noisy for distant ones:
refused then. Over a game it is exact to first order, as far as the returns are those of the old policy's games.

Shapes: B decisions, R rounds of a seat ("turns" of the policy), A candidates, S seats, G games.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from kanachan.data.columns import Columns, round_keys
from kanachan.data.sampler import by_round
from kanachan.data.shards import Shards
from kanachan.evaluation.bootstrap import Estimate, Floats, cluster_bootstrap, ratio_of_sums, ratio_statistic
from kanachan.evaluation.decision_metrics import concatenated
from kanachan.inference.policy import DEFAULT_BATCH, Policy
from kanachan.models.transformer import have_same_encoder
from kanachan.reinforcement.behaviour import MOST_DISAGREEMENT, Behaviour, divergence, of_actions

MOST_DIVERGENCE = 0.005
"""limit in nats a decision, beyond which the weights of whole rounds vary too much"""
_ROWS_AT_ONCE = 8192
_EARLY_SLACK = 0.5
"""share by which the divergence may exceed `MOST_DIVERGENCE` on the first `_ROWS_AT_ONCE` decisions; for n times as
many decisions, the error of the divergence, and so this share, is smaller by the square root of n"""


class TooFar(ValueError):
    """Raised if the new policy is too far from the old one to estimate the gain from the old one's games."""


class SeatRounds(NamedTuple):
    """The rounds of a policy's seats, one row for each seat and round."""

    game_R: NDArray[np.uint64]
    seat_R: NDArray[np.int64]
    weight_R: Floats
    """W, the product of π_new / π_old of the actions taken"""
    gain_R: Floats
    """contribution of the round to the gain; NaN if it is not known what followed the round"""
    decisions_R: NDArray[np.int64]
    divergence_R: Floats
    """divergence of the new policy from the old one, in nats, summed over the decisions"""
    disagreement_R: Floats
    """absolute difference of log π_old(a) from the recorded value, summed over the decisions"""

    def halves(self) -> "tuple[SeatRounds, SeatRounds]":
        """Divides the games into two halves: in the order of their hashes, every second game is in the second half."""
        _, game_index_R = np.unique(self.game_R, return_inverse=True)
        first, second = (SeatRounds(*(each[game_index_R % 2 == half] for each in self)) for half in range(2))
        return first, second

    @property
    def totals(self) -> Floats:
        """Sums of decisions, divergence and disagreement over all rounds."""
        return np.array([each.sum() for each in (self.decisions_R, self.divergence_R, self.disagreement_R)], np.float64)


@dataclass(frozen=True)
class Gain:
    """Gain of a policy over another one, for one seat in one game, in the unit of the utility."""

    gain: Estimate
    """gain, with an interval from resampled games"""
    divergence: Estimate
    """divergence of the new policy from the old one, in nats a decision"""
    mean_weight: Estimate
    """mean of W, which is 1 up to chance"""
    effective_size: float
    """number of rounds with equal weights that would be as informative: (ΣW)² / ΣW²"""
    disagreement: float
    """mean absolute difference of the recomputed log-probabilities from the recorded ones"""
    games: int
    seats: int
    """seats of the old policy in these games"""
    rounds: int
    """rounds of these seats"""
    decisions: int
    left_out: int
    """rounds of these seats with an unknown return"""


class GainMeter:
    """Weights the rounds of the old policy by the probabilities of the new one.

    Args:
        behaviour: how the old policy's actions were sampled; the new policy is assumed to be sampled likewise.
        returns: return_BS of the seats in the round of each decision, NaN where the return is not known
            (`kanachan.reinforcement.returns.RoundReturns.of`).
    """

    def __init__(
        self,
        new: Policy,
        old: Policy,
        behaviour: Behaviour,
        returns: Callable[[Columns], NDArray[np.float32]],
    ) -> None:
        assert new.vocabulary is old.vocabulary
        self._new, self._old, self._behaviour = new, old, behaviour
        # many updates do not change the encoder, which is most of the work
        self._shares_encoder = have_same_encoder(new.network, old.network)
        self._returns = returns

    def measure_all(
        self,
        shards: Shards,
        is_own: Callable[[Columns], NDArray[np.bool_]],
        progress: Callable[[int], object] = lambda rows: None,
    ) -> SeatRounds:
        """Weights all rounds of the old policy's seats in a split, a few thousand decisions at once.

        Args:
            shards: opened with the columns of self-play.
            is_own: returns which decisions are the old policy's.
            progress: called with the number of rows of each part that is done.

        Raises:
            ValueError: there are no such rounds, or another policy has played them.
            TooFar: the new policy is too far from the old one.
        """
        parts: list[SeatRounds] = []
        totals = np.zeros(3)
        for columns, num_rows in _spans(shards, is_own):
            if len(columns):
                parts.append(self.measure(columns))
                totals += parts[-1].totals
                slack = _EARLY_SLACK * math.sqrt(_ROWS_AT_ONCE / max(totals[0], _ROWS_AT_ONCE))
                _check(totals, at_most=(1 + slack) * MOST_DIVERGENCE)
            progress(num_rows)
        if not parts:
            raise ValueError("the old policy has no decisions in this split")
        _check(totals, at_most=MOST_DIVERGENCE)
        return concatenated(parts)

    def measure(self, columns: Columns) -> SeatRounds:
        """Weights some rounds. `columns`: all decisions of the old policy in rounds of its seats, as annotated; the
        decisions of a seat in a round must be adjacent and in order."""
        assert columns.log_probability is not None
        key_B = round_keys(columns, self._old.vocabulary)
        first_R = np.flatnonzero(np.append(True, key_B[1:] != key_B[:-1]))
        new_B, old_B, divergence_B = self._log_probabilities(columns)
        recorded_B = columns.log_probability.astype(np.float64)
        return_R = self._returns(columns)[first_R, columns.seat[first_R]].astype(np.float64)
        weight_R, gain_R = weighed(new_B - old_B, old_B - recorded_B, return_R, first_R)
        return SeatRounds(
            game_R=columns.game[first_R],
            seat_R=columns.seat[first_R],
            weight_R=weight_R,
            gain_R=gain_R,
            decisions_R=np.diff(np.append(first_R, len(columns))),
            divergence_R=np.add.reduceat(divergence_B, first_R),
            disagreement_R=np.add.reduceat(np.abs(old_B - recorded_B), first_R),
        )

    @torch.inference_mode()
    def _log_probabilities(self, columns: Columns) -> tuple[Floats, Floats, Floats]:
        """Returns new_B and old_B, the log-probabilities of the actions taken, and divergence_B."""
        parts = []
        for first in range(0, len(columns), DEFAULT_BATCH):
            rows = columns.rows(first, first + DEFAULT_BATCH)
            new_BA, old_BA = map(self._behaviour.log_probabilities, self._scores(rows))
            chosen_B = torch.from_numpy(rows.chosen.astype(np.int64)).to(new_BA.device)
            taken = [of_actions(log_BA, chosen_B) for log_BA in (new_BA, old_BA)]
            parts.append(torch.stack([*taken, divergence(new_BA, old_BA)]).cpu())
        new_B, old_B, divergence_B = torch.cat(parts, dim=1).numpy()
        return new_B, old_B, divergence_B

    def _scores(self, columns: Columns) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns score_BA of the new and of the old policy."""
        new, old = self._new, self._old
        batch = old.batch(columns).to(old.device)
        if self._shares_encoder:
            encoded = old.network.encoded(batch)
            new_output, old_output = (policy.decoded(batch, encoded) for policy in (new, old))
        else:
            new_output, old_output = new.output(new.batch(columns).to(new.device)), old.output(batch)
        return new.objective.score(new_output), old.objective.score(old_output)


def weighed(
    ratio_B: Floats, correction_B: Floats, return_R: Floats, first_R: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Computes weight_R and gain_R (`SeatRounds`).

    Args:
        ratio_B: log π_new(a) - log π_old(a).
        correction_B: log π_old(a) minus the log-probability by which the action was sampled. It differs from 0 where
            the games were played in another precision; the gain includes it, and stays exact.
        return_R: return of the deciding seat in each round.
        first_R: the first decision of each round.
    """
    ratio_R = np.add.reduceat(ratio_B, first_R)
    return np.exp(ratio_R), np.exp(np.add.reduceat(correction_B, first_R)) * np.expm1(ratio_R) * return_R


def _check(totals: Floats, at_most: float) -> None:
    """Raises ValueError if another policy has played rounds with these `SeatRounds.totals`, and TooFar if the new
    policy is further than `at_most` from the old one."""
    decisions, divergence, disagreement = totals
    if disagreement > MOST_DISAGREEMENT * decisions:
        raise ValueError(
            f"the old policy does not give the actions the probabilities with which they were played: the logarithms "
            f"differ by {disagreement / decisions:.3g} on average over {decisions:,.0f} decisions"
        )
    if divergence > at_most * decisions:
        raise TooFar(
            f"the new policy diverges from the old one by {divergence / decisions:.3g} nats a decision, more than the "
            f"{MOST_DIVERGENCE:g} up to which the games of the old one show the gain of the new one: play games to "
            "compare them (kanachan-arena), or take a smaller step"
        )


def _spans(shards: Shards, is_own: Callable[[Columns], NDArray[np.bool_]]) -> Iterator[tuple[Columns, int]]:
    """Yields the policy's rows among some thousands of rows of a split, and the number of rows searched. The rows of a
    seat in a round are together."""
    rows = np.arange(len(shards))
    first = 0
    while first < len(rows):
        span = rows[first : first + _ROWS_AT_ONCE]
        columns = shards.gather(span)
        if first + len(span) < len(rows):  # the last round may continue after them
            key_B = round_keys(columns, shards.vocabulary)
            whole = int(np.flatnonzero(key_B != key_B[-1])[-1]) + 1
            span, columns = span[:whole], columns.rows(0, whole)
        own = span[is_own(columns)]
        yield shards.gather(own[by_round(shards, own, len(own))]), len(span)
        first += len(span)


def gain_of(rounds: SeatRounds, replicates: int) -> Gain:
    """Computes the gain and its errors, with games as the units."""
    known_R = ~np.isnan(rounds.gain_R)
    # a game with several seats counts several times; a seat counts at its first round
    pairs = np.stack([rounds.game_R, rounds.seat_R.astype(np.uint64)], axis=1)
    is_new_R = np.zeros(len(pairs), bool)
    is_new_R[np.unique(pairs, axis=0, return_index=True)[1]] = True
    total_R = np.where(known_R, rounds.gain_R, 0.0)
    game_R = rounds.game_R.view(np.int64)
    statistics = {
        "gain": ratio_of_sums(total_R, is_new_R),
        "divergence": ratio_of_sums(rounds.divergence_R, rounds.decisions_R),
        "weight": ratio_statistic(rounds.weight_R),
    }
    found = cluster_bootstrap(game_R, statistics, replicates)
    seats, weight_R, decisions = int(is_new_R.sum()), rounds.weight_R, int(rounds.decisions_R.sum())
    return Gain(
        gain=found["gain"]._replace(decisions=decisions),
        divergence=found["divergence"]._replace(decisions=decisions),
        mean_weight=found["weight"],
        effective_size=float(weight_R.sum() ** 2 / (weight_R**2).sum()),
        disagreement=float(rounds.disagreement_R.sum() / decisions),
        games=len(np.unique(game_R)),
        seats=seats,
        rounds=len(pairs),
        decisions=decisions,
        left_out=int((~known_R).sum()),
    )
