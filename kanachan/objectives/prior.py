"""A frozen reward predictor between the heads and the outputs of a stage.

The heads predict the actor's points in the round, as in stage round delta, and the reward predictor, which sees no
tiles, predicts the outcome of the game for each number of points. The outputs are the logarithm of the mixture, plus a
correction that is zero before the first step. So a stage starts with all that round delta knows about the round, and
with all that scores tell about the game.

Shapes: B decisions, S seats, A candidates, H bins of points, K outputs of the stage, Y = H + K outputs of a head.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from kanachan.data.batch import Batch, TokenLayout
from kanachan.data.round_state import RoundState
from kanachan.models.reward_network import RewardNetwork, RewardOutput
from kanachan.models.weights import reward_settings
from kanachan.objectives.hl_gauss import HLGauss
from kanachan.objectives.objective import Objective
from kanachan.objectives.reward import build_reward_predictor
from kanachan.objectives.stages import REWARD

_LEAST = 1e-12  # probability; the logarithm of 0 has no gradient


class Prior(nn.Module):
    """Converts the outputs of the heads to the outputs of the stage: those of a mixture of the predictions of a frozen
    reward predictor, in fp32."""

    num_points = HLGauss.COUNT
    """the first outputs of a head: logits of the bins of the actor's points in the round"""

    def __init__(self, network: RewardNetwork, objective: Objective) -> None:
        super().__init__()
        self.network = network.eval().requires_grad_(False)
        self._objective = objective
        self._layout = TokenLayout(objective.vocabulary)

    def train(self, mode: bool = True) -> "Prior":
        """Does nothing, because predictions are the same in training."""
        return self

    def forward(
        self, batch: Batch, candidate_BAY: Tensor, summary_BY: Tensor
    ) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
        """Returns the outputs of every candidate [B, A, K] and of the summary [B, K], and the logits of the points."""
        points = candidate_BAY[..., : self.num_points].float(), summary_BY[..., : self.num_points].float()
        device = batch.numeric_BN.device.type
        if not torch.is_autocast_enabled(device):
            return *self._outputs(batch, candidate_BAY, summary_BY), points
        with torch.autocast(device, enabled=False):
            return *self._outputs(batch, candidate_BAY, summary_BY), points

    def _outputs(self, batch: Batch, candidate_BAY: Tensor, summary_BY: Tensor) -> tuple[Tensor, Tensor]:
        state = RoundState.at_start_of(batch, self._layout)
        actor_B = self._layout.table_value(batch.table_BS, "seat")
        row_B = torch.arange(len(actor_B), device=actor_B.device)
        start = RewardOutput(*(output[row_B, actor_B, None] for output in self.network(state)))
        points_BH = self._objective.round_bins.points_K.expand(len(actor_B), -1)
        change_BHY = self.network.after_round(self.network.features(state)[row_B, actor_B], points_BH)
        order_BHO, grading_BHK = start.plus(change_BHY)
        log_order_XO = order_BHO.flatten(0, 1).log_softmax(dim=1)
        of_candidates, of_summary = self._objective.prior_outputs(log_order_XO, grading_BHK.flatten(0, 1))
        shape = (len(actor_B), self.num_points)
        candidate_BAK = self._mixture(candidate_BAY, of_candidates.view(*shape, -1))
        return candidate_BAK, self._mixture(summary_BY[:, None], of_summary.view(*shape, -1))[:, 0]

    def _mixture(self, output_BAY: Tensor, log_BHK: Tensor) -> Tensor:
        """Returns the outputs [B, A, K] for the log probabilities of the outcomes given the points."""
        points_BAH, correction_BAK = output_BAY.float().tensor_split([self.num_points], dim=2)
        probability_BAK = points_BAH.softmax(dim=2) @ log_BHK.exp()
        return probability_BAK.clamp(min=_LEAST).log() + correction_BAK


def make_prior(card: Mapping[str, Any], objective: Objective, name: str) -> Prior:
    """Makes a prior from the card and name of a reward predictor's weights, without the values of the weights. Raises
    ValueError if they cannot be the prior of this objective."""
    what = f"objective.prior {name}"
    try:
        require_reward_predictor(card, objective, what)
    except ValueError as error:
        raise ValueError(f"{error}; --objective.prior null trains without one") from None
    reward = reward_settings(card, what)
    with torch.random.fork_rng(devices=[]):  # the stage initialises the same weights with and without a prior
        return Prior(build_reward_predictor(reward, objective.vocabulary)[0], objective)


def require_reward_predictor(card: Mapping[str, Any], objective: Objective, what: str) -> None:
    """Raises ValueError, naming `what`, if weights do not belong to a reward predictor that predicts the outcome of the
    objective's games."""
    if card["stage"] != REWARD:
        raise ValueError(f"{what}: weights of stage {card['stage']}; those of stage {REWARD} are expected")
    vocabulary = objective.vocabulary
    if card["fingerprint"] != vocabulary.fingerprint:
        raise ValueError(
            f"{what}: made for the vocabulary {card['vocabulary']}, but the decisions are in {vocabulary.name}"
        )
