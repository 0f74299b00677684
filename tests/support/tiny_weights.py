"""Weights files of tiny networks that were never trained but predict differently for different inputs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from annotate.vocabulary import FOUR_PLAYERS, Vocabulary
from kanachan.config import MODEL_SIZES, ObjectiveConfig, StageName
from kanachan.models.weights import PRIOR_KEY, make_card, prior_card_of, read_weights, write_weights
from kanachan.objectives.networks import build_network, load_prior


def written(
    folder: Path,
    stage: StageName = "imitation",
    *,
    seed: int = 0,
    layers: int = MODEL_SIZES["tiny"].layers,
    dropout: float = 0.0,
    vocabulary: Vocabulary = FOUR_PLAYERS,
    **objective: Any,
) -> Path:
    """The weights file of a network of `stage` in `folder`, as kanachan-train would leave it there.

    With `prior`, the path of a reward predictor, the network has learned to differ from it.
    """
    torch.manual_seed(seed)
    model = replace(MODEL_SIZES["tiny"], layers=layers, dropout=dropout)
    settings = ObjectiveConfig(**objective)
    prior = None if settings.prior is None else read_weights(settings.prior)
    about = {} if prior is None else {PRIOR_KEY: prior_card_of(prior)}
    network, _ = build_network(stage, model, settings, vocabulary, about.get(PRIOR_KEY))
    with torch.no_grad():  # freshly made, all outputs are nearly equal and would hide a difference
        for parameter in network.parameters():
            parameter.mul_(2 if parameter.ndim >= 2 else 1)
        if prior is not None:
            network.head.weight.normal_(std=0.2)
            load_prior(network, prior)
    config: dict[str, Any] = {"data": {}}
    card = make_card(stage, model, settings, vocabulary, config=config, steps=20, samples=320, lineage=[], **about)
    card |= {"commit": None, "versions": {}}  # the same file at every commit: games played with it depend on it
    folder.mkdir(parents=True, exist_ok=True)
    write_weights(folder / "weights.safetensors", network.state_dict(), card)
    return folder / "weights.safetensors"
