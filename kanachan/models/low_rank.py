"""Additions of low rank to matrices of the decoder: x W becomes x W + (x down) up, and W stays as it is.

Those matrices are adapted through which the candidates pass, and none that the situation passes. So what is encoded of
a situation, and cached of its events, is the same with and without additions.

Shapes: I inputs and O outputs of a matrix, R rank, B decisions, S slots of the cache, A candidates.
"""

import copy
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kanachan.data.batch import Batch
from kanachan.models.kv_cache import CachedNetwork, IncrementalBatch
from kanachan.models.transformer import Decoder, Network, Output

_OF_SITUATION = "key_value"
"""the matrix of the decoder that the situation passes"""


class Factors(NamedTuple):
    """The factors of an addition to one matrix, [I, R] and [R, O], or of one for each decision, [B, I, R] and [B, R, O]
    or for each slot."""

    down: Tensor
    up: Tensor


Additions = tuple[Factors, ...]
"""of all adapted matrices of a network, in their order"""


class LowRankLinear(nn.Module):
    """A linear layer with an addition, if there is one."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.linear = linear
        self.factors: Factors | None = None

    def forward(self, input_BAI: Tensor) -> Tensor:
        output_BAO: Tensor = self.linear(input_BAI)
        if self.factors is None:
            return output_BAO
        return output_BAO + input_BAI @ self.factors.down @ self.factors.up


class LowRankNetwork(Network):
    """A network whose decoder has additions; it shares all parameters with `network`."""

    def __init__(self, network: Network) -> None:
        nn.Module.__init__(self)
        self.encoder, self.decoder = network.encoder, _with_low_rank(network.decoder)
        self.head, self.summary_head, self.prior = network.head, network.summary_head, network.prior
        self.auxiliary_head = network.auxiliary_head

    def set_additions(self, additions: Additions | None) -> None:
        layers = low_rank_layers(self.decoder)
        for layer, factors in zip(layers, additions or [None] * len(layers), strict=True):
            layer.factors = factors

    def no_additions(self, rank: int, seed: int) -> Additions:
        """Returns additions that change nothing, and from which gradient steps can start."""
        generator = torch.Generator().manual_seed(seed)
        found = []
        for layer in low_rank_layers(self.decoder):
            weight_OI = layer.linear.weight
            num_outputs, num_inputs = weight_OI.shape
            down_IR = torch.randn(num_inputs, rank, generator=generator) / num_inputs**0.5
            found.append(Factors(down_IR.to(weight_OI), weight_OI.new_zeros(rank, num_outputs)))
        return tuple(found)


class CachedLowRankNetwork(CachedNetwork):
    """A `CachedNetwork` with additions that belong to the slots of its cache. `rank`: of the additions; the others are
    as for `CachedNetwork`."""

    def __init__(self, network: Network, num_events: int, num_rows: int, *, use_bf16: bool, rank: int) -> None:
        super().__init__(LowRankNetwork(network), num_events, num_rows, use_bf16=use_bf16)
        self._low_rank = low_rank_layers(self.decoder)
        self._of_slots = [
            Factors(weight.new_zeros(1, weight.shape[1], rank), weight.new_zeros(1, rank, weight.shape[0]))
            for weight in (layer.linear.weight.detach().float() for layer in self._low_rank)
        ]
        """by matrix, [S, I, R] and [S, R, O]; zeros where there are no additions"""

    def reserve(self, num_slots: int) -> None:
        super().reserve(num_slots)
        missing = (0, 0, 0, 0, 0, num_slots - len(self._of_slots[0].down))
        self._of_slots = [Factors(*(F.pad(each, missing) for each in factors)) for factors in self._of_slots]

    @torch.inference_mode()
    def set_additions(self, slot: int, additions: Additions | None) -> None:
        for stored, factors in zip(self._of_slots, additions or [None] * len(self._of_slots), strict=True):
            stored.down[slot] = 0.0 if factors is None else factors.down
            stored.up[slot] = 0.0 if factors is None else factors.up

    def forward(self, batch: Batch) -> Output:
        assert isinstance(batch, IncrementalBatch)
        for layer, of_slots in zip(self._low_rank, self._of_slots, strict=True):
            layer.factors = Factors(*(each.index_select(0, batch.slot_B) for each in of_slots))
        return super().forward(batch)


def low_rank_layers(decoder: nn.Module) -> list[LowRankLinear]:
    return [module for module in decoder.modules() if isinstance(module, LowRankLinear)]


def _with_low_rank(decoder: Decoder) -> Decoder:
    """Returns a copy that shares all parameters, and whose adapted matrices can have additions."""
    shared = {id(tensor): tensor for tensor in (*decoder.parameters(), *decoder.buffers())}
    decoder = copy.deepcopy(decoder, shared)
    for part in list(decoder.blocks.modules()):
        for name, child in list(part.named_children()):
            if isinstance(child, nn.Linear) and name != _OF_SITUATION:
                setattr(part, name, LowRankLinear(child))
    return decoder
