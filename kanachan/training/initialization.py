"""The network that a run starts with: new, or with parts of earlier weights (--init)."""

from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from annotate.vocabulary import Vocabulary
from kanachan.config import TrainConfig
from kanachan.models.card import read_card
from kanachan.models.fewer_blocks import kept_blocks
from kanachan.models.learned_games import NONE, LearnedGames
from kanachan.models.transformer import Network
from kanachan.models.weights import lineage_of, prior_card_of, read_weights
from kanachan.objectives.networks import (
    build_network,
    has_same_heads,
    inherit_decoder,
    inherit_encoder,
    load_prior,
    predicts_round_points,
)
from kanachan.objectives.objective import Objective
from kanachan.training.ancestry import Ancestry
from kanachan.training.run_folder import OTHER_WEIGHTS, flat


class InitialNetwork(NamedTuple):
    """A network before its first step."""

    network: Network
    objective: Objective
    ancestry: Ancestry
    prior: dict[str, Any] | None
    """entry `PRIOR_KEY` of the card of its weights, if it has a prior"""
    origin: str
    """origin of its parts, in words"""
    is_whole: bool = False
    """whether all of the network of a new run is from --init"""


def initial_network(config: TrainConfig, vocabulary: Vocabulary, *, inherits: bool) -> InitialNetwork:
    """Builds the network of a run. If `inherits` is true (false for a resumed run), it has the encoder of --init, and
    the decoder and the heads if --init has the same heads. Raises ValueError if the weights of --init or
    objective.prior do not fit the run."""
    name = config.objective.prior
    frozen = None if name is None else read_weights(name)
    prior = None if frozen is None else prior_card_of(frozen)
    network, objective = build_network(config.stage, config.model, config.objective, vocabulary, prior)
    if frozen is not None:
        load_prior(network, frozen)
    learned = [LearnedGames.of_card(read_card(other), other) for other in other_weights(config).values()]
    games = reduce(or_, learned, NONE)
    if config.init is None or not inherits:
        origin = f"encoder from {config.init or 'scratch'}"
        return InitialNetwork(network, objective, Ancestry(games=games), prior, origin)
    weights = read_weights(config.init)
    inherit_encoder(network.encoder, config.model, weights, vocabulary)
    has_points = predicts_round_points(weights) and (network.prior is not None or objective.predicts_round_points)
    takes_heads = has_same_heads(weights.stage, config.stage)
    takes_decoder = takes_heads or has_points
    only_points = has_points and not (takes_heads and weights.vocabulary is vocabulary)
    fresh = inherit_decoder(network, weights, vocabulary, only_points=only_points) if takes_decoder else {}
    has_decoder = takes_decoder and "decoder" not in fresh
    lineage, blocks, change = lineage_of(weights), "", ""
    if weights.vocabulary is not vocabulary:
        lineage[-1]["vocabulary"] = weights.vocabulary.name
        change = f" ({weights.vocabulary.name})"
    if config.model.layers < weights.model.layers:
        kept = [block + 1 for block in kept_blocks(weights.model.layers, config.model.layers)]
        lineage[-1]["encoder_blocks"] = kept
        blocks = f" (of {weights.model.layers} blocks number {' and '.join(map(str, kept))})"
    origin = f"encoder{blocks}{' and decoder' if has_decoder else ''} from {config.init}{change}"
    for reason in sorted({*fresh.values()}):
        origin += f", new with {reason}: {', '.join(part for part, found in fresh.items() if found == reason)}"
    ancestry = Ancestry(lineage, games | weights.learned_games)
    is_whole = takes_heads and not (fresh or blocks or change)
    return InitialNetwork(network, objective, ancestry, prior, origin, is_whole)


def other_weights(config: TrainConfig) -> dict[str, str]:
    """Returns the weights that are used in training besides --init, by setting."""
    values = flat(config)
    return {setting: values[setting] for setting in sorted(OTHER_WEIGHTS) if values[setting] is not None}
