"""Value stages that classify over bins (HL-Gauss): round delta and grading points."""

import math
from collections.abc import Callable

from torch import Tensor

from annotate.vocabulary import Vocabulary
from kanachan.config import ObjectiveConfig
from kanachan.data.batch import Batch
from kanachan.models.transformer import Output
from kanachan.objectives.hl_gauss import HLGauss
from kanachan.objectives.objective import PER_CANDIDATE, Objective, PredictionField, expected
from kanachan.objectives.targets import Results, grading_delta, round_delta


class ValueObjective(Objective):
    """Predicts a number of points by classification over bins (HL-Gauss)."""

    uses = frozenset({"baseline"})
    make_bins: Callable[[], HLGauss]

    def __init__(self, config: ObjectiveConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        self.bins = type(self).make_bins()
        self.num_candidate_outputs = HLGauss.COUNT
        self.num_summary_outputs = HLGauss.COUNT

    def loss(self, output: Output, batch: Batch) -> dict[str, Tensor]:
        """Returns the loss and its parts: `cross_entropy` and `baseline`."""
        target_BK = self.bins.smooth(self.target(batch)) if batch.label_BL is None else batch.label_BL
        return self._value_loss(output, batch, target_BK, target_BK)

    def score(self, output: Output) -> Tensor:
        return self._points(output.candidate_BAK).masked_fill(~output.mask_BA, -math.inf)

    def situation_value(self, output: Output) -> Tensor:
        return self._points(output.summary_BK)

    def _points(self, output_K: Tensor) -> Tensor:
        return expected(output_K.float().softmax(dim=-1), self.bins.points_K)


class RoundDelta(ValueObjective):
    """The change of the actor's score in the round, in points."""

    stage = "round_delta"
    title = "Round delta: the change of the actor's score in the round, in points"
    meaning = "expected points of the round"
    prediction_fields = {"scores": PredictionField(PER_CANDIDATE, meaning)}
    predicts_round_points = True
    make_bins = HLGauss.of_round_points
    scale = 4_000.0

    def target_of(self, results: Results) -> Tensor:
        return round_delta(results)


class Grading(ValueObjective):
    """The actor's grading points of the game."""

    stage = "grading"
    title = "Grading: the actor's grading points"
    meaning = "expected grading points"
    prediction_fields = {"scores": PredictionField(PER_CANDIDATE, meaning)}
    uses = ValueObjective.uses | {"prior", "target", "reward"}
    make_bins = HLGauss.of_grading_points
    scale = 100.0

    def prior_outputs(self, order_BO: Tensor, grading_BK: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the log probabilities of the bins, for the candidates and for the summary."""
        output_BK = grading_BK.log_softmax(dim=1)
        return output_BK, output_BK

    def label_of_prediction(self, order_XO: Tensor, grading_XK: Tensor) -> Tensor:
        """Returns the probabilities of the bins."""
        return grading_XK.softmax(dim=-1)

    def label_of_results(self, results: Results) -> Tensor:
        return self.bins.smooth(self.target_of(results))

    def target_of(self, results: Results) -> Tensor:
        return grading_delta(results)
