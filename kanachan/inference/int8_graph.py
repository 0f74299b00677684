"""The encoder and the decoder of a network as an ONNX graph with int8 matrices, for ONNX Runtime on CPUs.

The events of a round are computed once, as in `kanachan.models.kv_cache`: the graph takes cached keys and values of
earlier events, and returns keys and values of new events. Matrices are int8, of which 7 bits are used, with a scale for
each column; their inputs are uint8, with a scale and a zero point that are constants of the graph. The rounding of a
row therefore does not depend on the other rows of its batch, as it would if scales were computed from the batch.

Shapes: as in `kanachan.models.kv_cache`, L cached pairs of keys and values, one per layer, W width of a head, C blocks
of cached events, R all blocks of the cache, J columns of a matrix.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from annotate.vocabulary import TABLE
from kanachan.models.blocks import CrossAttention, DecoderBlock, EncoderBlock, FeedForward, SelfAttention
from kanachan.models.relative_suits import FACTOR, RelativeSuits
from kanachan.models.transformer import Encoder, Network

Ranges = Mapping[nn.Module, tuple[float, float]]
"""the smallest and the largest input of each linear layer"""

_OPSET, _IR_VERSION = 20, 9
_LARGEST = 63
"""the largest integer of a matrix: CPUs without VNNI add two products in 16 bits, which 2 x 127 x 255 does not fit"""
_MICROSOFT = "com.microsoft"  # the domain of ONNX Runtime's own operators
_FLOAT, _INT32, _INT64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64
_INPUTS = {
    "table": (_INT32, ("B", "S")),
    "standing": (_INT32, ("B", "P", 2)),
    "tiles": (_INT32, ("B", "T")),
    "numbers": (_FLOAT, ("B", "M")),
    "events": (_INT32, ("B", "N")),
    "positions": (_INT64, ("B", "N")),
    "candidates": (_INT32, ("B", "A")),
    "mask": (_FLOAT, ("B", 1, 1, "V")),
    "mask_of_rows": (_FLOAT, ("Q", "V")),
    "mask_of_candidates": (_FLOAT, ("B", 1, 1, "A")),
    "first_new": (_INT64, (1,)),
    "blocks": (_INT64, ("C",)),
    "cached_shape": (_INT64, (4,)),
    "cache": (_FLOAT, ("R", "W")),
}


class _Graph:
    """A graph that is built node by node; values are named after the node that computes them."""

    def __init__(self, ranges: Ranges | None, heads: int, width: int, blocks_of_head: int) -> None:
        self._ranges = ranges
        self._blocks = heads * blocks_of_head
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._quantized: dict[str, tuple[str, str, str]] = {}
        self.keys_and_values: list[str] = []
        """for each layer, the keys and then the values of all rows that are computed"""
        self._divided = self.constant(np.array([0, 0, heads, width // heads]))
        self._whole = self.constant(np.array([0, 0, width]))
        self._scale = (width // heads) ** -0.5
        self._heads, self._width_of_head = heads, width // heads
        self._num_suits = 0

    def constant(self, values: Tensor | NDArray[Any] | float) -> str:
        array = values.detach().float().numpy() if isinstance(values, Tensor) else np.asarray(values)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        name = f"constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, operator: str, *inputs: str, output: str = "", domain: str = "", **attributes: Any) -> str:
        """Adds a node and returns the name of its output."""
        name = output or f"{operator}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, inputs, [name], domain=domain, **attributes))
        return name

    def linear(self, hidden: str, module: nn.Linear) -> str:
        """Adds a linear layer, in int8 if ranges are known."""
        return self.product(hidden, module.weight.detach().float(), module.bias, module)

    def product(self, hidden: str, weight_JK: Tensor, bias_J: Tensor | None, module: nn.Linear) -> str:
        """Adds the product with a matrix that is part of a layer or derived from it."""
        bias = [] if bias_J is None else [self.constant(bias_J)]
        if self._ranges is None:
            product = self.node("MatMul", hidden, self.constant(weight_JK.T))
            return self.node("Add", product, *bias) if bias else product
        quantized, scale, zero = self._quantize(hidden, self._ranges[module])
        scale_J = (weight_JK.abs().amax(dim=1) / _LARGEST).clamp(min=1e-12)
        weight = self.constant((weight_JK.T / scale_J).round().to(torch.int8).numpy())
        scales = scale, self.constant(scale_J), zero
        return self.node("MatMulIntegerToFloat", quantized, weight, *scales, "", *bias, domain=_MICROSOFT)

    def _quantize(self, hidden: str, bounds: tuple[float, float]) -> tuple[str, str, str]:
        if hidden not in self._quantized:
            low, high = min(bounds[0], 0.0), max(bounds[1], 0.0)
            scale = max(high - low, 1e-6) / 255
            names = self.constant(scale), self.constant(np.array(round(-low / scale), np.uint8))
            self._quantized[hidden] = (self.node("QuantizeLinear", hidden, *names), *names)
        return self._quantized[hidden]

    def norm(self, hidden: str, module: nn.LayerNorm) -> str:
        scale, bias = self.constant(module.weight), self.constant(module.bias)
        return self.node("LayerNormalization", hidden, scale, bias, axis=-1, epsilon=module.eps)

    def attend(self, query: str, key: str, value: str, mask: str, *past: str) -> str:
        """Adds multi-head attention from basic operators: `MultiHeadAttention` is slower for such short rows. `past`:
        cached keys and values [B, H, E, W], which precede the others."""
        query, key, value = (
            self.node("Transpose", self.node("Reshape", each, self._divided), perm=[0, 2, 1, 3])
            for each in (query, key, value)
        )
        if past:
            key, value = (self.node("Concat", *pair, axis=2) for pair in zip(past, (key, value), strict=True))
        score = self.node("FusedMatMul", query, key, domain=_MICROSOFT, transB=1, alpha=self._scale)
        weight = self.node("Softmax", self.node("Add", score, mask), axis=-1)
        mixed = self.node("Transpose", self.node("MatMul", weight, value), perm=[0, 2, 1, 3])
        return self.node("Reshape", mixed, self._whole)

    def attend_with_events(self, query: str, key: str, value: str, mask: str) -> str:
        """Adds attention to cached events and to the rows of the batch, whose keys and values may be cached later."""
        past = []
        for each in (key, value):
            first = self.constant(np.array(len(self.keys_and_values) * self._blocks))
            read = self.node("Gather", "cache", self.node("Add", "blocks", first))
            past.append(self.node("Reshape", read, "cached_shape"))
            self.keys_and_values.append(each)
        return self.attend(query, key, value, mask, *past)

    def new_keys_and_values(self) -> str:
        """Adds the keys and values of new events in all layers, [B, N, 2 L D]."""
        last, axis = self.constant(np.array([np.iinfo(np.int64).max])), self.constant(np.array([1]))
        new = [self.node("Slice", each, "first_new", last, axis) for each in self.keys_and_values]
        return self.node("Concat", *new, output="new_keys_and_values", axis=2)

    def feedforward(self, hidden: str, part: FeedForward) -> str:
        # tanh is faster and differs by at most 0.0005 from the exact function: far less than the next uint8 rounding
        kind = "none" if self._ranges is None else "tanh"
        expanded = self.node("Gelu", self.linear(self.norm(hidden, part.norm), part.expansion), approximate=kind)
        return self.node("Add", hidden, self.linear(expanded, part.projection))

    def self_attention(self, hidden: str, part: SelfAttention, mask: str, gate: str, *, is_situation: bool) -> str:
        """Adds attention of rows to each other. `gate`: gate of these rows."""
        normed, layer = self.norm(hidden, part.norm), part.query_key_value
        query_JK, key_JK, value_JK = layer.weight.detach().float().chunk(3)
        query = self.with_suits(normed, query_JK, layer, gate, part.suit_factor)
        key, value = self.with_suits(normed, key_JK, layer, gate), self.product(normed, value_JK, None, layer)
        attend = self.attend_with_events if is_situation else self.attend
        return self.node("Add", hidden, self.linear(attend(query, key, value, mask), part.projection))

    def cross_attention(self, hidden: str, encoded: str, part: CrossAttention, gate: str, gate_of_rows: str) -> str:
        normed, layer = self.norm(hidden, part.norm), part.key_value
        key_JK, value_JK = layer.weight.detach().float().chunk(2)
        query = self.with_suits(normed, part.query.weight.detach().float(), part.query, gate, part.suit_factor)
        key, value = self.with_suits(encoded, key_JK, layer, gate_of_rows), self.product(encoded, value_JK, None, layer)
        mixed = self.attend_with_events(query, key, value, "mask")
        return self.node("Add", hidden, self.linear(mixed, part.projection))

    def with_suits(
        self, hidden: str, weight_JK: Tensor, layer: nn.Linear, gate: str, factor: nn.Linear | None = None
    ) -> str:
        """Adds a product into which suits are written as in `relative_suits.write_suits`; `factor`: for queries."""
        weight_HWK = weight_JK.clone().view(self._heads, self._width_of_head, -1)
        bias_HW = weight_JK.new_zeros(self._heads, self._width_of_head)
        of_suits = np.s_[:, : self._num_suits]
        weight_HWK[of_suits] = 0 if factor is None else FACTOR * factor.weight.detach().float()[:, None]
        bias_HW[of_suits] = 1 if factor is None else FACTOR * factor.bias.detach().float()[:, None]
        product = self.product(hidden, weight_HWK.view_as(weight_JK), bias_HW.view(-1), layer)
        return self.node("Mul", product, gate)

    def gate(self, suit: str) -> str:
        """Adds the factors of vectors [..., D]: suits in the first numbers of each head, ones elsewhere."""
        gate_CHW = np.ones((self._num_suits + 1, self._heads, self._width_of_head), np.float32)
        gate_CHW[:, :, : self._num_suits] = np.eye(self._num_suits + 1, self._num_suits)[:, None]
        return self.node("Gather", self.constant(gate_CHW.reshape(len(gate_CHW), -1)), suit)

    def suit(self, suits: RelativeSuits, tokens: str) -> str:
        """Adds the suits of tokens; `num_suits` means no suit."""
        self._num_suits = suits.num_suits
        return self.node("Gather", self.constant((suits.suit_N % (suits.num_suits + 1)).numpy()), tokens)

    def suit_of_rows(self, suits: RelativeSuits) -> str:
        """Adds the suits of all rows, [B, Q]; the tokens of the table and the seats have no suit."""
        one, two = self.constant(np.array([1])), self.constant(np.array([2]))
        summary = self.node("ReduceMax", self.suit(suits, "table"), one, keepdims=1)
        seat = self.node("ReduceMax", self.suit(suits, "standing"), two, keepdims=0)
        return self.node("Concat", summary, seat, self.suit(suits, "tiles"), self.suit(suits, "events"), axis=1)

    def embed(self, encoder: Encoder) -> str:
        """Adds `Encoder._embed`: rows [B, Q, D] of own tokens and new events."""
        table = self.constant(_rows(encoder.token_embedding, encoder.suits))
        one, two = self.constant(np.array([1])), self.constant(np.array([2]))
        number = self.node("Mul", "numbers", self.constant(encoder.scale_N))
        column = self.node("Unsqueeze", number, two)
        angle = self.node("Mul", column, self.constant(encoder.frequency_F))
        features = self.node("Concat", column, self.node("Sin", angle), self.node("Cos", angle), axis=2)
        weight = self.constant(encoder.number_weight)
        values = self.node("Einsum", features, weight, equation="bnf,nfd->bnd")
        zero, sticks = self.constant(np.array([0])), self.constant(np.array([encoder.num_sticks]))
        every = self.constant(np.array([len(encoder.scale_N)]))
        stick = self.node("ReduceSum", self.node("Slice", values, zero, sticks, one), one, keepdims=1)
        score = self.node("Slice", values, sticks, every, one)
        place_PD = encoder.place_embedding.weight
        summary = self.node("ReduceSum", self.node("Gather", table, "table"), one, keepdims=1)
        summary = self.node("Add", self.node("Add", summary, stick), self.constant(place_PD[:1]))
        num_summed = len(TABLE) + encoder.num_sticks + 1
        summary = self.node("Div", summary, self.constant(num_summed**0.5))
        seat = self.node("ReduceSum", self.node("Gather", table, "standing"), two, keepdims=0)
        seat = self.node("Add", self.node("Add", seat, score), self.constant(place_PD[1:]))
        seat = self.node("Mul", seat, self.constant(0.5))
        position = self.node("Gather", self.constant(encoder.position_embedding.weight), "positions")
        event = self.node("Add", self.node("Gather", table, "events"), position)
        return self.node("Concat", summary, seat, self.node("Gather", table, "tiles"), event, axis=1)

    def head(self, hidden: str, module: nn.Linear, output: str) -> str:
        """Adds a head in fp32, because close outputs must not become equal."""
        product = self.node("MatMul", hidden, self.constant(module.weight.detach().float().T))
        return self.node("Add", product, self.constant(module.bias), output=output)

    def model(self, outputs: list[str]) -> bytes:
        """Returns the graph as the content of a file."""
        graph = helper.make_graph(
            self._nodes,
            "int8",
            [helper.make_tensor_value_info(name, *kind) for name, kind in _INPUTS.items()],
            [helper.make_tensor_value_info(name, _FLOAT, None) for name in outputs],
            self._constants,
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION).SerializeToString()


def num_heads(network: Network) -> int:
    """Returns the number of heads of a network's attention."""
    block = network.encoder.blocks[0]
    assert isinstance(block, EncoderBlock)
    return block.attention.heads


def _rows(embedding: nn.Embedding, suits: RelativeSuits) -> Tensor:
    """Returns the vector of each token."""
    return embedding.weight.detach()[suits.shared_N.long()]


def build_graph(network: Network, ranges: Ranges | None, blocks_of_head: int) -> bytes:
    """Returns an ONNX model with the heads' outputs `scores` [B, A, K] and, if there is such a head, `summary`
    [B, 1, K], and with `new_keys_and_values` [B, N, 2 L D] of new events, for layers of the encoder, then the decoder.

    Args:
        ranges: ranges of the inputs of all linear layers; None builds a graph with fp32 matrices.
        blocks_of_head: number of blocks into which the cached keys of a head are divided. The cache is a list of
            blocks, by slot, layer, keys and values, head.
    """
    encoder, decoder = network.encoder, network.decoder
    graph = _Graph(ranges, num_heads(network), encoder.token_embedding.embedding_dim, blocks_of_head)
    hidden, mask = graph.embed(encoder), graph.node("Add", "mask", "mask_of_rows")
    gate_of_rows = graph.gate(graph.suit_of_rows(encoder.suits))
    gate = graph.gate(graph.suit(decoder.candidate_suits, "candidates"))
    for block in encoder.blocks:
        assert isinstance(block, EncoderBlock)
        hidden = graph.self_attention(hidden, block.attention, mask, gate_of_rows, is_situation=True)
        hidden = graph.feedforward(hidden, block.feedforward)
    encoded = graph.norm(hidden, encoder.norm)
    summary = graph.node("Slice", encoded, *(graph.constant(np.array([n])) for n in (0, 1, 1)))
    from_summary = graph.linear(summary, decoder.from_summary)
    embedding = graph.constant(_rows(decoder.candidate_embedding, decoder.candidate_suits))
    hidden = graph.node("Add", graph.node("Gather", embedding, "candidates"), from_summary)
    for block in decoder.blocks:
        assert isinstance(block, DecoderBlock)
        hidden = graph.self_attention(hidden, block.self_attention, "mask_of_candidates", gate, is_situation=False)
        hidden = graph.cross_attention(hidden, encoded, block.cross_attention, gate, gate_of_rows)
        hidden = graph.feedforward(hidden, block.feedforward)
    outputs = [graph.head(graph.norm(hidden, decoder.norm), network.head, "scores")]
    if network.summary_head is not None:
        outputs.append(graph.head(summary, network.summary_head, "summary"))
    return graph.model([*outputs, graph.new_keys_and_values()])
