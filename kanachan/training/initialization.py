"""The network that a run starts with: new, or with parts of earlier weights (--init)."""

from typing import Any, NamedTuple

from annotate.vocabulary import Vocabulary
from kanachan.config import TrainConfig
from kanachan.models.transformer import Network
from kanachan.models.weights import lineage_of, prior_card_of, read_weights
from kanachan.objectives.networks import build_network, has_same_heads, inherit_decoder, inherit_encoder, load_prior
from kanachan.objectives.objective import Objective


class InitialNetwork(NamedTuple):
    """A network before its first step."""

    network: Network
    objective: Objective
    lineage: list[dict[str, Any]]
    """the stages before it"""
    prior: dict[str, Any] | None
    """the entry `PRIOR_KEY` of the card of its weights, if it has a prior"""
    origin: str
    """which of its parts come from where, in words"""


def initial_network(config: TrainConfig, vocabulary: Vocabulary, *, inherits: bool) -> InitialNetwork:
    """Builds the network of a run.

    Args:
        inherits: copy the encoder of --init, and of weights with the same heads also the decoder and the heads; a
            resumed run does not, because its checkpoint has them.

    Raises:
        ValueError: the weights of --init or objective.prior do not fit the run.
    """
    name = config.objective.prior
    frozen = None if name is None else read_weights(name)
    prior = None if frozen is None else prior_card_of(frozen)
    network, objective = build_network(
        config.stage, config.model, config.objective, vocabulary, prior, sees_hidden=config.objective.oracle > 0
    )
    if frozen is not None:
        load_prior(network, frozen)
    if config.init is None or not inherits:
        return InitialNetwork(network, objective, [], prior, f"encoder from {config.init or 'scratch'}")
    weights = read_weights(config.init)
    inherit_encoder(network.encoder, config.model, weights, vocabulary)
    origin = f"encoder from {config.init}"
    if has_same_heads(weights.stage, config.stage):
        fresh = inherit_decoder(network, weights)
        origin = f"encoder and decoder from {config.init}" if "decoder" not in fresh else origin
        for reason in sorted(set(fresh.values())):
            origin += f", new with {reason}: {', '.join(part for part in fresh if fresh[part] == reason)}"
    return InitialNetwork(network, objective, lineage_of(weights), prior, origin)
