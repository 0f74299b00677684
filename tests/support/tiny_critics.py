"""Weights files of tiny critics that were never trained but predict differently for different inputs."""

from pathlib import Path

import torch

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import MODEL_SIZES, ObjectiveConfig
from kanachan.models.weights import make_card, write_weights
from kanachan.reinforcement.critic import CRITIC_KEY, build_critic, critic_card
from kanachan.reinforcement.returns import Utility


def written_critic(folder: Path, reward: str, utility: Utility, *, seed: int = 0) -> Path:
    """The weights file of a critic, as kanachan-train would leave it in the folder."""
    torch.manual_seed(seed)
    network = build_critic(MODEL_SIZES["tiny"], utility, FOUR_PLAYERS)
    with torch.no_grad():
        for parameter in network.parameters():
            if not parameter.any():  # freshly made, every value is 0
                parameter.normal_(std=0.3)
    about = {CRITIC_KEY: critic_card(utility, reward, "0" * 64)}
    card = make_card("critic", MODEL_SIZES["tiny"], ObjectiveConfig(), FOUR_PLAYERS, **about)
    folder.mkdir(parents=True, exist_ok=True)
    write_weights(folder / "weights.safetensors", network.state_dict(), card)
    return folder / "weights.safetensors"
