"""Starts a network with fewer encoder blocks from some of the blocks of a deeper network.

Each block adds to the output of the blocks before it. A network without some blocks is therefore worse but still works,
and training soon makes up for the loss (Fan et al. 2020, "Reducing Transformer Depth on Demand with Structured
Dropout", arXiv:1909.11556).
"""

import re
from collections.abc import Mapping

from torch import Tensor

_BLOCK = re.compile(r"blocks\.(\d+)\.")


def kept_blocks(layers: int, fewer: int) -> list[int]:
    """Returns the `fewer` encoder blocks, of 0 to `layers` - 1, with which a shallower network starts: the first, the
    last and evenly spaced blocks between them; if only one, the first."""
    assert 1 <= fewer <= layers
    if fewer == 1:
        return [0]
    return [(2 * place * (layers - 1) + fewer - 1) // (2 * (fewer - 1)) for place in range(fewer)]


def with_fewer_blocks(tensors: Mapping[str, Tensor], kept: list[int]) -> dict[str, Tensor]:
    """Returns the tensors of an encoder, by their names in it, reduced to the blocks `kept`."""
    found = {}
    for name, tensor in tensors.items():
        match = _BLOCK.match(name)
        if match is None:
            found[name] = tensor
        elif int(match[1]) in kept:
            found[f"blocks.{kept.index(int(match[1]))}.{name[match.end() :]}"] = tensor
    return found
