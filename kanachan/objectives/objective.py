"""The interface of every stage: its name, target, loss, score of an action, and inputs of metrics.

Shapes: B decisions, A candidates, K outputs of a head or classes, R ranks, O orders of the seats, L numbers of a soft
label, X any leading dimensions.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn

from annotate.vocabulary import Vocabulary
from kanachan.config import ObjectiveConfig, StageName
from kanachan.data.batch import Batch
from kanachan.models.transformer import Output
from kanachan.objectives.auxiliary import AUXILIARY_TARGETS, AuxiliaryTargets
from kanachan.objectives.hl_gauss import HLGauss
from kanachan.objectives.targets import Results, round_delta

PER_CANDIDATE = "decisions × candidates"
"""sizes of a prediction with one number for each candidate"""


class PredictionField(NamedTuple):
    """Describes a tensor of `Objective.predictions` for people."""

    sizes: str
    meaning: str


class Classes(NamedTuple):
    """Logits, or log probabilities, of classes, and the true class of each row."""

    logit_BK: Tensor
    """-inf where a row has fewer classes"""
    class_B: Tensor


class Objective(nn.Module, ABC):
    """The target, the loss and the score of a stage, and all information about it that other packages need.

    It is a module without parameters, so that its tables move with the network.
    """

    stage: StageName
    """name of the stage in `kanachan.objectives.stages`"""
    title: str
    """heading of the stage's tables"""
    meaning: str
    """meaning of the number that is displayed for each candidate"""
    prediction_fields: Mapping[str, PredictionField]
    """the tensors of `predictions`, in the same order; `scores` is the first"""
    value_unit: str = "points"
    """unit of the stage's values in tables"""
    uses: frozenset[str]
    """settings of ObjectiveConfig that have an effect, besides the settings of auxiliary targets"""
    has_value: bool = True
    """whether `value`, `situation_value` and `target` exist"""
    predicts_round_points: bool = False
    """whether the outputs are logits of the bins of the actor's points in the round, with which stages with a prior
    start"""
    temperatures: tuple[str, ...] = ()
    """names that `calibratable` may return; without any, the stage predicts nothing that can be calibrated"""
    scale: float = 1.0
    """typical size of a score; a score divided by it is of order one"""
    num_candidate_outputs: int
    """width of the head of each candidate"""
    num_summary_outputs: int
    """width of the head of the summary token; 0 without such a head"""

    def __init__(self, config: ObjectiveConfig, vocabulary: Vocabulary) -> None:
        super().__init__()
        for setting in fields(ObjectiveConfig):
            value = getattr(config, setting.name)
            if setting.name not in self.uses | AUXILIARY_TARGETS.keys() and value != setting.default:
                raise ValueError(
                    f"objective.{setting.name}={value} has no effect in stage {self.stage}; leave it at "
                    f"{'null' if setting.default is None else setting.default}"
                )
        self.config = config
        self.vocabulary = vocabulary
        self.auxiliary = AuxiliaryTargets(config, vocabulary)
        self.round_bins = HLGauss.of_round_points()

    @abstractmethod
    def loss(self, output: Output, batch: Batch) -> dict[str, Tensor]:
        """Returns `loss`, the mean to be minimised, and its detached, unweighted parts; without auxiliary targets."""

    def loss_with_auxiliary(self, output: Output, batch: Batch) -> dict[str, Tensor]:
        """Returns `loss` including the auxiliary targets, and all parts; auxiliary parts have their setting's name."""
        parts = self.loss(output, batch)
        if not self.auxiliary.weights:
            return parts
        assert output.auxiliary_BO is not None
        for name, loss in self.auxiliary.losses(output.auxiliary_BO, batch).items():
            parts["loss"] = parts["loss"] + self.auxiliary.weights[name] * loss
            parts[name] = loss.detach()
        return parts

    @abstractmethod
    def score(self, output: Output) -> Tensor:
        """Returns score_BA: higher is better, -inf at padding."""

    def value(self, output: Output, batch: Batch) -> Tensor:
        """Returns value_B: the predicted mean of the target, given the action taken."""
        return of_chosen(self.score(output)[:, :, None], batch.chosen_B)[:, 0]

    def situation_value(self, output: Output) -> Tensor:
        """Returns value_B: the predicted mean of the target before the action, from the summary token."""
        raise NotImplementedError(f"stage {self.stage} predicts no value")

    def target(self, batch: Batch) -> Tensor:
        """Returns target_B, the target of `value`, in points."""
        return self.target_of(Results.of_batch(batch, self.vocabulary))

    def target_of(self, results: Results) -> Tensor:
        """Returns target_B, computed only from the results."""
        raise NotImplementedError(f"stage {self.stage} predicts no value")

    def prior_outputs(self, order_BO: Tensor, grading_BK: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the log probabilities of the stage's outcomes that a reward predictor predicts, in the form of the
        outputs of every candidate [B, K] and of the summary [B, K]. Arguments: its log probabilities of the orders
        counted from the actor, and its outputs for the actor's grading points."""
        raise NotImplementedError(f"stage {self.stage} has no prior")

    def label_of_prediction(self, order_XO: Tensor, grading_XK: Tensor) -> Tensor:
        """Returns soft labels label_XL of decisions whose target is an outcome predicted by a reward predictor."""
        raise NotImplementedError(f"stage {self.stage} has no soft labels")

    def label_of_results(self, results: Results) -> Tensor:
        """Returns the same kind of labels [B, L] for decisions whose target is the outcome of their game."""
        raise NotImplementedError(f"stage {self.stage} has no soft labels")

    def predictions(self, output: Output) -> dict[str, Tensor]:
        """Returns the predictions for the candidates, by the names of `prediction_fields`.

        `scores` are -inf at padding, where the other predictions have no meaning.
        """
        return {"scores": self.score(output)}

    def calibratable(self, output: Output, batch: Batch) -> dict[str, Classes]:
        """Returns the classes to which temperatures can be fitted, by the temperatures' names in the weights card.

        `temperature` divides the outputs of the candidates, `summary_temperature` the outputs of the summary.
        """
        return {}

    def measured(self, output: Output, batch: Batch) -> dict[str, Tensor]:
        """Returns the inputs of an evaluation's metrics besides the scores; nothing for a stage without a value.

        They are `target` [B], its prediction `action` given the action taken, and its prediction `situation` before the
        action.
        """
        if not self.has_value:
            return {}
        predicted = {"action": self.value(output, batch), "situation": self.situation_value(output)}
        return {"target": self.target(batch), **predicted}

    def _value_loss(self, output: Output, batch: Batch, target: Tensor, target_before: Tensor) -> dict[str, Tensor]:
        """Returns the loss and its parts: `cross_entropy` given the action taken, and `baseline`, the cross-entropy
        before the action. With a prior, the loss includes the same loss of the points of the round, with the parts
        `round_points` and `round_points_baseline`."""
        loss, parts = self._both_losses(output.candidate_BAK, output.summary_BK, batch, target, target_before)
        if output.points is not None:
            results = Results.of_batch(batch, self.vocabulary)
            target_BK = self.round_bins.smooth(round_delta(results))
            points, of_points = self._both_losses(*output.points, batch, target_BK, target_BK)
            loss = loss + points
            parts["round_points"] = of_points["cross_entropy"]
            parts["round_points_baseline"] = of_points["baseline"]
        return {"loss": loss, **parts}

    def _both_losses(
        self, candidate_BAK: Tensor, summary_BK: Tensor, batch: Batch, target: Tensor, target_before: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        loss = F.cross_entropy(of_chosen(candidate_BAK, batch.chosen_B).float(), target)
        baseline = F.cross_entropy(summary_BK.float(), target_before)
        parts = {"cross_entropy": loss.detach(), "baseline": baseline.detach()}
        return loss + self.config.baseline * baseline, parts


def expected(probability_K: Tensor, points_K: Tensor) -> Tensor:
    """Returns expected points, [..., K] to [...], without a matrix product, which autocast would compute in bf16."""
    return (probability_K * points_K).sum(dim=-1)


def of_chosen(output_BAK: Tensor, chosen_B: Tensor) -> Tensor:
    """Returns output_BK of the actions taken."""
    index_BAK = chosen_B[:, None, None].expand(-1, 1, output_BAK.shape[2])
    return output_BAK.gather(1, index_BAK)[:, 0]
