"""What each stage of the curriculum predicts: its target, its loss, and the score by which candidates are compared.

A stage is one entry of OBJECTIVES. Values (round delta, rank, grading) are learned on the action taken, with two
additions: a conservative term, because nothing else holds down the scores of actions that were never taken, and a
prediction from the summary token alone, the value of the situation before the action.

Shapes: B decisions, A candidates, K outputs of a head, R ranks, O orders of the seats.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import fields
from itertools import permutations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from annotate.vocabulary import FOUR_PLAYERS, Vocabulary
from kanachan.config import ObjectiveConfig, StageName
from kanachan.data.batch import Batch
from kanachan.models.transformer import Output
from kanachan.objectives.auxiliary import AUXILIARY_TARGETS, AuxiliaryTargets


class Objective(nn.Module, ABC):
    """The target, the loss and the score of a stage. A module without parameters: its tables move with the network.

    `scale` is the unit of the conservative term and of plain regression; a score divided by it is of order one.
    """

    stage: StageName
    uses: frozenset[str]
    """settings of ObjectiveConfig that mean something here, besides those of the auxiliary targets"""
    has_value: bool = True
    """whether `value`, `baseline_value` and `target` exist"""
    scale: float = 1.0
    num_candidate_outputs: int
    num_summary_outputs: int

    def __init__(self, config: ObjectiveConfig, vocabulary: Vocabulary = FOUR_PLAYERS) -> None:
        super().__init__()
        for setting in fields(ObjectiveConfig):
            value = getattr(config, setting.name)
            if setting.name not in self.uses | AUXILIARY_TARGETS.keys() and value != setting.default:
                raise ValueError(
                    f"objective.{setting.name}={value} has no effect in stage {self.stage}"
                    + (f" with objective.loss={config.loss}" if "loss" in self.uses else "")
                    + f"; leave it at {setting.default}"
                )
        self.config = config
        self.vocabulary = vocabulary
        self.auxiliary = AuxiliaryTargets(config, vocabulary)

    @abstractmethod
    def loss(self, output: Output, batch: Batch) -> dict[str, Tensor]:
        """Returns `loss`, the mean to be minimised, and its parts, detached and not weighted; no auxiliary targets."""

    def loss_with_auxiliary(self, output: Output, batch: Batch) -> dict[str, Tensor]:
        """The same with the auxiliary targets in the sum, and as parts, by the names of their settings."""
        parts = self.loss(output, batch)
        if not self.auxiliary.weights:
            return parts
        assert output.auxiliary_BK is not None
        for name, loss in self.auxiliary.losses(output.auxiliary_BK, batch).items():
            parts["loss"] = parts["loss"] + self.auxiliary.weights[name] * loss
            parts[name] = loss.detach()
        return parts

    @abstractmethod
    def score(self, output: Output) -> Tensor:
        """Returns score_BA: the greater the better, -inf at padding."""

    def value(self, output: Output, batch: Batch) -> Tensor:
        """Returns value_B: the predicted mean of the target, given the action taken."""
        return _of_chosen(self.score(output)[:, :, None], batch.chosen_B)[:, 0]

    def baseline_value(self, output: Output, batch: Batch) -> Tensor:
        """Returns value_B: the predicted mean of the target before the action, from the summary token."""
        raise NotImplementedError(f"stage {self.stage} predicts no value")

    def target(self, batch: Batch) -> Tensor:
        """Returns target_B: what `value` predicts, in points."""
        raise NotImplementedError(f"stage {self.stage} predicts no value")

    def conservative(self, score_BA: Tensor, chosen_B: Tensor) -> Tensor:
        """Returns the mean of logsumexp of the normalised scores less the normalised score of the action taken."""
        normalised_BA = score_BA / self.scale
        chosen_score_B = normalised_BA.gather(1, chosen_B[:, None])[:, 0]
        return (normalised_BA.logsumexp(dim=1) - chosen_score_B).mean()

    def _require_baseline(self) -> None:
        if not self.num_summary_outputs:
            raise ValueError("a network trained with objective.baseline=0 predicts nothing from the summary token")

    def _result(self, batch: Batch, name: str) -> Tensor:
        return batch.result_BR[:, self.vocabulary.results.index(name)]


class Imitation(Objective):
    """Cross-entropy of the action taken among the candidates."""

    stage = "imitation"
    uses = frozenset({"label_smoothing"})
    has_value = False
    num_candidate_outputs = 1
    num_summary_outputs = 0

    def loss(self, output: Output, batch: Batch) -> dict[str, Tensor]:
        """Parts: `cross_entropy`, without label smoothing."""
        log_probability_BA = self.score(output).log_softmax(dim=1)
        cross_entropy = F.nll_loss(log_probability_BA, batch.chosen_B)
        smoothing = self.config.label_smoothing
        loss = cross_entropy
        if smoothing:
            count_B = output.mask_BA.sum(dim=1)
            spread_B = -log_probability_BA.masked_fill(~output.mask_BA, 0.0).sum(dim=1) / count_B
            loss = (1 - smoothing) * cross_entropy + smoothing * spread_B.mean()
        return {"loss": loss, "cross_entropy": cross_entropy.detach()}

    def score(self, output: Output) -> Tensor:
        """Logits."""
        return output.candidate_BAK[:, :, 0].float().masked_fill(~output.mask_BA, -math.inf)


class Points(Objective):
    """A number of points, by classification over bins (HL-Gauss) or by regression.

    Bins are equally wide in the compressed coordinate c(x) = sign(x) log(1 + |x| / unit) and cover -reach ... reach;
    what lies outside counts as the edge. Points are the mean of the bins' centres, mapped back. As the map back is
    convex away from zero, a perfect prediction of a smoothed target is too far from zero by a share exp(v / 2) - 1
    of |x| + unit, where v = (sigma^2 + 1 / 12) width^2 is the variance of the bin around the target. With 101 bins
    and sigma 0.75 that is 0.28 % for the round delta (25 points of 8000) and 0.07 % for grading points.
    """

    uses = frozenset({"loss", "bins", "sigma", "conservative", "baseline"})
    unit: float
    reach: float
    bins: "Bins"

    def __init__(self, config: ObjectiveConfig, vocabulary: Vocabulary = FOUR_PLAYERS) -> None:
        if config.loss == "mse":
            self.uses = self.uses - {"bins", "sigma"}
        super().__init__(config, vocabulary)
        self.is_classification = config.loss == "hl_gauss"
        if self.is_classification:
            self.bins = Bins(config.bins, config.sigma, self.unit, self.reach)
        self.num_candidate_outputs = config.bins if self.is_classification else 1
        self.num_summary_outputs = self.num_candidate_outputs if config.baseline else 0

    def loss(self, output: Output, batch: Batch) -> dict[str, Tensor]:
        """Parts: `cross_entropy` or `squared_error` (of target / scale), `conservative`, `baseline`."""
        target_B = self.target(batch)
        if self.is_classification:
            target_BK = self.bins.smooth(target_B)
            part = "cross_entropy"
        else:
            target_BK = target_B[:, None] / self.scale
            part = "squared_error"
        error = self._error(_of_chosen(output.candidate_BAK, batch.chosen_B), target_BK)
        parts = {part: error.detach()}
        loss = error
        if self.config.conservative:
            conservative = self.conservative(self.score(output), batch.chosen_B)
            loss = loss + self.config.conservative * conservative
            parts["conservative"] = conservative.detach()
        if self.config.baseline:
            baseline = self._error(output.summary_BK, target_BK)
            loss = loss + self.config.baseline * baseline
            parts["baseline"] = baseline.detach()
        return {"loss": loss, **parts}

    def score(self, output: Output) -> Tensor:
        """Expected points."""
        return self._points(output.candidate_BAK).masked_fill(~output.mask_BA, -math.inf)

    def baseline_value(self, output: Output, batch: Batch) -> Tensor:
        self._require_baseline()
        return self._points(output.summary_BK)

    def _points(self, output_K: Tensor) -> Tensor:
        """[..., K] to [...]"""
        if self.is_classification:
            return _expected(output_K.float().softmax(dim=-1), self.bins.points_K)
        return output_K[..., 0].float() * self.scale

    def _error(self, output_BK: Tensor, target_BK: Tensor) -> Tensor:
        if self.is_classification:
            return F.cross_entropy(output_BK.float(), target_BK)
        return F.mse_loss(output_BK.float(), target_BK)


class RoundDelta(Points):
    """What the round will bring the actor, in points."""

    stage = "round_delta"
    unit = 1_000.0
    reach = 100_000.0
    scale = 4_000.0

    def target(self, batch: Batch) -> Tensor:
        deltas = [self.vocabulary.results.index(f"round_delta_{seat}") for seat in range(self.vocabulary.num_seats)]
        return batch.result_BR[:, deltas].gather(1, batch.seat_B[:, None])[:, 0].float()


class Grading(Points):
    """What the game will bring the actor in grading points. The reach holds the thousandths of the highest grade."""

    stage = "grading"
    unit = 100.0
    reach = 1_000.0
    scale = 100.0

    def target(self, batch: Batch) -> Tensor:
        return self._result(batch, "grading_delta").float()


class Rank(Objective):
    """The actor's rank at the end of the game on the action taken; the order of all seats from the summary token."""

    stage = "rank"
    uses = frozenset({"conservative", "baseline", "rank_points"})
    points_R: Tensor
    order_code_O: Tensor
    rank_OS: Tensor

    def __init__(self, config: ObjectiveConfig, vocabulary: Vocabulary = FOUR_PLAYERS) -> None:
        super().__init__(config, vocabulary)
        num_seats = vocabulary.num_seats
        if len(config.rank_points) != num_seats:
            raise ValueError(f"objective.rank_points needs {num_seats} numbers, one for each rank")
        points_R = torch.tensor(config.rank_points)
        if not points_R.std():
            raise ValueError("objective.rank_points are all equal: every action would have the same score")
        self.scale = float(points_R.std(correction=0))
        self.num_candidate_outputs = num_seats
        self.num_summary_outputs = math.factorial(num_seats) if config.baseline else 0
        self.register_buffer("points_R", points_R, persistent=False)
        # Order o gives seat s the rank rank_OS[o, s]; its digits in base num_seats are the key to find o by.
        rank_OS = torch.tensor(list(permutations(range(num_seats))))
        self.register_buffer("rank_OS", rank_OS, persistent=False)
        self.register_buffer("order_code_O", self._code(rank_OS), persistent=False)

    def loss(self, output: Output, batch: Batch) -> dict[str, Tensor]:
        """Parts: `cross_entropy` of the rank, `conservative`, `baseline` (the cross-entropy of the order)."""
        cross_entropy = F.cross_entropy(_of_chosen(output.candidate_BAK, batch.chosen_B).float(), self.rank(batch))
        parts = {"cross_entropy": cross_entropy.detach()}
        loss = cross_entropy
        if self.config.conservative:
            conservative = self.conservative(self.score(output), batch.chosen_B)
            loss = loss + self.config.conservative * conservative
            parts["conservative"] = conservative.detach()
        if self.config.baseline:
            baseline = F.cross_entropy(output.summary_BK.float(), self.order(batch))
            loss = loss + self.config.baseline * baseline
            parts["baseline"] = baseline.detach()
        return {"loss": loss, **parts}

    def score(self, output: Output) -> Tensor:
        """Expected points of the rank."""
        score_BA = _expected(output.candidate_BAK.float().softmax(dim=2), self.points_R)
        return score_BA.masked_fill(~output.mask_BA, -math.inf)

    def baseline_value(self, output: Output, batch: Batch) -> Tensor:
        return _expected(self.baseline_rank_probability(output, batch), self.points_R)

    def target(self, batch: Batch) -> Tensor:
        """Points of the rank that was reached."""
        return self.points_R[self.rank(batch)]

    def rank(self, batch: Batch) -> Tensor:
        """Returns rank_B, 0 = first: the actor's rank at the end of the game."""
        return self._result(batch, "rank").long()

    def order(self, batch: Batch) -> Tensor:
        """Returns order_B: which row of `rank_OS` the game ended with."""
        ranks = [self.vocabulary.results.index(f"rank_{seat}") for seat in range(self.vocabulary.num_seats)]
        return torch.searchsorted(self.order_code_O, self._code(batch.result_BR[:, ranks].long()))

    def rank_log_probability(self, output: Output, batch: Batch) -> Tensor:
        """Returns log_probability_BR of the actor's ranks, given the action taken."""
        return _of_chosen(output.candidate_BAK, batch.chosen_B).float().log_softmax(dim=1)

    def order_log_probability(self, output: Output) -> Tensor:
        """Returns log_probability_BO of the orders of the seats, before the action."""
        self._require_baseline()
        return output.summary_BK.float().log_softmax(dim=1)

    def baseline_rank_probability(self, output: Output, batch: Batch) -> Tensor:
        """Returns probability_BR of the actor's ranks before the action: orders in which the actor has that rank."""
        probability_BO = self.order_log_probability(output).exp()
        rank_BO = self.rank_OS.T[batch.seat_B]
        num_ranks = self.vocabulary.num_seats
        return probability_BO.new_zeros(len(batch), num_ranks).scatter_add(1, rank_BO, probability_BO)

    @staticmethod
    def _code(rank_BS: Tensor) -> Tensor:
        num_seats = rank_BS.shape[1]
        digit_S = num_seats ** torch.arange(num_seats - 1, -1, -1, device=rank_BS.device)
        return (rank_BS * digit_S).sum(dim=1)


class Bins(nn.Module):
    """Equally wide bins of the compressed points; see `Points`."""

    points_K: Tensor
    inner_edge_E: Tensor

    def __init__(self, count: int, sigma: float, unit: float, reach: float) -> None:
        super().__init__()
        self.unit, self.reach = unit, reach
        limit = math.log1p(reach / unit)
        centre_K = torch.linspace(-limit, limit, count, dtype=torch.float64)
        self.sigma = sigma * 2 * limit / (count - 1)
        points_K = centre_K.sign() * unit * centre_K.abs().expm1()
        self.register_buffer("points_K", points_K.float(), persistent=False)
        self.register_buffer("inner_edge_E", ((centre_K[1:] + centre_K[:-1]) / 2).float(), persistent=False)

    def smooth(self, points_B: Tensor) -> Tensor:
        """Returns target_BK: the mass of a Gaussian around each target in each bin; the edge bins take the tails."""
        clamped_B = points_B.clamp(-self.reach, self.reach)
        compressed_B = clamped_B.sign() * (clamped_B.abs() / self.unit).log1p()
        below_BE = torch.special.ndtr((self.inner_edge_E - compressed_B[:, None]) / self.sigma)
        below_BE = F.pad(F.pad(below_BE, (1, 0), value=0.0), (0, 1), value=1.0)
        return below_BE.diff(dim=1)


OBJECTIVES: dict[StageName, type[Objective]] = {
    "imitation": Imitation,
    "round_delta": RoundDelta,
    "rank": Rank,
    "grading": Grading,
}
"""in the order of the curriculum"""


def _expected(probability_K: Tensor, points_K: Tensor) -> Tensor:
    """[..., K] to [...]. No product of matrices: autocast would have it in bf16, where near values are equal."""
    return (probability_K * points_K).sum(dim=-1)


def _of_chosen(output_BAK: Tensor, chosen_B: Tensor) -> Tensor:
    """Returns output_BK of the action taken."""
    index_BAK = chosen_B[:, None, None].expand(-1, 1, output_BAK.shape[2])
    return output_BAK.gather(1, index_BAK)[:, 0]
