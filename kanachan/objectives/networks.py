"""The objective of each stage and its network: built, loaded from weights, or initialised from another encoder.

Shapes: B decisions, A candidates, K outputs of a head, R ranks, O orders of the seats.
"""

from collections.abc import Mapping
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from annotate.vocabulary import Vocabulary
from kanachan.config import ModelConfig, ObjectiveConfig, StageName
from kanachan.data.batch import TokenLayout
from kanachan.models.card import require_encoder_sizes
from kanachan.models.fewer_blocks import kept_blocks, with_fewer_blocks
from kanachan.models.transformer import Encoder, Network
from kanachan.models.vocabulary_change import VocabularyChange
from kanachan.models.weights import PRIOR_KEY, Weights, load_tensors, read_weights
from kanachan.objectives.objective import Objective
from kanachan.objectives.prior import Prior, make_prior
from kanachan.objectives.stages import require_scoring, scoring_stages


class Loaded(NamedTuple):
    """A trained network in evaluation mode, its objective and the card of its weights."""

    network: Network
    objective: Objective
    card: dict[str, Any]


def objective_class(stage: StageName) -> type[Objective]:
    """Returns the class of the stage's objective; raises ValueError for a stage that is not in the registry."""
    place = scoring_stages().get(stage)
    if place is None:
        raise ValueError(f"stage must be one of {', '.join(scoring_stages())}, not {stage}")
    module, _, name = place.partition(":")
    found: type[Objective] = getattr(import_module(module), name)
    assert found.stage == stage, f"{place} is registered as {stage} but is stage {found.stage}"
    return found


def has_same_heads(stage: StageName, other: StageName) -> bool:
    """Returns whether the networks of two stages have the same heads: one objective is a subclass of the other."""
    one, another = objective_class(stage), objective_class(other)
    return issubclass(one, another) or issubclass(another, one)


def build_network(
    stage: StageName,
    model: ModelConfig,
    objective: ObjectiveConfig,
    vocabulary: Vocabulary,
    prior: Mapping[str, Any] | None = None,
) -> tuple[Network, Objective]:
    """Builds a new network with the heads that the stage's objective needs; torch's seed determines its weights.
    `prior`: the card of the weights `objective.prior`; the weights themselves are not read."""
    target = objective_class(stage)(objective, vocabulary)
    frozen, num_points = None, 0
    if objective.prior is not None:
        assert prior is not None
        frozen = make_prior(prior, target, objective.prior)
        num_points = frozen.num_points
    network = Network(
        model,
        TokenLayout(vocabulary),
        num_points + target.num_candidate_outputs,
        num_points + target.num_summary_outputs if target.num_summary_outputs else 0,
        target.auxiliary.num_outputs,
        target.auxiliary.num_outputs_of_kind,
        frozen,
    )
    return network, target


def load_network(path: str | Path, device: torch.device | str = "cpu") -> Loaded:
    """Loads the network and the objective of a weights file to the device, in evaluation mode."""
    weights = read_weights(path)
    require_scoring(weights.stage, weights.path)
    prior = weights.card.get(PRIOR_KEY)
    if weights.objective.prior is not None and prior is None:
        raise ValueError(f"{weights.path}: its card does not describe its prior, {weights.objective.prior}")
    try:
        network, objective = build_network(weights.stage, weights.model, weights.objective, weights.vocabulary, prior)
    except ValueError as error:
        raise ValueError(f"{weights.path}: {error}") from None
    load_tensors(network, weights.tensors, weights.path)
    return Loaded(network.to(device).eval(), objective.to(device).eval(), weights.card)


def inherit_encoder(encoder: Encoder, model: ModelConfig, weights: Weights, vocabulary: Vocabulary) -> None:
    """Copies the encoder of an earlier stage into `encoder`; if `encoder` has fewer blocks, only as many. Embedding
    rows without a counterpart in the vocabulary of the weights keep their initial values.

    Raises ValueError, naming both sizes, if the encoders differ in size.
    """
    require_encoder_sizes(model, asdict(weights.model), weights.path)
    change, current = VocabularyChange(weights.vocabulary, vocabulary), encoder.state_dict()
    tensors = with_fewer_blocks(_part(weights, "encoder"), kept_blocks(weights.model.layers, model.layers))
    load_tensors(encoder, change.tensors(tensors, current), weights.path)


def predicts_round_points(weights: Weights) -> bool:
    """Returns whether the first outputs of the heads are logits of the actor's points in the round."""
    return "prior.network.points_logit" in weights.tensors or objective_class(weights.stage).predicts_round_points


def inherit_decoder(
    network: Network, weights: Weights, vocabulary: Vocabulary, *, only_points: bool = False
) -> dict[str, str]:
    """Copies the decoder and the heads of weights with `has_same_heads` into `network`, as `inherit_encoder` does.
    `only_points`: copies of the heads only the outputs of `predicts_round_points`, which both networks have. Returns
    the parts that stay unchanged and the reason for each: other shapes (different auxiliary targets or numbers of bins,
    blocks or seats), for the head also of the decoder."""
    change, fresh = VocabularyChange(weights.vocabulary, vocabulary), {}
    for part, module in network.named_children():
        if part in ("encoder", "prior"):
            continue
        current = module.state_dict()
        tensors = change.tensors(_part(weights, part), current)
        if only_points and part in ("head", "summary_head"):
            tensors = {
                n: torch.cat((t[: Prior.num_points], current[n][Prior.num_points :])) for n, t in tensors.items()
            }
        has_same_shapes = {n: t.shape for n, t in tensors.items()} == {n: t.shape for n, t in current.items()}
        if not has_same_shapes or (part == "head" and "decoder" in fresh):
            fresh[part] = "other shapes"
        else:
            load_tensors(module, tensors, weights.path)
    return fresh


def load_prior(network: Network, weights: Weights) -> None:
    """Copies the weights of a reward predictor into the prior of `network`, which was made from their card, and its
    distribution of a seat's points into the biases of the heads."""
    prior = network.prior
    assert isinstance(prior, Prior)
    load_tensors(prior.network, weights.tensors, weights.path)
    with torch.no_grad():
        for head in (network.head, network.summary_head):
            if head is not None:
                head.bias[: prior.num_points] = prior.network.points_logit


def _part(weights: Weights, name: str) -> dict[str, Tensor]:
    """Returns the tensors of a part of a network, by their names in it."""
    prefix = f"{name}."
    return {n.removeprefix(prefix): tensor for n, tensor in weights.tensors.items() if n.startswith(prefix)}
