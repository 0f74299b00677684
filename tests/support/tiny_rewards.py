"""Weights files of tiny reward predictors that were never trained but predict differently for different inputs."""

from pathlib import Path

import torch

from annotate.vocabulary import FOUR_PLAYERS, Vocabulary
from kanachan.config import ObjectiveConfig, RewardConfig
from kanachan.models.weights import make_card, write_weights
from kanachan.objectives.reward import build_reward_predictor


def written_reward(path: Path, *, seed: int = 0, vocabulary: Vocabulary = FOUR_PLAYERS) -> Path:
    """The weights file of a reward predictor."""
    torch.manual_seed(seed)
    reward = RewardConfig(width=8)
    predictor, _ = build_reward_predictor(reward, vocabulary)
    with torch.no_grad():
        for parameter in predictor.parameters():
            parameter.normal_(std=0.5)
    card = make_card("reward", reward, ObjectiveConfig(), vocabulary)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_weights(path, predictor.state_dict(), card)
    return path
