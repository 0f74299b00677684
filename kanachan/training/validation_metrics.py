"""The metrics of a validation: losses, quality by kind of decision, and calibration.

They are computed on the device and form one row of the log:

- `validation/<part>`: means over all rows of the parts of the loss and of `top1` (whether the action taken has the
  highest score), and, in stages other than imitation, `explained_variance`; `validation/rows`: their number
- `kind/<kind>/accuracy`, `…/recall` and, in imitation, `…/loss`: as in `decision_metrics`
- `calibration/error`: mean distance of prediction from outcome over groups of decisions with similar predictions: in
  imitation 15 bins of the probability of the top choice, in the other stages tenths of the predicted value, in points;
  the groups themselves are logged to wandb as a chart

Shapes: B decisions, K kinds, S sums, G groups, N decisions of all ranks.
"""

import lightning as L
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kanachan.data.batch import Batch
from kanachan.evaluation.calibration import CALIBRATION_BINS, NUM_TENTHS, calibration_error
from kanachan.evaluation.decision_metrics import KINDS, DecisionMeter, Measures, agreement, log_probability
from kanachan.models.transformer import Output
from kanachan.objectives.objective import Objective
from kanachan.training.distributed_sums import DistributedSums, means_of
from kanachan.training.logged_module import PREFIX, moments, with_explained_variance
from kanachan.training.wandb_run import ReliabilityPoint

_KINDS, _CONFIDENCE = "kinds", "confidence"
"""names of sums; the names of the objective's parts start with PREFIX"""


class ValidationMetrics:
    """Computes the row of a validation from its batches."""

    def __init__(self, objective: Objective) -> None:
        self.points: list[ReliabilityPoint] = []
        """outcomes over predictions in the last computed validation"""
        self._objective = objective
        self._meter = DecisionMeter(objective.vocabulary)
        self._sums, self._values = DistributedSums(), Values()

    def update(self, batch: Batch, output: Output) -> None:
        objective = self._objective
        parts = objective.loss_with_auxiliary(output, batch)
        score_BA = objective.score(output)
        parts["top1"] = (score_BA.argmax(dim=1) == batch.chosen_B).float().mean()
        means = {f"{PREFIX}{name}": mean for name, mean in parts.items()}
        measures = self._meter.measure(score_BA, batch)
        if objective.has_value:
            target_B, value_B = objective.target(batch), objective.value(output, batch)
            means |= moments(target_B, value_B)
            self._values.add(value_B, target_B)
        else:
            self._sums.add({_CONFIDENCE: confidence_sums(measures)})
        self._sums.add_means(means, weight=len(batch))
        self._sums.add({_KINDS: kind_sums(measures)})

    def compute(self, trainer: L.Trainer) -> dict[str, float]:
        """Returns the row of all batches of all ranks, and starts the next one. Every rank must call it."""
        has_value = self._objective.has_value
        totals = self._sums.take(trainer)
        kinds_SK, confidence_GS = totals.pop(_KINDS), totals.pop(_CONFIDENCE, None)
        row, count = means_of(totals)
        if has_value:
            row = with_explained_variance(row)
        self.points = self._values.tenths(trainer) if confidence_GS is None else confidence_bins(confidence_GS)
        row |= kind_metrics(kinds_SK, has_probability=not has_value)
        gap_G = np.array([(point.predicted - point.actual) * point.decisions for point in self.points])
        num_decisions = sum(point.decisions for point in self.points)
        row["calibration/error"] = float(calibration_error(gap_G[None], np.array([num_decisions]))[0])
        return {**row, f"{PREFIX}rows": count}


def kind_sums(measures: Measures[Tensor]) -> Tensor:
    """Returns sums_SK of a batch by kind: offered, agreed, taken, found, surprise."""
    offered_BK = measures.is_offered_BK
    taken_BK = measures.is_taken_BK & offered_BK
    agrees_BK = torch.stack([agreement(measures, kind) for kind in KINDS], dim=1)
    surprise_BK = torch.stack([-log_probability(measures, kind) for kind in KINDS], dim=1)
    columns = (
        offered_BK,
        offered_BK & agrees_BK,
        taken_BK,
        taken_BK & measures.is_top_B[:, None],
        surprise_BK.where(offered_BK, 0.0),
    )
    return torch.stack([column.sum(dim=0, dtype=torch.float64) for column in columns])


def kind_metrics(sums_SK: NDArray[np.float64], *, has_probability: bool) -> dict[str, float]:
    """Returns the metrics of the kinds that occur, from the sums that `kind_sums` makes."""
    metrics = {}
    for kind, (offered, agreed, taken, found, surprise) in zip(KINDS, sums_SK.T.tolist(), strict=True):
        if offered:
            metrics[f"kind/{kind}/accuracy"] = agreed / offered
            if has_probability:
                metrics[f"kind/{kind}/loss"] = surprise / offered
        if taken and kind != "discard":
            metrics[f"kind/{kind}/recall"] = found / taken
    return metrics


def confidence_sums(measures: Measures[Tensor]) -> Tensor:
    """Returns sums_GS of a batch by bins of the probability of the top choice: probability, hits, decisions."""
    confidence_B = measures.confidence_B
    group_B = (confidence_B.nan_to_num() * CALIBRATION_BINS).long().clamp(max=CALIBRATION_BINS - 1)
    columns = torch.stack([confidence_B, measures.is_top_B.float(), torch.ones_like(confidence_B)], dim=1)
    sums_GS = columns.new_zeros(CALIBRATION_BINS, columns.shape[1], dtype=torch.float64)
    return sums_GS.index_add_(0, group_B, columns.double())


def confidence_bins(sums_GS: NDArray[np.float64]) -> list[ReliabilityPoint]:
    """Returns the nonempty bins, of equal width, from the sums that `confidence_sums` makes."""
    return [ReliabilityPoint(p / count, hits / count, round(count)) for p, hits, count in sums_GS.tolist() if count]


class Values:
    """Predicted values and their outcomes."""

    def __init__(self) -> None:
        self._pairs: list[Tensor] = []

    def add(self, value_B: Tensor, target_B: Tensor) -> None:
        self._pairs.append(torch.stack([value_B.detach().float(), target_B.float()]))

    def tenths(self, trainer: L.Trainer) -> list[ReliabilityPoint]:
        """Groups the decisions of all ranks into ten equal groups by prediction. Every rank must call it."""
        value_N, target_N = self._of_all_ranks(trainer).cpu().double().numpy()
        groups = np.array_split(np.argsort(value_N, kind="stable"), NUM_TENTHS)
        return [
            ReliabilityPoint(float(value_N[rows].mean()), float(target_N[rows].mean()), len(rows))
            for rows in groups
            if len(rows)
        ]

    def _of_all_ranks(self, trainer: L.Trainer) -> Tensor:
        """Gathers [2, N] and clears the pairs: each rank fills its part of a table of zeros; the tables are summed."""
        mine, strategy, rank = torch.cat(self._pairs, dim=1), trainer.strategy, trainer.global_rank
        self._pairs = []
        counts = torch.zeros(trainer.world_size, dtype=torch.int64, device=mine.device)
        counts[rank] = mine.shape[1]
        stops = strategy.reduce(counts, reduce_op="sum").cumsum(dim=0).tolist()
        table = mine.new_zeros(2, stops[-1])
        table[:, stops[rank] - mine.shape[1] : stops[rank]] = mine
        return strategy.reduce(table, reduce_op="sum")
