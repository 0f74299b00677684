"""Tokens as products: a field of an annotation concatenates blocks, and a block is the product of its axes, where the
last axis varies fastest. The axes determine the meaning of a token, its image under permutations of suits or seats
(`kanachan.data.symmetry`) and its description for people."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import accumulate, count, product
from math import prod
from operator import mul
from typing import NamedTuple


class Axis(StrEnum):
    """The kind of a token's factor. Symmetries act on all axes except OTHER."""

    SEAT = "seat"  # absolute: 0 is the first dealer of the game
    RELATIVE_SEAT = "relative_seat"  # 0 is the next seat, 1 the seat after it, ...
    TILE = "tile"  # 0 ... 36
    TILE34 = "tile34"  # 0 ... 33, without a distinction of red fives
    HAND_SLOT = "hand_slot"  # 0 ... 135, a tile and the number of its copy
    CHI = "chi"  # 0 ... 89
    OTHER = "other"


class Factor(NamedTuple):
    """One axis of a block: its kind, its number of values, and its name within the block."""

    axis: Axis
    size: int
    name: str


@dataclass(frozen=True)
class Block:
    """Consecutive tokens `first ... first + size - 1`, the product of `factors`."""

    name: str
    first: int
    factors: tuple[Factor, ...]

    @cached_property
    def size(self) -> int:
        return prod(factor.size for factor in self.factors)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """For each factor, the difference between the tokens of consecutive indices."""
        sizes = accumulate((factor.size for factor in reversed(self.factors)), mul, initial=1)
        return tuple(sizes)[-2::-1]

    @cached_property
    def _tokens(self) -> dict[tuple[int, ...], int]:
        """The tokens by the index of each factor."""
        return dict(zip(product(*(range(factor.size) for factor in self.factors)), count(self.first), strict=False))

    def token(self, *indices: int) -> int:
        """Returns the token at `indices`, one for each factor."""
        token = self._tokens.get(indices)
        assert token is not None, (self.name, indices)
        return token

    def indices(self, token: int) -> tuple[int, ...]:
        """Returns the index of each factor of a token; the inverse of `token`."""
        offset, indices = token - self.first, []
        for factor in reversed(self.factors):
            offset, index = divmod(offset, factor.size)
            indices.append(index)
        return tuple(reversed(indices))


class Field:
    """One field of the annotation: its blocks by name, and the block of each token."""

    def __init__(self, name: str, blocks: list[tuple[str, tuple[Factor, ...]]]) -> None:
        sizes = [Block(block, 0, factors).size for block, factors in blocks]
        firsts = accumulate(sizes, initial=0)
        self.name = name
        self.blocks = {
            block: Block(block, first, factors) for (block, factors), first in zip(blocks, firsts, strict=False)
        }
        self.size = sum(sizes)
        self._block_of_token = [block for block in self.blocks.values() for _ in range(block.size)]

    def __getitem__(self, block: str) -> Block:
        return self.blocks[block]

    def block_of(self, token: int) -> Block:
        return self._block_of_token[token]

    def describe(self, token: int) -> tuple[str, dict[str, int]]:
        """Returns the name of the token's block, and the value of each factor by the factor's name."""
        block = self.block_of(token)
        return block.name, {f.name: i for f, i in zip(block.factors, block.indices(token), strict=True)}
