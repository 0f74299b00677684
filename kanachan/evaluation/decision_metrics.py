"""Metrics of networks on held-out games, with intervals, by kind of decision.

Decisions of a game are not independent, so every interval comes from resampling whole games (bootstrap). Each metric
is a function of sums over rows, so that a replicate costs one matrix product instead of a pass over the rows.

The kinds of a decision depend on its possible actions; it can have several (`taken`: the player's action is of a kind):

- discard: discards of at least two kinds of tile, with red fives counted as fives
- riichi: a discard that declares riichi; chi, pon, kan (daiminkan, ankan, kakan), ron, tsumo, kyushu, kita: such an
  action

Shapes: B decisions, A candidates, N candidate tokens, C columns of sums, D distinct columns, G games, K kinds,
R replicates.
"""

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from annotate.vocabulary import NUM_TILES34, Vocabulary, tile34_of
from kanachan.data.batch import Batch
from kanachan.data.columns import Columns
from kanachan.evaluation.bootstrap import Column, Estimate, Statistic, cluster_bootstrap, ratio_statistic
from kanachan.evaluation.calibration import calibration_statistic

KINDS = ("discard", "riichi", "chi", "pon", "kan", "ron", "tsumo", "kyushu", "kita")
NO_TILE = -1

ArrayT = TypeVar("ArrayT")


class Measures(NamedTuple, Generic[ArrayT]):
    """The inputs of the metrics of agreement: tensors on the device of the scores, or arrays."""

    game_B: ArrayT
    is_top_B: ArrayT
    """whether the action taken has the highest score"""
    is_top_tile_B: ArrayT
    """the same, with all discards of a tile as one action (regardless of red five, tsumogiri and riichi)"""
    log_probability_B: ArrayT
    """log probability of the action taken"""
    log_probability_of_tile_B: ArrayT
    """log probability of the action taken, or if it is a discard, of all discards of its tile together"""
    confidence_B: ArrayT
    """probability of the candidate with the highest score"""
    is_offered_BK: ArrayT
    is_taken_BK: ArrayT
    is_predicted_BK: ArrayT


DecisionRows = Measures[NDArray[Any]]
RowsT = TypeVar("RowsT", bound=tuple)


def concatenated(parts: Sequence[RowsT]) -> RowsT:
    """Joins one or more named tuples of arrays, whose rows are decisions."""
    return type(parts[0])(*map(np.concatenate, zip(*parts, strict=True)))


def agreement(rows: Measures[ArrayT], kind: str) -> ArrayT:
    """Returns agrees_B: whether the top choice and the action taken are both of the kind or both not; for discards,
    whether both discard the same tile."""
    if kind == "discard":
        return rows.is_top_tile_B
    k = KINDS.index(kind)
    taken_BK, predicted_BK = cast(Any, rows.is_taken_BK), cast(Any, rows.is_predicted_BK)
    return taken_BK[:, k] == predicted_BK[:, k]


def log_probability(rows: Measures[ArrayT], kind: str) -> ArrayT:
    """Returns log_probability_B of the action taken; for discards, of all discards of its tile together."""
    return rows.log_probability_of_tile_B if kind == "discard" else rows.log_probability_B


def kinds_and_tiles(vocabulary: Vocabulary) -> tuple[Tensor, Tensor]:
    """Returns the kinds [N, K] and the tile [N] (`NO_TILE` if it is not a discard) of each candidate token. A token is
    1 + the number of its action."""
    kinds_of_block = {"daiminkan": "kan", "ankan": "kan", "kakan": "kan", "skip": None}
    kinds_NK = torch.zeros(1 + vocabulary.action.size, len(KINDS), dtype=torch.bool)
    tile_N = torch.full((1 + vocabulary.action.size,), NO_TILE)
    for action in range(vocabulary.action.size):
        block, factors = vocabulary.action.describe(action)
        kind = kinds_of_block.get(block, block)
        if kind is not None:
            kinds_NK[1 + action, KINDS.index(kind)] = True
        if block == "discard":
            tile_N[1 + action] = tile34_of(factors["tile"])
            kinds_NK[1 + action, KINDS.index("riichi")] = bool(factors["riichi"])
    return kinds_NK, tile_N


class DecisionMeter:
    """Converts batches and their scores to rows. Holds the kinds and the tile of each candidate token."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._kinds_NK, self._tile_N = kinds_and_tiles(vocabulary)

    def rows(self, score_BA: Tensor, batch: Batch) -> DecisionRows:
        """Returns the rows of a batch, for metrics with intervals; arguments as for `measure`."""
        return Measures(*(tensor.cpu().numpy() for tensor in self.measure(score_BA, batch)))

    def measure(self, score_BA: Tensor, batch: Batch) -> Measures[Tensor]:
        """Computes the measures of a batch on its device, without synchronisation. `score_BA`: -inf at padding.
        Probabilities are its softmax; if scores are points instead of logits, the probabilities have no meaning."""
        if self._kinds_NK.device != score_BA.device:
            self._kinds_NK, self._tile_N = self._kinds_NK.to(score_BA.device), self._tile_N.to(score_BA.device)
        candidate_BA, chosen_B1 = batch.candidate_BA.long(), batch.chosen_B[:, None]
        score_BA = score_BA.detach().float()
        top_B1 = score_BA.argmax(dim=1, keepdim=True)
        log_probability_BA = score_BA.log_softmax(dim=1)
        tile_BA = self._tile_N[candidate_BA]
        chosen_tile_B1, top_tile_B1 = tile_BA.gather(1, chosen_B1), tile_BA.gather(1, top_B1)
        is_top_B1 = top_B1 == chosen_B1
        is_same_tile_B1 = (chosen_tile_B1 == top_tile_B1) & (chosen_tile_B1 != NO_TILE)
        index_BA = torch.arange(candidate_BA.shape[1], device=score_BA.device)
        is_alike_BA = (index_BA == chosen_B1) | ((tile_BA == chosen_tile_B1) & (tile_BA != NO_TILE))
        kinds_BAK = self._kinds_NK[candidate_BA]
        is_offered_BK = kinds_BAK.any(dim=1)
        highest_B = tile_BA.amax(dim=1)
        lowest_B = tile_BA.masked_fill(tile_BA == NO_TILE, NUM_TILES34).amin(dim=1)
        is_offered_BK[:, KINDS.index("discard")] = lowest_B < highest_B
        return Measures(
            game_B=batch.game_B,
            is_top_B=is_top_B1[:, 0],
            is_top_tile_B=(is_top_B1 | is_same_tile_B1)[:, 0],
            log_probability_B=log_probability_BA.gather(1, chosen_B1)[:, 0],
            log_probability_of_tile_B=log_probability_BA.masked_fill(~is_alike_BA, -torch.inf).logsumexp(1),
            confidence_B=log_probability_BA.gather(1, top_B1)[:, 0].exp(),
            is_offered_BK=is_offered_BK,
            is_taken_BK=_at(kinds_BAK, chosen_B1),
            is_predicted_BK=_at(kinds_BAK, top_B1),
        )


def decision_metrics(rows: DecisionRows, *, has_probability: bool, replicates: int) -> dict[str, Estimate]:
    """Computes metrics of all decisions and, as `kind/…`, of each kind that occurs.

    - `top1`, `nll`: share of decisions in which the action taken has the highest score; its mean -log probability, nats
    - `ece`: expected calibration error of the top choice, with 15 bins of equal width
    - `discard/accuracy`, `discard/nll`: top1 and nll with all discards of a tile as one action (34 tiles)
    - `kind/accuracy` of other kinds: whether the top choice and the action taken are both of the kind or both not
    - `kind/exact`, `kind/nll`: top1 and nll among the decisions of the kind
    - `kind/recall`: among decisions in which an action of the kind was taken, share whose top choice is that action
    - `kind/taken`, `kind/predicted`: share of the kind's decisions in which such an action was taken, or is top choice

    Without `has_probability` (scores are points), nll and ece are omitted.
    """
    return cluster_bootstrap(rows.game_B, decision_statistics(rows, has_probability=has_probability), replicates)


def decision_statistics(rows: DecisionRows, *, has_probability: bool) -> dict[str, Statistic]:
    """Returns the statistics that `decision_metrics` computes."""
    everywhere_B = np.ones(len(rows.game_B), dtype=bool)
    ratios: dict[str, tuple[Column, Column]] = {
        "top1": (rows.is_top_B, everywhere_B),
        "nll": (-rows.log_probability_B.astype(np.float64), everywhere_B),
    }
    for k, kind in enumerate(KINDS):
        offered_B, taken_B, predicted_B = (
            table[:, k] for table in (rows.is_offered_BK, rows.is_taken_BK, rows.is_predicted_BK)
        )
        ratios[f"{kind}/accuracy"] = (agreement(rows, kind), offered_B)
        ratios[f"{kind}/exact"] = (rows.is_top_B, offered_B)
        ratios[f"{kind}/nll"] = (-log_probability(rows, kind).astype(np.float64), offered_B)
        if kind != "discard":
            ratios[f"{kind}/recall"] = (rows.is_top_B, offered_B & taken_B)
            ratios[f"{kind}/taken"] = (taken_B, offered_B)
            ratios[f"{kind}/predicted"] = (predicted_B, offered_B)
    statistics = {
        name: ratio_statistic(value_B, where_B)
        for name, (value_B, where_B) in ratios.items()
        if where_B.any() and (has_probability or not name.endswith("nll"))
    }
    if has_probability:
        statistics["ece"] = calibration_statistic(rows.confidence_B, rows.is_top_B)
    return statistics


def chance_metrics(columns: Columns, vocabulary: Vocabulary, replicates: int) -> dict[str, Estimate]:
    """Computes the expected accuracy, likelihood and recall of `decision_metrics` for a uniform choice."""
    kinds_NK, tile_N = (table.numpy() for table in kinds_and_tiles(vocabulary))
    candidates = columns.actions
    num_B, first_B = candidates.lengths, candidates.starts[:-1]
    candidate = candidates.values.astype(np.int64) + 1
    chosen_B = candidate[first_B + columns.chosen]
    tile, chosen_tile_B = tile_N[candidate], tile_N[chosen_B]
    is_same_tile = (tile == np.repeat(chosen_tile_B, num_B)) & (tile != NO_TILE)
    num_alike_B = np.maximum(1, np.add.reduceat(is_same_tile.astype(np.int64), first_B))
    share_BK = np.add.reduceat(kinds_NK[candidate].astype(np.int64), first_B) / num_B[:, None]
    taken_BK = kinds_NK[chosen_B]
    lowest_B = np.minimum.reduceat(np.where(tile == NO_TILE, np.iinfo(np.int64).max, tile), first_B)
    is_choice_of_tiles_B = lowest_B < np.maximum.reduceat(tile, first_B)
    everywhere_B = np.ones(len(columns), bool)
    ratios = {"top1": (1 / num_B, everywhere_B), "nll": (np.log(num_B), everywhere_B)}
    for k, kind in enumerate(KINDS):
        where_B = share_BK[:, k] > 0
        if kind == "discard":
            where_B = is_choice_of_tiles_B
            ratios["discard/accuracy"] = (num_alike_B / num_B, where_B)
            ratios["discard/nll"] = (np.log(num_B / num_alike_B), where_B)
        else:
            agrees_B = np.where(taken_BK[:, k], share_BK[:, k], 1 - share_BK[:, k])
            ratios[f"{kind}/accuracy"] = (agrees_B, where_B)
            ratios[f"{kind}/nll"] = (np.log(num_B), where_B)
            ratios[f"{kind}/recall"] = (1 / num_B, where_B & taken_BK[:, k])
        ratios[f"{kind}/exact"] = (1 / num_B, where_B)
    statistics = {name: ratio_statistic(*ratio) for name, ratio in ratios.items() if ratio[1].any()}
    return cluster_bootstrap(columns.game.view(np.int64), statistics, replicates)


def _at(kinds_BAK: Tensor, index_B1: Tensor) -> Tensor:
    """Returns the kinds [B, K] of one candidate per row."""
    return kinds_BAK.gather(1, index_B1[:, :, None].expand(-1, 1, kinds_BAK.shape[2]))[:, 0]
