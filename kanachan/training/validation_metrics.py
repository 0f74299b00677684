"""What is watched besides the loss: how good the network is at each kind of decision, whether it can be believed, and
what becomes of the encoder that it started from.

All of it is measured while a validation passes, on the device, and joins the row that the validation writes:

- `kind/<kind>/accuracy`, `…/recall` and, in imitation, `…/loss`: as `decision_metrics` has them
- `calibration/error`: mean distance of what was predicted from what came true, over groups of decisions with like
  predictions: in imitation 15 bins of the probability of the top choice, in the other stages tenths of the predicted
  value, in points; the groups themselves go to wandb as a chart
- `old/<stage>_loss`, `drift/<part>`: see `kanachan.training.forgetting`; also before the first step

Shapes: B decisions, K kinds, S sums, G groups, N decisions of all ranks.
"""

import math

import lightning as L
import numpy as np
import torch
from torch import Tensor

from annotate.vocabulary import Vocabulary
from kanachan.data.batch import Batch
from kanachan.evaluation.calibration import CALIBRATION_BINS
from kanachan.evaluation.decision_metrics import KINDS, DecisionMeter, Measures
from kanachan.models.transformer import Output
from kanachan.objectives.objective import Objective
from kanachan.training.devices import accumulation_dtype
from kanachan.training.forgetting import PreviousStage
from kanachan.training.loggers import ReliabilityPoint, log_reliability
from kanachan.training.module import StageModule

NUM_TENTHS = 10
MOST_BATCHES_OF_FORMER = 4
"""of a validation, on each rank, that are also put to the former stage: evenly spread, and the same ones each time"""


class ValidationMetrics(L.Callback):
    """Adds figures to each validation of a `StageModule`."""

    def __init__(self, vocabulary: Vocabulary, former: PreviousStage | None) -> None:
        self._meter = DecisionMeter(vocabulary)
        self._former = former
        self._kinds = KindSums()
        self._confidence = ConfidenceSums()
        self._values = Values()
        self._former_loss = MeanOfRows()

    def setup(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        """Takes part in the steps of validations: there, and not after them, weights that are shared out over processes
        are at hand, and the precision is that of the run."""
        assert isinstance(pl_module, StageModule)

        def watch(batch: Batch, index: int, output: Output, score_BA: Tensor) -> None:
            self._watch(pl_module.objective, batch, output, score_BA)
            if self._former is not None and index in self._batches_of_former(trainer):
                self._former_loss.add(self._former.loss(batch), len(batch))

        pl_module.watch = watch

    def on_fit_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        if self._former is not None and trainer.is_global_zero:
            self._former.keep()

    @torch.no_grad()
    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Where the curves of the former stage begin."""
        assert isinstance(pl_module, StageModule)
        if self._former is None or trainer.global_step or not trainer.val_dataloaders:
            return
        self._begin(trainer, pl_module)
        numbers = self._batches_of_former(trainer)
        pl_module.on_validation_model_eval()
        for index, batch in zip(range(numbers.stop), trainer.val_dataloaders, strict=False):
            if index in numbers:
                trainer.strategy.validation_step(batch.to(trainer.strategy.root_device), index)
        pl_module.on_validation_model_train()
        row = self._figures_of_former(trainer)
        for logger in trainer.loggers if trainer.is_global_zero else []:
            logger.log_metrics({**row, "train/samples": float(pl_module.samples)}, step=0)

    def on_validation_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._begin(trainer, pl_module)

    def on_validation_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        assert isinstance(pl_module, StageModule)
        has_value = pl_module.objective.has_value
        row = self._kinds.figures(trainer, has_probability=not has_value)
        points = self._values.tenths(trainer) if has_value else self._confidence.bins(trainer)
        row["calibration/error"] = calibration_error(points)
        if self._former is not None:
            row |= self._figures_of_former(trainer)
        pl_module.watched = row
        if trainer.is_global_zero and not trainer.sanity_checking:
            unit = "points" if has_value else "probability"
            log_reliability(trainer, points, unit, pl_module.samples)

    def _begin(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        assert isinstance(pl_module, StageModule)
        self._kinds, self._confidence, self._values = KindSums(), ConfidenceSums(), Values()
        self._former_loss = MeanOfRows()
        if self._former is not None:
            self._former.join(pl_module.network, trainer.strategy.root_device)

    def _watch(self, objective: Objective, batch: Batch, output: Output, score_BA: Tensor) -> None:
        measures = self._meter.measure(score_BA, batch)
        self._kinds.add(measures)
        if objective.has_value:
            self._values.add(objective.value(output, batch), objective.target(batch))
        else:
            self._confidence.add(measures)

    def _batches_of_former(self, trainer: L.Trainer) -> range:
        count = int(trainer.num_val_batches[0])
        return range(0, count, math.ceil(count / MOST_BATCHES_OF_FORMER))

    def _figures_of_former(self, trainer: L.Trainer) -> dict[str, float]:
        """Every rank must call it; rank zero alone has the drift."""
        assert self._former is not None
        row = {f"old/{self._former.stage}_loss": self._former_loss.mean(trainer)}
        state = trainer.strategy.lightning_module_state_dict()
        if trainer.is_global_zero:
            row |= {f"drift/{part}": drift for part, drift in self._former.drift(state).items()}
        return row


class KindSums:
    """Sums over decisions by kind, on the device."""

    def __init__(self) -> None:
        self._sums_SK: Tensor | float = 0.0

    def add(self, measures: Measures) -> None:
        discard = KINDS.index("discard")
        offered_BK, taken_BK = measures.is_offered_BK, measures.is_taken_BK & measures.is_offered_BK
        agrees_BK = measures.is_taken_BK == measures.is_predicted_BK
        agrees_BK[:, discard] = measures.is_top_tile_B
        surprise_BK = -measures.log_probability_B[:, None].repeat(1, len(KINDS))
        surprise_BK[:, discard] = -measures.log_probability_of_tile_B
        columns = (
            offered_BK,
            offered_BK & agrees_BK,
            taken_BK,
            taken_BK & measures.is_top_B[:, None],
            surprise_BK.where(offered_BK, 0.0),
        )
        exact = accumulation_dtype(offered_BK.device)
        self._sums_SK = self._sums_SK + torch.stack([column.sum(dim=0, dtype=exact) for column in columns])

    def figures(self, trainer: L.Trainer, *, has_probability: bool) -> dict[str, float]:
        """Of the kinds that occur. Every rank must call it."""
        assert isinstance(self._sums_SK, Tensor)
        sums = trainer.strategy.reduce(self._sums_SK, reduce_op="sum").T.tolist()
        figures = {}
        for kind, (offered, agreed, taken, found, surprise) in zip(KINDS, sums, strict=True):
            if offered:
                figures[f"kind/{kind}/accuracy"] = agreed / offered
                if has_probability:
                    figures[f"kind/{kind}/loss"] = surprise / offered
            if taken and kind != "discard":
                figures[f"kind/{kind}/recall"] = found / taken
        return figures


class ConfidenceSums:
    """How often the top choice is the action taken, by the probability that it was given."""

    def __init__(self) -> None:
        self._sums_GS: Tensor | None = None

    def add(self, measures: Measures) -> None:
        confidence_B = measures.confidence_B
        group_B = (confidence_B * CALIBRATION_BINS).long().clamp(max=CALIBRATION_BINS - 1)
        columns = torch.stack([confidence_B, measures.is_top_B.float(), torch.ones_like(confidence_B)], dim=1)
        if self._sums_GS is None:
            self._sums_GS = columns.new_zeros(
                CALIBRATION_BINS, columns.shape[1], dtype=accumulation_dtype(columns.device)
            )
        self._sums_GS.index_add_(0, group_B, columns.to(self._sums_GS.dtype))

    def bins(self, trainer: L.Trainer) -> list[ReliabilityPoint]:
        """Of equal width, without the empty ones. Every rank must call it."""
        assert self._sums_GS is not None
        sums = trainer.strategy.reduce(self._sums_GS, reduce_op="sum").tolist()
        return [ReliabilityPoint(p / count, hits / count, round(count)) for p, hits, count in sums if count]


class Values:
    """Predicted values and what came true."""

    def __init__(self) -> None:
        self._pairs: list[Tensor] = []

    def add(self, value_B: Tensor, target_B: Tensor) -> None:
        self._pairs.append(torch.stack([value_B.detach().float(), target_B.float()]))

    def tenths(self, trainer: L.Trainer) -> list[ReliabilityPoint]:
        """Decisions of all ranks by the size of the prediction, in ten equal groups. Every rank must call it."""
        value_N, target_N = self._of_all_ranks(trainer).cpu().double().numpy()
        groups = np.array_split(np.argsort(value_N, kind="stable"), NUM_TENTHS)
        return [
            ReliabilityPoint(float(value_N[rows].mean()), float(target_N[rows].mean()), len(rows))
            for rows in groups
            if len(rows)
        ]

    def _of_all_ranks(self, trainer: L.Trainer) -> Tensor:
        """[2, N]: each rank puts its own into a table of zeros, and the sum of the tables is the whole."""
        mine, strategy, rank = torch.cat(self._pairs, dim=1), trainer.strategy, trainer.global_rank
        counts = torch.zeros(trainer.world_size, dtype=torch.int64, device=mine.device)
        counts[rank] = mine.shape[1]
        stops = strategy.reduce(counts, reduce_op="sum").cumsum(dim=0).tolist()
        table = mine.new_zeros(2, stops[-1])
        table[:, stops[rank] - mine.shape[1] : stops[rank]] = mine
        return strategy.reduce(table, reduce_op="sum")


class MeanOfRows:
    """A mean over decisions, given as means of batches."""

    def __init__(self) -> None:
        self._sums: Tensor | float = 0.0

    def add(self, mean: Tensor, weight: int) -> None:
        row = torch.stack([mean.detach() * weight, torch.full_like(mean, weight)])
        self._sums = self._sums + row.to(accumulation_dtype(mean.device))

    def mean(self, trainer: L.Trainer) -> float:
        """Over all ranks. Every rank must call it."""
        assert isinstance(self._sums, Tensor)
        total, weight = trainer.strategy.reduce(self._sums, reduce_op="sum").tolist()
        return total / weight


def calibration_error(points: list[ReliabilityPoint]) -> float:
    """Mean distance of prediction from outcome over the groups, weighted by their decisions."""
    total = sum(point.decisions for point in points)
    return sum(abs(point.predicted - point.actual) * point.decisions for point in points) / total
