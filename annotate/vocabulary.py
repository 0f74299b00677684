"""The integers of the annotation specification, as tables.

A field of an annotation (sparse, progression, actions, hidden) concatenates the tokens of its blocks
(`annotate.blocks`): the block `discard` of the progression is seat x tile x tsumogiri x riichi.

A vocabulary is passed as a value, never assumed. Shards and weights name their vocabulary, an annotation line is
recognised by the length of its numeric field, and `VOCABULARIES` lists all vocabularies.
"""

import hashlib
import json
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, permutations

from annotate.blocks import Axis, Factor, Field

NUM_SUITS = 3
TILES_PER_SUIT = 10  # 0 (red five), 1 ... 9
RANKS_PER_SUIT = 9  # without the red five
FIRST_HONOUR = NUM_SUITS * RANKS_PER_SUIT  # kind of the east wind, of NUM_TILES34
NUM_HONOURS = 7
NUM_TILES = NUM_SUITS * TILES_PER_SUIT + NUM_HONOURS  # 0m 1m ... 9m 0p ... 9s 1z ... 7z
NUM_TILES34 = FIRST_HONOUR + NUM_HONOURS
CHIS_PER_SUIT = 30


TABLE = ("room", "style", "seat", "wind", "round", "left")
"""sparse blocks with exactly one token in every observation"""
NUM_GRADES = 16  # the first values of `grade_or_rank`; ranks follow
Meaning = tuple[str, str, tuple[tuple[str, int | str], ...]]
"""meaning of a token: its field, its block, and the name and meaning of each factor"""


@dataclass(frozen=True)
class Vocabulary:
    """The meaning of the integers in annotations. The reader and the writer must use the same vocabulary."""

    name: str
    num_seats: int
    relative_seats: tuple[str, ...]
    """words for the other seats, in turn order"""
    sparse: Field
    progression: Field
    action: Field
    hidden: Field
    """the optional field with the tiles that only a player with perfect information would see"""
    num_round_results: int
    max_progression: int
    """length of the longest possible progression, for position embeddings"""
    kinds: tuple[int, ...]
    """the kinds of tiles, 0 ... 33, in a wall, which has four tiles of each"""
    num_rinshan: int
    """number of tiles that can be drawn after kans and Norths set aside"""
    suit_orders: tuple[tuple[int, ...], ...]
    """suit permutations that preserve the rules: `suit_orders[p][suit]` is the suit that `suit` becomes; the first is
    the identity"""

    def __reduce__(self) -> tuple[Callable[[str], "Vocabulary"], tuple[str]]:
        """Pickles only the name, so that each process uses its own instance of the vocabulary."""
        assert VOCABULARIES.get(self.name) is self, f"{self.name} is not one of VOCABULARIES"
        return vocabulary_named, (self.name,)

    @property
    def num_live(self) -> int:
        """Number of tiles that can be drawn in a round."""
        return self.sparse["left"].size

    @property
    def num_tile_ids(self) -> int:
        """Number of physical tiles in a wall."""
        return 4 * len(self.kinds)

    @cached_property
    def numeric(self) -> tuple[str, ...]:
        """Names of the elements of the numeric field."""
        return ("honba", "deposits", *(f"score_{seat}" for seat in range(self.num_seats)))

    @cached_property
    def results(self) -> tuple[str, ...]:
        """Names of the elements of the results."""
        deltas = (f"round_delta_{seat}" for seat in range(self.num_seats))
        ranks = (f"rank_{seat}" for seat in range(self.num_seats))
        return ("round_result", *deltas, *ranks, "rank", "score", "grading_delta")

    @cached_property
    def place_of_sparse(self) -> tuple[int, ...]:
        """The place that each sparse token fills, or -1. Each observation has one token for each place. Places are
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

    @property
    def seat_meanings(self) -> tuple[str, ...]:
        """The meaning of each seat: its place counted from the actor."""
        return ("the actor", *self.relative_seats)

    def meaning(self, field: Field, token: int) -> Meaning:
        """Returns the meaning of a token of `field`, in terms that all vocabularies share: tokens of two vocabularies
        mean the same if their meanings are equal. Seats are counted from the actor, except in its own seat's token."""
        block, seats = field.block_of(token), self.seat_meanings
        values = field.describe(token)[1]
        terms: dict[str, int | str] = {**values}
        for factor in block.factors:
            if factor.axis is Axis.SEAT and block.name != "seat":
                terms[factor.name] = seats[values[factor.name]]
            elif factor.axis is Axis.RELATIVE_SEAT and "seat" in values:
                terms[factor.name] = seats[(values["seat"] + 1 + values[factor.name]) % self.num_seats]
            elif factor.axis is Axis.RELATIVE_SEAT:
                terms[factor.name] = self.relative_seats[values[factor.name]]
        if block.name == "left":
            terms = {"left": self.num_live - 1 - values["drawn"]}
        return field.name, block.name, tuple(terms.items())

    def named_results(self, results: Sequence[int]) -> dict[str, int]:
        """Returns the results of an annotation by name."""
        return dict(zip(self.results, results, strict=True))

    @cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change with the meaning of any token. The hidden field is excluded, as ordinary
        networks never get it as input."""
        layout = {
            field.name: [(b.name, b.first, [tuple(f) for f in b.factors]) for b in field.blocks.values()]
            for field in (self.sparse, self.progression, self.action)
        }
        content = [self.name, self.num_seats, layout, self.numeric, self.results, self.num_round_results]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _other(name: str, size: int) -> Factor:
    return Factor(Axis.OTHER, size, name)


_TILE = Factor(Axis.TILE, NUM_TILES, "tile")
_TILE34 = Factor(Axis.TILE34, NUM_TILES34, "tile34")
_CHI = Factor(Axis.CHI, NUM_SUITS * CHIS_PER_SUIT, "chi")
_SLOT = Factor(Axis.HAND_SLOT, 136, "slot")
_TSUMOGIRI = _other("tsumogiri", 2)
_RIICHI = _other("riichi", 2)
_ABSENT = {4: ("kita",), 3: ("unused", "chi")}
"""blocks that games with a number of seats do not have"""


def _fields(num_seats: int, num_live: int) -> dict[str, Field]:
    seat, other = Factor(Axis.SEAT, num_seats, "seat"), Factor(Axis.RELATIVE_SEAT, num_seats - 1, "relative_seat")
    blocks: dict[str, list[tuple[str, tuple[Factor, ...]]]] = {
        "sparse": [
            ("room", (_other("room", 5),)),
            ("style", (_other("style", 2),)),  # 0 East only, 1 East and South
            ("seat", (seat,)),
            ("wind", (_other("wind", 3),)),
            ("round", (seat._replace(name="dealer"),)),  # the number of the round is the dealer's seat
            ("dora", (_other("position", 5), _TILE)),
            ("left", (_other("drawn", num_live),)),  # num_live - 1 - the number of tiles left
            ("standing", (seat, _other("grade_or_rank", NUM_GRADES + num_seats))),  # grades, then ranks
            ("hand", (_SLOT,)),
            ("drawn", (_TILE,)),
        ],
        "progression": [
            ("begin", ()),
            ("unused", (_other("unused", 4),)),
            ("discard", (seat, _TILE, _TSUMOGIRI, _RIICHI)),
            ("chi", (seat, _CHI)),
            ("pon", (seat, other, _TILE)),
            ("daiminkan", (seat, other, _TILE)),  # da ming gang
            ("ankan", (seat, _TILE34)),  # an gang
            ("kakan", (seat, _TILE)),  # jia gang
            ("kita", (seat,)),  # a North set aside
        ],
        "action": [
            ("discard", (_TILE, _TSUMOGIRI, _RIICHI)),
            ("ankan", (_TILE34,)),
            ("kakan", (_TILE,)),
            ("kita", ()),
            ("tsumo", ()),
            ("kyushu", ()),  # nine different terminals and honours: abort the round
            ("skip", ()),
            ("chi", (_CHI,)),
            ("pon", (other, _TILE)),
            ("daiminkan", (other, _TILE)),
            ("ron", (other,)),
        ],
        "hidden": [("hand", (other, _SLOT)), ("wall", (_TILE,))],  # the wall: live tiles, in drawing order
    }
    absent = _ABSENT[num_seats]
    return {name: Field(name, [block for block in listed if block[0] not in absent]) for name, listed in blocks.items()}


FOUR_PLAYERS = Vocabulary(
    name="kanachan-4p",
    num_seats=4,
    relative_seats=("the right", "across", "the left"),
    **_fields(4, num_live=70),
    num_round_results=19,
    # There are at most 70 draws, 16 chi and pon, and 4 kans. Each draw, chi or pon is followed by one discard:
    # 1 + 86 + 16 + 4 events.
    max_progression=112,
    kinds=tuple(range(NUM_TILES34)),
    num_rinshan=4,
    suit_orders=tuple(permutations(range(NUM_SUITS))),
)
THREE_PLAYERS = Vocabulary(
    name="kanachan-3p",
    num_seats=3,
    relative_seats=("the right", "the left"),
    **_fields(3, num_live=55),
    num_round_results=12,
    # Each of at most 55 draws leads to a discard, a kan or a North. Each of at most 12 calls (pon, daiminkan) adds
    # itself and a discard: 1 + 55 + 24 events.
    max_progression=80,
    kinds=(0, *range(RANKS_PER_SUIT - 1, NUM_TILES34)),  # 2m ... 8m are not used
    num_rinshan=8,
    suit_orders=((0, 1, 2), (0, 2, 1)),
)

VOCABULARIES: Mapping[str, Vocabulary] = {vocabulary.name: vocabulary for vocabulary in (FOUR_PLAYERS, THREE_PLAYERS)}
NUMS_OF_SEATS = tuple(sorted({vocabulary.num_seats for vocabulary in VOCABULARIES.values()}))
"""possible numbers of seats, for commands that have not read the data or the weights yet"""


def vocabulary_named(name: str) -> Vocabulary:
    """Returns the vocabulary of that name. Raises ValueError, which lists the existing names, if there is none."""
    if name not in VOCABULARIES:
        raise ValueError(f"there is no vocabulary {name!r}; this program has {', '.join(VOCABULARIES)}")
    return VOCABULARIES[name]


def vocabulary_of_seats(num_seats: int) -> Vocabulary:
    """Returns the vocabulary of games with `num_seats` seats."""
    return next(vocabulary for vocabulary in VOCABULARIES.values() if vocabulary.num_seats == num_seats)


def vocabulary_with(name: object, fingerprint: object) -> Vocabulary | None:
    """Returns the vocabulary with the name and fingerprint in a file; None if there is none."""
    vocabulary = VOCABULARIES.get(str(name))
    return vocabulary if vocabulary is not None and vocabulary.fingerprint == fingerprint else None


def known_vocabularies() -> str:
    """Returns the names and fingerprints of all vocabularies, for messages."""
    return ", ".join(f"{vocabulary.name} {vocabulary.fingerprint}" for vocabulary in VOCABULARIES.values())


def is_red(tile: int) -> bool:
    return tile < NUM_SUITS * TILES_PER_SUIT and tile % TILES_PER_SUIT == 0


def tile34_of(tile: int) -> int:
    """Converts a tile 0 ... 36 to 0 ... 33: a red five becomes an ordinary one."""
    if tile >= NUM_SUITS * TILES_PER_SUIT:
        return tile - NUM_SUITS
    suit, number = divmod(tile, TILES_PER_SUIT)
    return suit * RANKS_PER_SUIT + (number or 5) - 1


def tile_of(tile34: int) -> int:
    """Converts a tile 0 ... 33 to a tile 0 ... 36, never a red five."""
    if tile34 >= NUM_SUITS * RANKS_PER_SUIT:
        return tile34 + NUM_SUITS
    suit, number = divmod(tile34, RANKS_PER_SUIT)
    return suit * TILES_PER_SUIT + number + 1


def _num_copies(tile: int) -> int:
    if is_red(tile):
        return 1
    return 3 if is_red(tile - 5) else 4


HAND_SLOT_FIRST = tuple(accumulate((_num_copies(t) for t in range(NUM_TILES)), initial=0))
"""slot of each tile's first copy; [NUM_TILES] is the number of slots"""


def tile_of_slot(slot: int) -> int:
    """Returns the tile, 0 ... 36, of a slot of the hand."""
    return bisect_right(HAND_SLOT_FIRST, slot) - 1


# the chi of one suit (two tiles of the hand, the called tile), in the specification's order
_CHI_SHAPES = (
    "231 132 342 123 243 453 403 234 354 304 564 064 345 340 465 460 "
    "675 670 456 406 576 076 786 567 067 687 897 678 798 789"
).split()
CHI_TILES = tuple(
    tuple(suit * TILES_PER_SUIT + int(digit) for digit in shape) for suit in range(NUM_SUITS) for shape in _CHI_SHAPES
)
"""(hand tile, hand tile, called tile) of each chi 0 ... 89"""
CHI_OF_TILES = {(frozenset(tiles[:2]), tiles[2]): chi for chi, tiles in enumerate(CHI_TILES)}
"""the inverse of CHI_TILES, for either order of the hand's two tiles"""

TILE_NAMES = tuple(
    [f"{number}{suit}" for suit in "mps" for number in range(TILES_PER_SUIT)] + [f"{n}z" for n in range(1, 8)]
)
