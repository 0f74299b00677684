"""Converts decisions to the inputs of a network that was exported as ONNX: arrays by name."""

from typing import TYPE_CHECKING

from numpy.typing import NDArray

from kanachan.data.decisions import Rows
from kanachan.inference.situation_inputs import exported_vocabulary, inputs_of_rows

if TYPE_CHECKING:
    from onnxruntime import InferenceSession


def onnx_inputs_of(rows: Rows, session: "InferenceSession") -> dict[str, NDArray]:
    """Returns the inputs for `session.run` of a network that `kanachan-export --onnx` wrote. Raises ValueError like
    `inputs_of_rows`, or if the network is not an export or has another vocabulary."""
    metadata = session.get_modelmeta().custom_metadata_map
    vocabulary = exported_vocabulary("network", metadata.get("vocabulary"), metadata.get("fingerprint"))
    inputs = inputs_of_rows(rows, vocabulary)
    return {each.name: inputs[each.name].numpy() for each in session.get_inputs()}
