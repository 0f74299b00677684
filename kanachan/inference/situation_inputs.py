"""Converts decisions to the inputs of exported networks (tensors by name), and encodes these inputs.

Shapes: B situations, O own tokens (itself, its seats, its tiles; padded), D width.
"""

from torch import Tensor

from annotate.vocabulary import Vocabulary, known_vocabularies, vocabulary_with
from kanachan.data.batch import batch_of_columns
from kanachan.data.columns import columns_of_observations
from kanachan.data.decisions import Rows, observations_of
from kanachan.models.attention import PaddedAttention
from kanachan.models.transformer import Encoder

SITUATION_INPUTS = {
    "table": "table_BS",
    "standing": "standing_BP2",
    "tiles": "tile_BT",
    "numbers": "numeric_BN",
    "events": "event_GE",
    "groups": "group_B",
    "seen": "seen_B",
}
"""inputs of an encoder, each with its field of `kanachan.data.batch.Batch`"""
DECISION_INPUTS = {**SITUATION_INPUTS, "candidates": "candidate_BA"}
"""inputs of a whole network, each with its field"""


def exported_vocabulary(what: str, name: object, fingerprint: object) -> Vocabulary:
    """Returns the vocabulary of an exported network. Raises ValueError if this version of the program does not have
    it."""
    vocabulary = vocabulary_with(name, fingerprint)
    if vocabulary is None:
        has = known_vocabularies()
        raise ValueError(f"the {what} reads the vocabulary {name} {fingerprint}; this program has {has}")
    return vocabulary


def inputs_of_rows(rows: Rows, vocabulary: Vocabulary) -> dict[str, Tensor]:
    """Returns decisions as tensors in the same order, with the actor as seat 0. Raises ValueError, with the number of
    the row (from 1) and the reason, if a row is not a decision."""
    observations = observations_of(rows, vocabulary)
    if not observations:
        raise ValueError("there are no lines or rows; each must be one decision")
    batch = batch_of_columns(columns_of_observations(observations, vocabulary), vocabulary)
    return {name: getattr(batch, field) for name, field in DECISION_INPUTS.items()}


def encoded(encoder: Encoder, *inputs: Tensor) -> Tensor:
    """Encodes `SITUATION_INPUTS`, given in their order, as [B, O, D]; the first token is the situation."""
    table, standing, tiles, numbers, events, groups, seen = inputs
    no_candidates = table[:, :0]
    attention = PaddedAttention(tiles, events, groups, seen, no_candidates, standing.shape[1])
    own_BOD, _ = attention.split(encoder(table, standing, numbers, attention))
    return own_BOD
