"""Value stages that classify over bins (HL-Gauss): round delta and grading points."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from annotate.vocabulary import Vocabulary
from kanachan.config import ObjectiveConfig
from kanachan.data.batch import Batch
from kanachan.models.transformer import Output
from kanachan.objectives.objective import PER_CANDIDATE, Objective, PredictionField, expected
from kanachan.objectives.targets import Results, grading_delta, round_delta


class ValueObjective(Objective):
    """Predicts a number of points by classification over bins (HL-Gauss).

    Bins are equally wide in the compressed coordinate c(x) = sign(x) log(1 + |x| / unit) and cover -reach ... reach;
    points outside count as the edge. The predicted points are the mean of the bins' centres, mapped back. As this map
    is convex away from zero, a perfect prediction of a smoothed target is too far from zero by a share exp(v / 2) - 1
    of |x| + unit, where v = (sigma^2 + 1 / 12) width^2 is the variance of the bin around the target. With 101 bins and
    sigma 0.75, this share is 0.28 % for the round delta (25 points of 8000) and 0.07 % for grading points.
    """

    uses = frozenset({"baseline"})
    unit: float
    reach: float
    bins: "HLGauss"

    def __init__(self, config: ObjectiveConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        self.bins = HLGauss(self.unit, self.reach)
        self.num_candidate_outputs = HLGauss.COUNT
        self.num_summary_outputs = HLGauss.COUNT if config.baseline else 0

    def loss(self, output: Output, batch: Batch) -> dict[str, Tensor]:
        """Returns the loss and its parts: `cross_entropy` and `baseline`."""
        target_BK = self.bins.smooth(self.target(batch)) if batch.label_BL is None else batch.label_BL
        return self._value_loss(output, batch, target_BK, target_BK)

    def score(self, output: Output) -> Tensor:
        return self._points(output.candidate_BAK).masked_fill(~output.mask_BA, -math.inf)

    def situation_value(self, output: Output, batch: Batch) -> Tensor:
        self._require_summary()
        return self._points(output.summary_BK)

    def _points(self, output_K: Tensor) -> Tensor:
        return expected(output_K.float().softmax(dim=-1), self.bins.points_K)


class RoundDelta(ValueObjective):
    """The change of the actor's score in the round, in points."""

    stage = "round_delta"
    title = "Round delta: the change of the actor's score in the round, in points"
    quantity = "points of the round"
    meaning = "expected points of the round"
    prediction_fields = {"scores": PredictionField(PER_CANDIDATE, meaning)}
    digits = 0
    unit = 1_000.0
    reach = 100_000.0
    scale = 4_000.0

    def target_of(self, results: Results) -> Tensor:
        return round_delta(results)


class Grading(ValueObjective):
    """The actor's grading points of the game. The reach covers the highest grade, whose points are thousandths."""

    stage = "grading"
    title = "Grading: the actor's grading points"
    quantity = "grading points"
    meaning = "expected grading points"
    prediction_fields = {"scores": PredictionField(PER_CANDIDATE, meaning)}
    has_point_table = True
    uses = ValueObjective.uses | {"prior", "target", "reward"}
    unit = 100.0
    reach = 1_000.0
    scale = 100.0

    def prior_outputs(self, order_BO: Tensor, grading_BK: Tensor, seat_B: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the log probabilities of the bins, for the candidates and for the summary."""
        output_BK = grading_BK.log_softmax(dim=1)
        return output_BK, output_BK[:, : self.num_summary_outputs]

    def label_of_prediction(self, order_XO: Tensor, grading_XK: Tensor) -> Tensor:
        """Returns the probabilities of the bins."""
        return grading_XK.softmax(dim=-1)

    def label_of_results(self, results: Results) -> Tensor:
        return self.bins.smooth(self.target_of(results))

    def target_of(self, results: Results) -> Tensor:
        return grading_delta(results)


class HLGauss(nn.Module):
    """HL-Gauss over equally wide bins of compressed points; see `ValueObjective`.

    Farebrother et al. 2024, "Stop Regressing: Training Value Functions via Classification for Scalable Deep RL"
    (arXiv:2403.03950).
    """

    COUNT = 101
    """number of bins; odd, so that one bin is centred at zero"""
    SIGMA = 0.75
    """standard deviation of the Gaussian around the target, in bins"""
    points_K: Tensor
    inner_edge_E: Tensor

    def __init__(self, unit: float, reach: float) -> None:
        super().__init__()
        self.unit, self.reach = unit, reach
        limit = math.log1p(reach / unit)
        centre_K = torch.linspace(-limit, limit, self.COUNT, dtype=torch.float64)
        self.sigma = self.SIGMA * 2 * limit / (self.COUNT - 1)
        points_K = centre_K.sign() * unit * centre_K.abs().expm1()
        self.register_buffer("points_K", points_K.float(), persistent=False)
        self.register_buffer("inner_edge_E", ((centre_K[1:] + centre_K[:-1]) / 2).float(), persistent=False)

    def smooth(self, points_B: Tensor) -> Tensor:
        """Returns target_BK: the mass of a Gaussian around each target in each bin; the tails belong to edge bins."""
        clamped_B = points_B.clamp(-self.reach, self.reach)
        compressed_B = clamped_B.sign() * (clamped_B.abs() / self.unit).log1p()
        below_BE = torch.special.ndtr((self.inner_edge_E - compressed_B[:, None]) / self.sigma)
        below_BE = F.pad(F.pad(below_BE, (1, 0), value=0.0), (0, 1), value=1.0)
        return below_BE.diff(dim=1)
