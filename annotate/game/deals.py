"""Walls that agree with what a seat sees of a deal."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from annotate.game.engine.table import Turn
from annotate.game.record import Event, places_dealt
from annotate.game.tiles import TILE_OF_ID, TILE_OF_MJAI, unseen_tiles
from annotate.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class SeenDeal:
    """What a seat sees of a deal before anybody has discarded; tiles are the specification's, 0 ... 36."""

    dealer: int
    seat: int
    hand: tuple[int, ...]
    """the 13 tiles dealt, ascending"""
    drawn: int | None
    """the first tile drawn, if the seat is the dealer"""
    indicator: int

    @classmethod
    def at_first_turn(cls, turn: Turn, start: Event) -> "SeenDeal":
        """Returns what the seat of `turn`, its first one in the round that `start` (mjai start_kyoku) begins, was
        dealt."""
        hand = [tile for tile in turn.hand if tile != turn.drawn]
        # another seat's first draw depends on the calls before it
        drawn = turn.drawn if turn.seat == start["oya"] else None
        return cls(
            dealer=start["oya"],
            seat=turn.seat,
            hand=tuple(sorted(TILE_OF_ID[tile] for tile in hand)),
            drawn=None if drawn is None else TILE_OF_ID[drawn],
            indicator=TILE_OF_MJAI[start["dora_marker"]],
        )

    def walls(self, num: int, seed: str, vocabulary: Vocabulary) -> Iterator[list[int]]:
        """Yields walls (physical tiles, in the order of the deal) that deal the same to the seat; all others are
        equally probable. They are a function of the arguments and of what the seat sees."""
        pool = unseen_tiles(vocabulary)
        places = places_dealt(self.dealer, vocabulary.num_seats)
        known = {place: pool[tile].pop(0) for place, tile in zip(places[self.seat], self.hand, strict=True)}
        known[place_of_indicator(vocabulary)] = pool[self.indicator].pop(0)
        if self.drawn is not None:
            assert self.seat == self.dealer
            known[13 * vocabulary.num_seats] = pool[self.drawn].pop(0)
        shuffled = random.Random(seed)
        for _ in range(num):
            yield wall_with(known, vocabulary, shuffled)


def place_of_indicator(vocabulary: Vocabulary) -> int:
    """Returns the place of the first dora indicator in a wall."""
    return vocabulary.num_tile_ids - 1 - vocabulary.num_rinshan


def wall_with(known: Mapping[int, int], vocabulary: Vocabulary, shuffled: random.Random | None = None) -> list[int]:
    """Returns a wall, in the order of the deal, with tiles at known places; the others are shuffled, or ascending."""
    rest = sorted({tile for ids in unseen_tiles(vocabulary) for tile in ids} - {*known.values()})
    if shuffled is not None:
        shuffled.shuffle(rest)
    others = iter(rest)
    return [known[place] if place in known else next(others) for place in range(vocabulary.num_tile_ids)]
