"""Annotation lines to the inputs of exported networks: tensors or arrays by name."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from numpy.typing import NDArray
from torch import Tensor

from annotate.annotation import parse_line
from annotate.vocabulary import Vocabulary, known_vocabularies, vocabulary_with
from kanachan.data.batch import batch_of_annotations

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

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
"""inputs of a whole network, likewise"""


def inputs_of_lines(lines: Iterable[str], vocabulary: Vocabulary, *, actor_first: bool) -> dict[str, Tensor]:
    """Returns the decisions of annotation lines, in their order; `actor_first` as in the network's training settings.

    Raises:
        ValueError: a line is not an annotation; gives its number, and the reason.
    """
    annotations = []
    for number, line in enumerate(lines, start=1):
        try:
            annotations.append(parse_line(line.rstrip("\n"), vocabulary))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    if not annotations:
        raise ValueError("there are no lines; one decision each expected")
    batch = batch_of_annotations(annotations, vocabulary, actor_first=actor_first)
    return {name: getattr(batch, field) for name, field in DECISION_INPUTS.items()}


def onnx_inputs_of(lines: Iterable[str], session: "InferenceSession") -> dict[str, NDArray]:
    """Returns the inputs for `session.run` of a network that `kanachan-export --onnx` wrote.

    Raises:
        ValueError: as of `inputs_of_lines`; or the network is not an export, or is of another vocabulary.
    """
    metadata = session.get_modelmeta().custom_metadata_map
    fingerprint = metadata.get("fingerprint")
    vocabulary = vocabulary_with(metadata.get("vocabulary"), fingerprint)
    if vocabulary is None:
        raise ValueError(
            f"the network reads the vocabulary {metadata.get('vocabulary')} {fingerprint}; this program has "
            f"{known_vocabularies()}"
        )
    inputs = inputs_of_lines(lines, vocabulary, actor_first=metadata["actor_first"] == "true")
    return {each.name: inputs[each.name].numpy() for each in session.get_inputs()}
