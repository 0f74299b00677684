"""The graph from which kanachan-export makes an ONNX file, computed by torch: the exporter takes ten seconds."""

import torch
from torch import Tensor

from kanachan.data.decisions import Rows
from kanachan.inference.onnx_export import PolicyGraph
from kanachan.inference.policy import Policy
from kanachan.inference.situation_inputs import inputs_of_rows


def graph_outputs(policy: Policy, rows: Rows) -> dict[str, Tensor]:
    """Returns the outputs, by name, for the inputs that an ONNX file would get."""
    graph = PolicyGraph(policy).eval()
    with torch.inference_mode():
        outputs = graph(*inputs_of_rows(rows, policy.vocabulary).values())
    return dict(zip(graph.outputs, outputs, strict=True))
