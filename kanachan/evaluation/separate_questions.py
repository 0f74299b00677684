"""Metrics of decisions as separate questions, one per kind of action, as in programs with one model per kind.

- discard: which of the 34 kinds of tile, given that one is discarded; only where at least two could be discarded
- riichi, chi, pon, kan, kita: whether to take such an action when it is possible. The probability of "yes" is the sum
  over all actions of the kind; the answer is "yes" if it is above one half

The baseline of a yes-or-no question is the majority: the answer that players give more often.

Shapes: B decisions, A candidates, T kinds of tiles, Q yes-or-no questions, R replicates.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from annotate.vocabulary import NUM_TILES34, Vocabulary
from kanachan.data.batch import Batch
from kanachan.evaluation.bootstrap import Column, Estimate, Floats, Statistic, cluster_bootstrap, ratio_statistic
from kanachan.evaluation.decision_metrics import KINDS, NO_TILE, kinds_and_tiles

DISCARD = "discard"
YES_OR_NO = ("riichi", "chi", "pon", "kan", "kita")
QUESTIONS = (DISCARD, *YES_OR_NO)
_PLACES = [KINDS.index(kind) for kind in YES_OR_NO]


class Answers(NamedTuple):
    """The inputs of the metrics of separate questions."""

    game_B: NDArray[np.int64]
    tile_B: NDArray[np.int64]
    """kind of the discarded tile if there was a choice of at least two kinds, else `NO_TILE`"""
    is_tile_found_B: NDArray[np.bool_]
    """whether this kind has the highest probability, summed over its discards; on a tie, the first kind counts"""
    log_probability_B: NDArray[np.float32]
    """log probability of the discarded kind, given that a tile is discarded"""
    is_possible_BQ: NDArray[np.bool_]
    is_taken_BQ: NDArray[np.bool_]
    log_odds_BQ: NDArray[np.float32]
    """log odds of "yes"; meaningless if the action is not possible"""


class AnswerMeter:
    """Converts batches and their logits to answers, on the CPU."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        kinds_NK, self._tile_N = kinds_and_tiles(vocabulary)
        self._kinds_NQ = kinds_NK[:, _PLACES]

    def rows(self, score_BA: Tensor, batch: Batch) -> Answers:
        """Returns the answers of a batch. `score_BA`: logits of the candidates, -inf at padding."""
        candidate_BA, chosen_B1 = batch.candidate_BA.long().cpu(), batch.chosen_B[:, None].cpu()
        score_BA = score_BA.detach().double().cpu()
        tile_BA, kinds_BAQ = self._tile_N[candidate_BA], self._kinds_NQ[candidate_BA]
        is_discard_BA, tile_B1 = tile_BA != NO_TILE, tile_BA.gather(1, chosen_B1)
        lowest_B = tile_BA.masked_fill(~is_discard_BA, NUM_TILES34).amin(dim=1)
        is_choice_B = lowest_B < tile_BA.amax(dim=1)
        log_BA = score_BA.masked_fill(~is_discard_BA, -torch.inf)
        log_BA = log_BA - log_BA.logsumexp(dim=1, keepdim=True).clamp(min=torch.finfo(torch.float64).min)
        none_BT = torch.zeros(len(candidate_BA), 1 + NUM_TILES34, dtype=torch.float64)
        probability_BT = none_BT.scatter_add(1, 1 + tile_BA, log_BA.exp())[:, 1:]  # NO_TILE is -1
        is_found_B1 = probability_BT.argmax(dim=1, keepdim=True) == tile_B1  # on a tie, the first
        score_BAQ = score_BA[:, :, None].expand(kinds_BAQ.shape)
        yes_BQ, no_BQ = (score_BAQ.masked_fill(off, -torch.inf).logsumexp(dim=1) for off in (~kinds_BAQ, kinds_BAQ))
        chosen_B1Q = chosen_B1[:, :, None].expand(-1, 1, len(YES_OR_NO))
        return Answers(
            game_B=batch.game_B.cpu().numpy(),
            tile_B=tile_B1[:, 0].where(is_choice_B, NO_TILE).numpy(),
            is_tile_found_B=is_found_B1[:, 0].numpy(),
            log_probability_B=log_BA.masked_fill(tile_BA != tile_B1, -torch.inf).logsumexp(dim=1).float().numpy(),
            is_possible_BQ=kinds_BAQ.any(dim=1).numpy(),
            is_taken_BQ=kinds_BAQ.gather(1, chosen_B1Q)[:, 0].numpy(),
            log_odds_BQ=(yes_BQ - no_BQ).float().numpy(),
        )


def question_metrics(answers: Answers, replicates: int) -> dict[str, Estimate]:
    """Computes the metrics of each question that occurs:

    - `kind/accuracy`: share of right answers
    - `kind/balanced_accuracy`: mean of the shares of right answers by true answer ("yes" and "no", or each kind of
      tile); only if at least two true answers occur
    - `kind/log_likelihood`: mean natural logarithm of the probability of the true answer
    - `kind/recall`: share of "yes" among the decisions in which the action was taken (not for discards)
    - `kind/taken`: share of decisions in which the action was taken; `kind/majority/accuracy`: accuracy of the majority
    """
    return cluster_bootstrap(answers.game_B, question_statistics(answers), replicates)


def question_statistics(answers: Answers) -> dict[str, Statistic]:
    """Returns the statistics that `question_metrics` computes."""
    statistics = {}
    is_discard_B = answers.tile_B != NO_TILE
    if is_discard_B.any():
        statistics[f"{DISCARD}/accuracy"] = ratio_statistic(answers.is_tile_found_B, is_discard_B)
        statistics[f"{DISCARD}/log_likelihood"] = ratio_statistic(answers.log_probability_B, is_discard_B)
        kind_BT = answers.tile_B[:, None] == np.unique(answers.tile_B[is_discard_B])
        if kind_BT.shape[1] > 1:
            statistics[f"{DISCARD}/balanced_accuracy"] = _mean_of_shares(answers.is_tile_found_B, kind_BT)
    for q, kind in enumerate(YES_OR_NO):
        where_B = answers.is_possible_BQ[:, q]
        if where_B.any():
            is_yes_B, log_odds_B = answers.is_taken_BQ[:, q] & where_B, answers.log_odds_BQ[:, q]
            statistics |= {f"{kind}/{name}": s for name, s in _of_question(where_B, is_yes_B, log_odds_B).items()}
    return statistics


def _of_question(
    where_B: NDArray[np.bool_], is_yes_B: NDArray[np.bool_], log_odds_B: NDArray[np.float32]
) -> dict[str, Statistic]:
    is_right_B = (log_odds_B > 0) == is_yes_B
    log_odds_B = np.where(where_B, log_odds_B.astype(np.float64), 0.0)
    log_probability_B = -np.logaddexp(0.0, np.where(is_yes_B, -log_odds_B, log_odds_B))
    is_majority_B = is_yes_B == (2 * is_yes_B.sum() > where_B.sum())
    statistics = {
        "accuracy": ratio_statistic(is_right_B, where_B),
        "log_likelihood": ratio_statistic(log_probability_B, where_B),
        "taken": ratio_statistic(is_yes_B, where_B),
        "majority/accuracy": ratio_statistic(is_majority_B, where_B),
    }
    if is_yes_B.any():
        statistics["recall"] = ratio_statistic(is_right_B, is_yes_B)
        if (where_B & ~is_yes_B).any():
            statistics["balanced_accuracy"] = _mean_of_shares(
                is_right_B, np.stack([is_yes_B, where_B & ~is_yes_B], axis=1)
            )
    return statistics


def _mean_of_shares(is_right_B: NDArray[np.bool_], class_BT: NDArray[np.bool_]) -> Statistic:
    """Returns the statistic of the mean share of right answers over the classes. In a resample, the mean is over the
    classes that occur, if there are at least two."""
    num_classes = class_BT.shape[1]

    def column(t: int, *, right: bool) -> Callable[[], Column]:
        return lambda: class_BT[:, t] & is_right_B if right else class_BT[:, t]

    def mean(sums_RC: Floats) -> Floats:
        right_RT, count_RT = np.split(sums_RC, 2, axis=1)
        num_R = (count_RT > 0).sum(axis=1)
        sum_R = (right_RT / np.maximum(count_RT, 1)).sum(axis=1)
        return np.where(num_R >= 2, sum_R / np.maximum(num_R, 1), np.nan)

    columns = tuple(column(t, right=right) for right in (True, False) for t in range(num_classes))
    return Statistic(columns, mean, np.any(class_BT, axis=1))
