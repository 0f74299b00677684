"""The objective of each stage, and its network: built, loaded from weights, or initialised from another encoder.

A stage is one class and one entry of `kanachan.objectives.stages.STAGES`. Values (round delta, rank, grading) are
learned on the action taken, with two additions: the CQL regulariser (`Objective.cql_regularizer`), because nothing else
lowers the scores of actions that were never taken, and a prediction from the summary token alone, the value of the
situation before the action.

Shapes: B decisions, A candidates, K outputs of a head, R ranks, O orders of the seats.
"""

from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import torch

from annotate.vocabulary import Vocabulary
from kanachan.config import ModelConfig, ObjectiveConfig, StageName
from kanachan.data.batch import TokenLayout
from kanachan.models.card import TEMPERATURES, require_encoder_sizes
from kanachan.models.transformer import Network
from kanachan.models.weights import ENCODER_PREFIX, Weights, load_tensors, read_weights
from kanachan.objectives.objective import Objective
from kanachan.objectives.stages import REWARD, STAGES, require_stage


class Loaded(NamedTuple):
    """A trained network in evaluation mode, its objective, and the card of its weights."""

    network: Network
    objective: Objective
    card: dict[str, Any]


def objective_class(stage: StageName) -> type[Objective]:
    """Returns the class of the stage's objective; raises ValueError for a stage that is not in the registry."""
    module, _, name = STAGES[require_stage(stage)].partition(":")
    found: type[Objective] = getattr(import_module(module), name)
    assert found.stage == stage, f"{STAGES[stage]} is registered as {stage} but is stage {found.stage}"
    return found


def build_network(
    stage: StageName, model: ModelConfig, objective: ObjectiveConfig, vocabulary: Vocabulary
) -> tuple[Network, Objective]:
    """Builds a new network with the heads that the stage's objective needs; torch's seed determines its weights."""
    target = objective_class(stage)(objective, vocabulary)
    network = Network(
        model,
        TokenLayout(vocabulary),
        vocabulary.max_progression,
        target.num_candidate_outputs,
        target.num_summary_outputs,
        target.auxiliary.num_outputs,
    )
    return network, target


def load_network(path: str | Path, device: torch.device | str = "cpu") -> Loaded:
    """Loads the network and the objective of a weights file on the device, in evaluation mode."""
    weights = read_weights(path)
    _check_stage(weights)
    network, objective = build_network(weights.stage, weights.model, weights.objective, weights.vocabulary)
    load_tensors(network, weights.tensors, weights.path)
    return Loaded(network.to(device).eval(), objective.to(device).eval(), weights.card)


def _check_stage(weights: Weights) -> None:
    if weights.stage == REWARD:
        raise ValueError(
            f"{weights.path}: a reward predictor, which predicts how games end and chooses no actions; weights of "
            f"another stage are expected here ({', '.join(STAGES)})"
        )
    if weights.stage not in STAGES:
        raise ValueError(f"{weights.path}: unknown stage {weights.stage}")
    if not objective_class(weights.stage).temperatures and not weights.card.keys().isdisjoint(TEMPERATURES):
        raise ValueError(
            f"{weights.path}: a temperature in its card, but stage {weights.stage} has no probabilities to divide"
        )


def inherit_encoder(network: Network, model: ModelConfig, weights: Weights, vocabulary: Vocabulary) -> None:
    """Copies the encoder of an earlier stage into `network`, whose decoder and heads stay unchanged.

    Raises ValueError, naming both sides, if the encoders differ in size or the vocabularies differ.
    """
    if weights.card["fingerprint"] != vocabulary.fingerprint:
        raise ValueError(
            f"{weights.path} has the vocabulary {weights.card['fingerprint']}, the data {vocabulary.fingerprint}"
        )
    require_encoder_sizes(model, asdict(weights.model), weights.path)
    tensors = {
        name.removeprefix(ENCODER_PREFIX): tensor
        for name, tensor in weights.tensors.items()
        if name.startswith(ENCODER_PREFIX)
    }
    load_tensors(network.encoder, tensors, weights.path)


def inherit_decoder(network: Network, weights: Weights) -> list[str]:
    """Copies the decoder and the heads of earlier weights of the same stage into `network`; returns the parts of
    `network` that differ in shape (other auxiliary targets, another number of bins or blocks) and stay unchanged."""
    fresh = []
    for part, module in network.named_children():
        prefix = f"{part}."
        tensors = {n.removeprefix(prefix): tensor for n, tensor in weights.tensors.items() if n.startswith(prefix)}
        if prefix == ENCODER_PREFIX:
            continue
        if {n: t.shape for n, t in tensors.items()} == {n: t.shape for n, t in module.state_dict().items()}:
            load_tensors(module, tensors, weights.path)
        else:
            fresh.append(part)
    return fresh
