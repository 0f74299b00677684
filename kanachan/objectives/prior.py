"""A frozen reward predictor as the prior of a stage: a prediction only from the scores and the round.

The prediction is added to the outputs of the network, which are zero before the first step. The stage thus starts as
good as the reward predictor, and learns the contribution of tiles and events.

Shapes: B decisions, S seats, K outputs of a head.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from kanachan.data.batch import Batch, TokenLayout
from kanachan.data.round_state import RoundState
from kanachan.models.reward_network import RewardNetwork
from kanachan.models.weights import reward_settings
from kanachan.objectives.objective import Objective
from kanachan.objectives.reward import build_reward_predictor
from kanachan.objectives.stages import REWARD


class Prior(nn.Module):
    """Computes the terms added to the outputs of a network: the predictions of a frozen reward predictor in fp32,
    converted by the objective."""

    def __init__(self, network: RewardNetwork, objective: Objective) -> None:
        super().__init__()
        self.network = network.eval().requires_grad_(False)
        self._objective = objective
        self._layout = TokenLayout(objective.vocabulary)

    def train(self, mode: bool = True) -> "Prior":
        """Does nothing, because predictions are the same in training."""
        return self

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns the terms added to the outputs of every candidate [B, K] and of the summary [B, K]."""
        device = batch.numeric_BN.device.type
        if not torch.is_autocast_enabled(device):
            return self._outputs(batch)
        with torch.autocast(device, enabled=False):
            return self._outputs(batch)

    def _outputs(self, batch: Batch) -> tuple[Tensor, Tensor]:
        order_BSO, grading_BSK = self.network(RoundState.of_batch(batch, self._layout))
        actor_B = self._layout.table_value(batch.table_BS, "seat")
        row_B = torch.arange(len(actor_B), device=actor_B.device)
        order_BO = order_BSO[row_B, actor_B].log_softmax(dim=1)
        return self._objective.prior_outputs(order_BO, grading_BSK[row_B, actor_B], batch.seat_B)


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
