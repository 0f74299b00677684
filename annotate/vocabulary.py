"""The integers of the annotation specification, as tables.

The tokens of a field of an annotation (sparse, progression, actions, hidden) are those of its blocks, concatenated. A
block is the product of its axes, the last one running fastest: `discard` of the progression is seat x tile x tsumogiri
x riichi. Sizes are stated once, every offset is a sum, and the meaning of a token (`Field.describe`), its image when
suits or seats are permuted (`kanachan.data.symmetry`) and its description for people all follow from the axes.

A vocabulary is a value that is passed, never assumed: shards and weights name theirs, an annotation line is recognised
by how many numbers it has, and `VOCABULARIES` lists them all.
"""

import hashlib
import json
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import accumulate, permutations
from operator import mul
from typing import NamedTuple

NUM_SUITS = 3
TILES_PER_SUIT = 10  # 0 (red five), 1 ... 9
RANKS_PER_SUIT = 9  # without the red five
NUM_HONOURS = 7
NUM_TILES = NUM_SUITS * TILES_PER_SUIT + NUM_HONOURS  # 0m 1m ... 9m 0p ... 9s 1z ... 7z
NUM_TILES34 = NUM_SUITS * RANKS_PER_SUIT + NUM_HONOURS
CHIS_PER_SUIT = 30


class Axis(StrEnum):
    """What a factor of a token counts. Symmetries act on all axes but OTHER."""

    SEAT = "seat"  # absolute: 0 is the first dealer of the game
    RELATIVE_SEAT = "relative_seat"  # 0 right, 1 across, 2 left
    TILE = "tile"  # 0 ... 36
    TILE34 = "tile34"  # 0 ... 33, red fives and ordinary ones alike
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
        size = 1
        for factor in self.factors:
            size *= factor.size
        return size

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """What one step along each factor adds to a token."""
        sizes = accumulate((factor.size for factor in reversed(self.factors)), mul, initial=1)
        return tuple(sizes)[-2::-1]

    def token(self, *indices: int) -> int:
        """Returns the token at `indices`, one for each factor."""
        assert len(indices) == len(self.factors), (self.name, indices)
        offset = 0
        for index, factor in zip(indices, self.factors, strict=True):
            assert 0 <= index < factor.size, (self.name, factor.name, index)
            offset = offset * factor.size + index
        return self.first + offset

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
        """Returns the block's name and the value of each factor by its name."""
        block = self.block_of(token)
        return block.name, {f.name: i for f, i in zip(block.factors, block.indices(token), strict=True)}


TABLE = ("room", "style", "seat", "wind", "round", "left")
"""sparse blocks of which every observation has exactly one token each"""
NUM_GRADES = 16  # the first values of `grade_or_rank`; ranks follow


@dataclass(frozen=True)
class Vocabulary:
    """The meaning of the integers of annotations, on which their reader and writer must agree."""

    name: str
    num_seats: int
    sparse: Field
    progression: Field
    action: Field
    hidden: Field
    """the optional field: what only a player with perfect information would see"""
    numeric: tuple[str, ...]
    results: tuple[str, ...]
    num_round_results: int
    max_progression: int
    """length of the longest possible progression, for position embeddings"""
    num_tile_ids: int
    """physical tiles of a wall"""
    suit_orders: tuple[tuple[int, ...], ...]
    """suit permutations that preserve the rules: `suit_orders[p][suit]` is the suit that `suit` becomes; the first is
    the identity"""

    def __reduce__(self) -> tuple[Callable[[str], "Vocabulary"], tuple[str]]:
        """Pickles the name alone, so that each process uses its one vocabulary of that name."""
        assert VOCABULARIES.get(self.name) is self, f"{self.name} is not one of VOCABULARIES"
        return vocabulary_named, (self.name,)

    @property
    def num_live(self) -> int:
        """Tiles that can be drawn in a round."""
        return self.sparse["left"].size

    @property
    def has_chi(self) -> bool:
        return "chi" in self.action.blocks

    @cached_property
    def place_of_sparse(self) -> tuple[int, ...]:
        """By sparse token, the place that it fills, or -1. Each observation has one token for each place; places are
        numbered in ascending order of the tokens: the blocks of `TABLE`, then grade and rank of each seat."""
        places = [-1] * self.sparse.size
        for place, name in enumerate(TABLE):
            block = self.sparse[name]
            places[block.first : block.first + block.size] = [place] * block.size
        standing = self.sparse["standing"]
        for token in range(standing.first, standing.first + standing.size):
            seat, grade_or_rank = standing.indices(token)
            places[token] = len(TABLE) + 2 * seat + (grade_or_rank >= NUM_GRADES)
        return tuple(places)

    @property
    def num_places(self) -> int:
        """The number of places of `place_of_sparse`."""
        return len(TABLE) + 2 * self.num_seats

    @cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change when any token changes its meaning; the hidden field, which is never an
        input, is excluded."""
        layout = {
            field.name: [(b.name, b.first, [tuple(f) for f in b.factors]) for b in field.blocks.values()]
            for field in (self.sparse, self.progression, self.action)
        }
        content = [self.name, self.num_seats, layout, self.numeric, self.results, self.num_round_results]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _other(name: str, size: int) -> Factor:
    return Factor(Axis.OTHER, size, name)


_SEAT = Factor(Axis.SEAT, 4, "seat")
_RELATIVE_SEAT = Factor(Axis.RELATIVE_SEAT, 3, "relative_seat")
_TILE = Factor(Axis.TILE, NUM_TILES, "tile")
_TILE34 = Factor(Axis.TILE34, NUM_TILES34, "tile34")
_CHI = Factor(Axis.CHI, NUM_SUITS * CHIS_PER_SUIT, "chi")
_TSUMOGIRI = _other("tsumogiri", 2)
_RIICHI = _other("riichi", 2)

FOUR_PLAYERS = Vocabulary(
    name="kanachan-4p",
    num_seats=4,
    sparse=Field(
        "sparse",
        [
            ("room", (_other("room", 5),)),
            ("style", (_other("style", 2),)),  # 0 East only, 1 East and South
            ("seat", (_SEAT,)),
            ("wind", (_other("wind", 3),)),
            ("round", (Factor(Axis.SEAT, 4, "dealer"),)),  # the number of the round is the dealer's seat
            ("dora", (_other("position", 5), _TILE)),
            ("left", (_other("drawn", 70),)),  # 69 - the number of left tiles
            ("standing", (_SEAT, _other("grade_or_rank", 20))),  # 16 grades, then 4 ranks
            ("hand", (Factor(Axis.HAND_SLOT, 136, "slot"),)),
            ("drawn", (_TILE,)),
        ],
    ),
    progression=Field(
        "progression",
        [
            ("begin", ()),
            ("unused", (_other("unused", 4),)),
            ("discard", (_SEAT, _TILE, _TSUMOGIRI, _RIICHI)),
            ("chi", (_SEAT, _CHI)),
            ("pon", (_SEAT, _RELATIVE_SEAT, _TILE)),
            ("daiminkan", (_SEAT, _RELATIVE_SEAT, _TILE)),  # da ming gang
            ("ankan", (_SEAT, _TILE34)),  # an gang
            ("kakan", (_SEAT, _TILE)),  # jia gang
        ],
    ),
    action=Field(
        "action",
        [
            ("discard", (_TILE, _TSUMOGIRI, _RIICHI)),
            ("ankan", (_TILE34,)),
            ("kakan", (_TILE,)),
            ("tsumo", ()),
            ("kyushu", ()),  # nine different terminals and honours: abort the round
            ("skip", ()),
            ("chi", (_CHI,)),
            ("pon", (_RELATIVE_SEAT, _TILE)),
            ("daiminkan", (_RELATIVE_SEAT, _TILE)),
            ("ron", (_RELATIVE_SEAT,)),
        ],
    ),
    hidden=Field(
        "hidden",
        [
            ("hand", (_RELATIVE_SEAT, Factor(Axis.HAND_SLOT, 136, "slot"))),
            ("wall", (_TILE,)),  # live, in drawing order
        ],
    ),
    numeric=("honba", "deposits", "score_0", "score_1", "score_2", "score_3"),
    results=(
        "round_result",
        *(f"round_delta_{s}" for s in range(4)),
        *(f"rank_{s}" for s in range(4)),
        "rank",
        "score",
        "grading_delta",
    ),
    num_round_results=19,
    # At most 70 tiles are drawn; a discard follows a draw or one of at most 16 chi and pon, and there are at most
    # 4 kans: 1 + 86 + 16 + 4 events.
    max_progression=112,
    num_tile_ids=136,
    suit_orders=tuple(permutations(range(NUM_SUITS))),
)

VOCABULARIES: Mapping[str, Vocabulary] = {vocabulary.name: vocabulary for vocabulary in (FOUR_PLAYERS,)}
"""all vocabularies by name"""
NUMS_OF_SEATS = tuple(sorted({vocabulary.num_seats for vocabulary in VOCABULARIES.values()}))
"""numbers of seats that a command can expect before it has read the data or the weights"""


def vocabulary_named(name: str) -> Vocabulary:
    """Returns the vocabulary of that name.

    Raises:
        ValueError: there is none; the message lists those that exist.
    """
    if name not in VOCABULARIES:
        raise ValueError(f"there is no vocabulary {name!r}; this program has {', '.join(VOCABULARIES)}")
    return VOCABULARIES[name]


def vocabulary_with(name: object, fingerprint: object) -> Vocabulary | None:
    """Returns the vocabulary that a file names, None if there is none of that name and fingerprint."""
    vocabulary = VOCABULARIES.get(str(name))
    return vocabulary if vocabulary is not None and vocabulary.fingerprint == fingerprint else None


def known_vocabularies() -> str:
    """Returns all names and fingerprints, for messages."""
    return ", ".join(f"{vocabulary.name} {vocabulary.fingerprint}" for vocabulary in VOCABULARIES.values())


# Tiles, in the specification's numbering -----------------------------------------------------------------------------


def is_red(tile: int) -> bool:
    return tile < NUM_SUITS * TILES_PER_SUIT and tile % TILES_PER_SUIT == 0


def tile34_of(tile: int) -> int:
    """Converts a tile 0 ... 36 to 0 ... 33: a red five becomes an ordinary one."""
    if tile >= NUM_SUITS * TILES_PER_SUIT:
        return tile - NUM_SUITS
    suit, number = divmod(tile, TILES_PER_SUIT)
    return suit * RANKS_PER_SUIT + (number or 5) - 1


def tile_of(tile34: int) -> int:
    """Converts a tile 0 ... 33 to the ordinary one of 0 ... 36."""
    if tile34 >= NUM_SUITS * RANKS_PER_SUIT:
        return tile34 + NUM_SUITS
    suit, number = divmod(tile34, RANKS_PER_SUIT)
    return suit * TILES_PER_SUIT + number + 1


def _num_copies(tile: int) -> int:
    if is_red(tile):
        return 1
    return 3 if is_red(tile - 5) else 4


HAND_SLOT_FIRST = tuple(accumulate((_num_copies(t) for t in range(NUM_TILES)), initial=0))
"""slot of a tile's first copy; [NUM_TILES] is the number of slots"""


def tile_of_slot(slot: int) -> int:
    """Returns the tile, 0 ... 36, of a slot of the hand."""
    return bisect_right(HAND_SLOT_FIRST, slot) - 1


# (two tiles of the hand, the tile called) of one suit, in the specification's order
_CHI_SHAPES = (
    "231 132 342 123 243 453 403 234 354 304 564 064 345 340 465 460 "
    "675 670 456 406 576 076 786 567 067 687 897 678 798 789"
).split()
CHI_TILES = tuple(
    tuple(suit * TILES_PER_SUIT + int(digit) for digit in shape) for suit in range(NUM_SUITS) for shape in _CHI_SHAPES
)
"""chi 0 ... 89 to (hand tile, hand tile, called tile)"""
CHI_OF_TILES = {(frozenset(tiles[:2]), tiles[2]): chi for chi, tiles in enumerate(CHI_TILES)}
"""the inverse of CHI_TILES, whatever the order of the hand's two tiles"""

TILE_NAMES = tuple(
    [f"{number}{suit}" for suit in "mps" for number in range(TILES_PER_SUIT)] + [f"{n}z" for n in range(1, 8)]
)
