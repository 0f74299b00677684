"""Imitation: the action that the player took."""

import math

import torch.nn.functional as F
from torch import Tensor

from kanachan.data.batch import Batch
from kanachan.models.transformer import Output
from kanachan.objectives.objective import Objective


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
