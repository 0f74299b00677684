"""Computes shanten, waits and accepted tiles of the reviewed player's hand with the engine's shanten function.

Kinds are the 34 kinds of tiles; red fives are ordinary fives here. Yaku are not considered.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from annotate.game.engine.hand_evaluator import shanten
from annotate.game.record import CLAIMS
from annotate.vocabulary import FIRST_HONOUR, NUM_TILES34, RANKS_PER_SUIT, TILE_NAMES, Vocabulary, tile_of
from kanachan.review.board import TableView
from kanachan.review.tile_names import NORTH, kind_of_tile

_COPIES = 4
_USED = {"pon": 2, "daiminkan": 3, "ankan": 4, "kakan": 1, "kita": 1}
"""number of tiles of one kind that an action takes from the hand"""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The kinds of tiles that improve a hand of 3n + 1 tiles, with the number of copies not visible to the player."""

    shanten: int
    """shanten of the 3n + 1 tiles"""
    left: dict[int, int]
    """unseen copies by kind; includes kinds without unseen copies, except if the player holds all four"""

    @property
    def tiles(self) -> list[dict[str, Any]]:
        return [{"tile": TILE_NAMES[tile_of(kind)], "left": left} for kind, left in self.left.items()]


class HandShape:
    """The hand of a table's seat. `furiten_kinds`: see kanachan.review.course.Moment."""

    def __init__(self, table: TableView, furiten_kinds: Collection[int], vocabulary: Vocabulary) -> None:
        self._hand = [kind_of_tile(name) for name in table.hand]
        self._all = self._hand if table.drawn is None else [*self._hand, kind_of_tile(table.drawn)]
        self._furiten_kinds = furiten_kinds
        self._vocabulary = vocabulary
        own_melds = [kind_of_tile(name) for meld in table.melds[table.seat] for name in meld.tiles]
        self._laid_open = [*own_melds, *[kind_of_tile(NORTH)] * table.norths[table.seat]]
        self._seen = [0] * NUM_TILES34
        visible = [
            *table.hand,
            *([table.drawn] if table.drawn else []),
            *table.dora_indicators,
            *(discard.tile for river in table.rivers for discard in river if not discard.called),
            *(name for melds in table.melds for meld in melds for name in meld.tiles),
            *[NORTH] * sum(table.norths),
        ]
        for name in visible:
            self._seen[kind_of_tile(name)] += 1

    @cached_property
    def shanten(self) -> int:
        """The shanten of all concealed tiles; 0: tenpai, -1: complete hand."""
        return self._shanten(self._all)

    @cached_property
    def waiting(self) -> Accepted | None:
        """The waits of the hand without the drawn tile; None if it is not tenpai."""
        if len(self._hand) % 3 != 1 or self._shanten(self._hand) != 0:
            return None
        return self._accepted(self._hand, self._laid_open)

    @property
    def is_furiten(self) -> bool:
        """Whether the hand is tenpai but must not win with a tile of another seat."""
        return self.waiting is not None and not self.waiting.left.keys().isdisjoint(self._furiten_kinds)

    def after_action(self, kind: str, tiles: Sequence[str]) -> tuple[Accepted, str | None] | None:
        """Returns the tiles that the hand accepts after an action and, if the action requires one, the best discard
        (lowest shanten, then most accepted tiles); None for an action that ends the round. `kind`: see
        annotate.game.decisions.KINDS; `tiles`: tiles of the action; for a chi, the hand's two and the called tile."""
        kinds = list(map(kind_of_tile, tiles))
        if kind in ("discard", "riichi"):
            return self._without(self._all, kinds[0], self._laid_open), None
        if kind not in (*_USED, "chi", "skip"):
            return None
        used = kinds[:2] if kind == "chi" else kinds[:1] * _USED.get(kind, 0)
        rest = list(self._all)
        for each in used:
            rest.remove(each)
        called = kinds[-1:] if kind in CLAIMS else []
        laid_open = [*self._laid_open, *used, *called]
        if len(rest) % 3 == 1:
            return self._accepted(rest, laid_open), None
        forbidden = set(called) | ({_other_end(used, called[0])} if kind == "chi" else set())
        options = [(self._without(rest, each, laid_open), each) for each in sorted({*rest} - forbidden)]
        if not options:
            return None
        found, discard = min(options, key=lambda option: (option[0].shanten, -sum(option[0].left.values())))
        return found, TILE_NAMES[tile_of(discard)]

    def _without(self, hand: Sequence[int], kind: int, laid_open: Sequence[int]) -> Accepted:
        rest = list(hand)
        rest.remove(kind)
        return self._accepted(rest, laid_open)

    def is_furiten_after(self, tile: str, waiting: Accepted) -> bool:
        """Returns whether the waits after a discard include it, or a kind that makes the hand furiten before it."""
        return not waiting.left.keys().isdisjoint({*self._furiten_kinds, kind_of_tile(tile)})

    def _accepted(self, hand: Sequence[int], laid_open: Sequence[int]) -> Accepted:
        distance, held, left = self._shanten(hand), [*hand, *laid_open], {}
        for kind in self._vocabulary.kinds:
            if held.count(kind) < _COPIES and self._shanten([*hand, kind]) < distance:
                left[kind] = max(0, _COPIES - self._seen[kind])
        return Accepted(distance, left)

    def _shanten(self, kinds: Sequence[int]) -> int:
        return shanten([_COPIES * kind for kind in kinds], self._vocabulary.num_seats)


def _other_end(used: Sequence[int], called: int) -> int:
    """Returns the kind at the other end of a chi's two tiles, which must not be discarded next; -1 if there is none."""
    low, high = sorted(used)
    if high - low != 1:
        return -1
    other = high + 1 if called < low else low - 1
    return other if other >= 0 and other // RANKS_PER_SUIT == low // RANKS_PER_SUIT and other < FIRST_HONOUR else -1
