"""A network with fewer encoder blocks begins with some of those of a deeper one.

Each block adds to what the blocks before it computed, so a network still works without some of them, if worse, and what
is lost is soon learned again (Fan et al. 2020, "Reducing Transformer Depth on Demand with Structured Dropout",
arXiv:1909.11556).
"""

import re
from collections.abc import Mapping

from torch import Tensor

_BLOCK = re.compile(r"blocks\.(\d+)\.")


def kept_blocks(layers: int, fewer: int) -> list[int]:
    """Returns which of the encoder blocks 0 to `layers` - 1 a network with `fewer` begins with: the first, the last and
    some at even distances between; a single one is the first."""
    assert 1 <= fewer <= layers
    if fewer == 1:
        return [0]
    return [(2 * place * (layers - 1) + fewer - 1) // (2 * (fewer - 1)) for place in range(fewer)]


def with_fewer_blocks(tensors: Mapping[str, Tensor], kept: list[int]) -> dict[str, Tensor]:
    """Returns the tensors of an encoder, by their names in it, of which only some blocks are kept."""
    found = {}
    for name, tensor in tensors.items():
        match = _BLOCK.match(name)
        if match is None:
            found[name] = tensor
        elif int(match[1]) in kept:
            found[f"blocks.{kept.index(int(match[1]))}.{name[match.end() :]}"] = tensor
    return found
