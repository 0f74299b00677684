"""Complete and waiting hands, by decomposing one suit at a time. Considers only shapes, no yaku.

Kinds are tiles without red fives, 0 ... 33; a hand is its number of each kind. Sets of kinds are bit masks.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from annotate.vocabulary import NUM_SUITS, NUM_TILES34, RANKS_PER_SUIT

_FIRSTS = tuple(range(0, NUM_TILES34, RANKS_PER_SUIT))
"""the first kind of each suit, and of the honours"""
TERMINALS_AND_HONOURS = (
    *(kind for first in _FIRSTS[:NUM_SUITS] for kind in (first, first + RANKS_PER_SUIT - 1)),
    *range(_FIRSTS[NUM_SUITS], NUM_TILES34),
)
NUM_PAIRS = 7
MOST_COPIES = 4


class _Suit(NamedTuple):
    """The shape of the tiles of one suit."""

    residue: int
    """number of tiles modulo 3"""
    is_done: bool
    """whether they are sets alone, or sets and a pair"""
    waits: int
    """kinds, as bits, that complete the suit: with a pair if the residue is 1, without one if it is 2"""


def _is_sets(counts: list[int], has_runs: bool) -> bool:
    counts = counts + [0, 0]
    for rank in range(len(counts) - 2):
        num_runs = counts[rank] % 3  # three runs are three triplets
        if num_runs and not has_runs:
            return False
        counts[rank + 1] -= num_runs
        counts[rank + 2] -= num_runs
        if counts[rank + 1] < 0 or counts[rank + 2] < 0:
            return False
    return counts[-1] == counts[-2] == 0


def _is_sets_and_pair(counts: list[int], has_runs: bool) -> bool:
    return any(
        count >= 2 and _is_sets([*counts[:rank], count - 2, *counts[rank + 1 :]], has_runs)
        for rank, count in enumerate(counts)
    )


@lru_cache(maxsize=1 << 17)
def _suit(tiles: tuple[int, ...], place: int, takes_fifth: bool) -> _Suit:
    """Decomposes the suit in place 0 ... 3, the last one of honours. Waits for a fifth copy of a tile are included if
    `takes_fifth`."""
    counts, residue, has_runs = list(tiles), sum(tiles) % 3, place < NUM_SUITS
    if residue == 0:
        return _Suit(residue, _is_sets(counts, has_runs), 0)
    is_done = residue == 2 and _is_sets_and_pair(counts, has_runs)
    becomes_done = _is_sets_and_pair if residue == 1 else _is_sets
    waits = 0
    for rank, count in enumerate(counts):
        if count < MOST_COPIES or takes_fifth:
            if becomes_done([*counts[:rank], count + 1, *counts[rank + 1 :]], has_runs):
                waits |= 1 << (place * RANKS_PER_SUIT + rank)
    return _Suit(residue, is_done, waits)


class Shape:
    """The concealed tiles of a hand.

    Args:
        counts: of each kind.
        takes_fifth: whether a wait for a tile of which the hand holds all four counts; rules differ.
    """

    def __init__(self, counts: Sequence[int], num_melds: int, takes_fifth: bool = False) -> None:
        self._counts = counts
        self._is_whole = num_melds == 0
        self._takes_fifth = takes_fifth
        self._suits = [_suit(tuple(counts[f : f + RANKS_PER_SUIT]), p, takes_fifth) for p, f in enumerate(_FIRSTS)]

    def is_complete(self) -> bool:
        """Returns whether 14 - 3 * num_melds tiles make a winning shape."""
        residues = 0
        for suit in self._suits:
            residues += suit.residue
            if not suit.is_done:
                break
        else:
            if residues == 2:
                return True
        counts = self._counts
        return self._is_whole and (counts.count(2) == NUM_PAIRS or _is_orphans(counts))

    def waits(self) -> int:
        """Returns the kinds that complete 13 - 3 * num_melds tiles, as bits."""
        found = _waits_of_sets(self._suits)
        return found | _pair_waits(self._counts) | orphan_waits(self._counts) if self._is_whole else found

    def discards(self) -> int:
        """Returns the kinds whose discard leaves 14 - 3 * num_melds tiles waiting, as bits."""
        found = self._discards_of_sets()
        if not self._is_whole:
            return found
        counts = self._counts
        num_pairs = len(counts) - counts.count(0) - counts.count(1)
        num_orphans = sum(counts[kind] > 0 for kind in TERMINALS_AND_HONOURS)
        if num_pairs >= NUM_PAIRS - 1 or num_orphans >= len(TERMINALS_AND_HONOURS) - 1:
            rest = list(counts)
            for kind, count in enumerate(counts):
                if count:
                    rest[kind] -= 1
                    if _pair_waits(rest) or orphan_waits(rest):
                        found |= 1 << kind
                    rest[kind] += 1
        return found

    def _discards_of_sets(self) -> int:
        # a suit that is neither done nor waiting must lose a tile, and only one suit can
        hopeless = [place for place, suit in enumerate(self._suits) if not suit.is_done and not suit.waits]
        if len(hopeless) > 1:
            return 0
        found = 0
        for place in hopeless or range(len(_FIRSTS)):
            first, changed = _FIRSTS[place], list(self._suits)
            tiles = self._counts[first : first + RANKS_PER_SUIT]
            for rank, count in enumerate(tiles):
                if count:
                    rest = (*tiles[:rank], count - 1, *tiles[rank + 1 :])
                    changed[place] = _suit(rest, place, self._takes_fifth)
                    if _waits_of_sets(changed):
                        found |= 1 << (first + rank)
        return found


def _waits_of_sets(suits: Sequence[_Suit]) -> int:
    waiting: list[_Suit] = []
    for suit in suits:
        if suit.residue:
            waiting.append(suit)
        elif not suit.is_done:
            return 0
    if len(waiting) == 1:
        return waiting[0].waits if waiting[0].residue == 1 else 0
    if len(waiting) != 2 or waiting[0].residue != 2 or waiting[1].residue != 2:
        return 0
    one, other = waiting
    return (other.waits if one.is_done else 0) | (one.waits if other.is_done else 0)


def _pair_waits(counts: Sequence[int]) -> int:
    """Returns the kind that completes 13 tiles to seven pairs, as a bit."""
    return 1 << counts.index(1) if counts.count(2) == NUM_PAIRS - 1 and 1 in counts else 0


def _is_orphans(counts: Sequence[int]) -> bool:
    return sum(counts[kind] for kind in TERMINALS_AND_HONOURS) == 14 and all(counts[k] for k in TERMINALS_AND_HONOURS)


def orphan_waits(counts: Sequence[int]) -> int:
    """Returns the kinds that complete 13 tiles to the thirteen orphans, as bits."""
    held = [counts[kind] for kind in TERMINALS_AND_HONOURS]
    if sum(held) != 13 or held.count(0) > 1:
        return 0
    missing = [kind for kind, count in zip(TERMINALS_AND_HONOURS, held, strict=True) if count == 0]
    return sum(1 << kind for kind in missing or TERMINALS_AND_HONOURS)
