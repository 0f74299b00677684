"""Weights files of tiny networks that were never trained but predict differently for different inputs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import MODEL_SIZES, ObjectiveConfig, StageName
from kanachan.models.weights import make_card, write_weights
from kanachan.objectives.networks import build_network


def written(
    folder: Path,
    stage: StageName = "imitation",
    *,
    seed: int = 0,
    actor_first: bool = True,
    layers: int = MODEL_SIZES["tiny"].layers,
    **objective: Any,
) -> Path:
    """The weights file of a network of `stage` in `folder`, as kanachan-train would leave it there."""
    torch.manual_seed(seed)
    model, settings = replace(MODEL_SIZES["tiny"], layers=layers), ObjectiveConfig(**objective)
    network, _ = build_network(stage, model, settings, FOUR_PLAYERS)
    with torch.no_grad():  # freshly made, all outputs are nearly equal and would hide a difference
        for parameter in network.parameters():
            parameter.mul_(2 if parameter.ndim >= 2 else 1)
    config = {"data": {"actor_first": actor_first}}
    card = make_card(stage, model, settings, FOUR_PLAYERS, config=config, steps=20, samples=320, lineage=[])
    folder.mkdir(parents=True, exist_ok=True)
    write_weights(folder / "weights.safetensors", network.state_dict(), card)
    return folder / "weights.safetensors"
