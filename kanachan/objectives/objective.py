"""What every stage defines: a target, a loss, and the score of an action."""

from abc import ABC, abstractmethod
from dataclasses import fields

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


def _expected(probability_K: Tensor, points_K: Tensor) -> Tensor:
    """[..., K] to [...]. No product of matrices: autocast would have it in bf16, where near values are equal."""
    return (probability_K * points_K).sum(dim=-1)


def _of_chosen(output_BAK: Tensor, chosen_B: Tensor) -> Tensor:
    """Returns output_BK of the action taken."""
    index_BAK = chosen_B[:, None, None].expand(-1, 1, output_BAK.shape[2])
    return output_BAK.gather(1, index_BAK)[:, 0]


"""The stages by name, and the network of each: built, loaded from weights, or started from another encoder."""
