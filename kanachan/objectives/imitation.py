"""Imitation: predicts the action that the player took, or in distillation (Hinton et al. 2015, arXiv:1503.02531) the
action probabilities of a teacher."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from kanachan.data.batch import Batch
from kanachan.models.transformer import Output
from kanachan.objectives.objective import PER_CANDIDATE, Classes, Objective, PredictionField


class Imitation(Objective):
    """Cross-entropy of the action taken among the candidates."""

    stage = "imitation"
    title = "Imitation: the action that the player takes"
    meaning = "probability that the player takes it"
    prediction_fields = {
        "scores": PredictionField(PER_CANDIDATE, "logits"),
        "probabilities": PredictionField(PER_CANDIDATE, "that the player takes the action; 0 at padding"),
    }
    temperatures = ("temperature",)
    uses = frozenset({"teacher", "teacher_share"})
    has_value = False
    num_candidate_outputs = 1
    num_summary_outputs = 0

    def loss(self, output: Output, batch: Batch) -> dict[str, Tensor]:
        """Returns the loss and its part `cross_entropy`, of the action taken; without a teacher they are equal.

        With soft labels [B, A], the probabilities of a teacher, their cross-entropy gets the weight `teacher_share` in
        the loss, and another part is `teacher_divergence`, the divergence of the teacher from the network, in nats.
        """
        log_probability_BA = self.score(output).log_softmax(dim=1)
        cross_entropy = F.nll_loss(log_probability_BA, batch.chosen_B)
        if batch.label_BL is not None:
            taught = -(batch.label_BL * log_probability_BA.masked_fill(~output.mask_BA, 0.0)).sum(dim=1).mean()
            entropy = torch.special.entr(batch.label_BL).sum(dim=1).mean()
            parts = {"cross_entropy": cross_entropy, "teacher_divergence": taught - entropy}
            share = self.config.teacher_share
            loss = taught if share == 1 else share * taught + (1 - share) * cross_entropy
            return {"loss": loss, **{name: part.detach() for name, part in parts.items()}}
        return {"loss": cross_entropy, "cross_entropy": cross_entropy.detach()}

    def score(self, output: Output) -> Tensor:
        return output.candidate_BAK[:, :, 0].float().masked_fill(~output.mask_BA, -math.inf)

    def predictions(self, output: Output) -> dict[str, Tensor]:
        score_BA = self.score(output)
        return {"scores": score_BA, "probabilities": score_BA.softmax(dim=1)}

    def calibratable(self, output: Output, batch: Batch) -> dict[str, Classes]:
        """Returns the candidates as classes; the true class is the action that the player took."""
        return {"temperature": Classes(self.score(output), batch.chosen_B)}


class PolicyObjective(Imitation):
    """The policy of reinforcement learning: it predicts the probabilities of its own actions.

    Its loss, the cross-entropy of the actions taken, is only for evaluations, because
    `kanachan.reinforcement.policy_gradient` trains the policy.
    """

    stage = "policy"
    title = "Policy: the action that the policy takes, against the player's"
    meaning = "probability that the policy takes it"
    uses = frozenset()
