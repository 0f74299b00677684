"""Checks of the tiles of a round's lines: hands, indicators, and the number of visible copies of each tile."""

from itertools import combinations
from operator import add

from annotate.checks.progress import KIND_OF, NUM_COPIES, RED_OF_KIND, Event, Progress
from annotate.checks.rules import Rules
from annotate.checks.scores import Fail
from annotate.checks.shapes import MOST_COPIES
from annotate.checks.situation import Situation
from annotate.vocabulary import NUM_TILES34, TILE_NAMES, tile_of

Hand = list[int]
"""tiles in ascending order, without a drawn one"""

_DEALT = 13
_IN_MELD = 3


def in_words(tiles: Hand) -> str:
    return " ".join(TILE_NAMES[tile] for tile in tiles) or "nothing"


def kinds_of(tiles: Hand) -> list[int]:
    """Counts the tiles of each kind."""
    kinds = [0] * NUM_TILES34
    for tile in tiles:
        kinds[KIND_OF[tile]] += 1
    return kinds


class TileChecks:
    """The checks of a round's tiles, with the tiles known from the lines so far."""

    def __init__(self, fail: Fail, rules: Rules) -> None:
        self._fail = fail
        self._dora: list[int] = []
        self._hands: list[list[Hand] | None] = [None] * rules.num_seats
        """possible hands of every seat: several after a pon that may have used a red five, None if unknown"""
        self._drawn: tuple[int, int] | None = None
        """seat and tile, in the line before"""

    def hands_of(self, seat: int) -> list[Hand] | None:
        return self._hands[seat]

    def move(self, event: Event, has_drawn: bool) -> None:
        """Applies an event. The seat drew a tile before it if `has_drawn`."""
        known, drawn, self._drawn = self._hands[event.seat], self._drawn, None
        if known is None or event.is_tsumogiri:
            return
        if has_drawn and event.name in ("discard", "ankan", "kakan", "kita"):
            if drawn is None or drawn[0] != event.seat:
                self._hands[event.seat] = None
                return
            known = [sorted([*hand, drawn[1]]) for hand in known]
        left = [rest for hand in known for used in _used(event, hand) if (rest := _without(hand, used)) is not None]
        self._hands[event.seat] = left or None
        if not left:
            held = " or ".join(map(in_words, known))
            self._fail("hand", f"field 3 (progression): {event}, but by its lines the seat holds {held}")

    def check(self, situation: Situation, progress: Progress) -> list[int]:
        """Checks the next line; returns the number of tiles of each kind in the hand, the drawn tile included."""
        self._check_left(situation, progress)
        self._check_dora(situation, progress)
        self._check_hand(situation, progress)
        kinds = kinds_of(situation.hand)
        if situation.drawn is not None:
            kinds[KIND_OF[situation.drawn]] += 1
        self._check_visible(situation, progress, kinds)
        return kinds

    def _check_left(self, situation: Situation, progress: Progress) -> None:
        left = progress.rules.num_draws - progress.num_draws - (situation.drawn is not None)
        if situation.left != left:
            self._fail("left", f"field 1 (sparse): {situation.left} tiles are left, {left} expected by the progression")

    def _check_dora(self, situation: Situation, progress: Progress) -> None:
        dora, before = situation.dora, self._dora
        if dora[: len(before)] != before:
            words = f"{in_words(dora)}, in the line before {in_words(before)}"
            self._fail("dora", f"field 1 (sparse): the indicators are {words}: indicators can only be added")
        else:
            self._dora = dora
        num_kans = len(progress.kans)
        least, most = _num_hidden(situation, progress)
        if not 1 + num_kans - most <= len(dora) <= 1 + num_kans - least:
            number = f"{1 + num_kans - least}" if least == most else f"{1 + num_kans - most} to {1 + num_kans - least}"
            words = f"{len(dora)} after {num_kans} kans and {progress.last}, {number} expected"
            self._fail("dora", f"field 1 (sparse): number of indicators {words}")

    def _check_hand(self, situation: Situation, progress: Progress) -> None:
        seat, hand = situation.seat, situation.hand
        is_call = situation.drawn is None and progress.last.seat == seat
        self._compare(seat, hand, _DEALT - _IN_MELD * progress.num_melds[seat] + is_call, "field 1 (sparse)")
        self._drawn = None if situation.drawn is None else (seat, situation.drawn)

    def see(self, seat: int, hand: Hand, progress: Progress) -> None:
        """Checks the hand of a seat whose turn it is not."""
        self._compare(seat, hand, _DEALT - _IN_MELD * progress.num_melds[seat], "field 7 (hidden)")

    def _compare(self, seat: int, hand: Hand, size: int, where: str) -> None:
        if len(hand) != size:
            words = f"{in_words(hand)}, has {len(hand)} tiles, {size} expected"
            self._fail("hand size", f"{where}: the hand of seat {seat}, {words}")
        known, self._hands[seat] = self._hands[seat], [hand]
        if known is not None and hand not in known:
            words = f"{in_words(hand)}, {' or '.join(map(in_words, known))} expected by the lines before"
            self._fail("hand", f"{where}: the hand of seat {seat} is {words}")

    def _check_visible(self, situation: Situation, progress: Progress, kinds: list[int]) -> None:
        visible = list(map(add, kinds, progress.seen_kinds))
        for tile in situation.dora:
            visible[KIND_OF[tile]] += 1
        if max(visible) > MOST_COPIES:
            kind = visible.index(max(visible))
            words = f"{visible[kind]} of {TILE_NAMES[tile_of(kind)]}"
        else:
            words = self._wrong_fives(situation, progress, visible)
        if words:
            self._fail("tiles", f"fields 1 and 3 (sparse, progression): the seat sees {words}")

    def _wrong_fives(self, situation: Situation, progress: Progress, visible: list[int]) -> str:
        for kind, red in RED_OF_KIND.items():
            for tile in (red, tile_of(kind)) if visible[kind] > 1 else ():
                number = progress.seen[tile] + situation.hand.count(tile) + situation.dora.count(tile)
                number += situation.drawn == tile
                if number > NUM_COPIES[tile]:
                    return f"{number} of {TILE_NAMES[tile]}, of which there are {NUM_COPIES[tile]}"
        return ""


def _num_hidden(situation: Situation, progress: Progress) -> tuple[int, int]:
    """Returns the lowest and the highest number of kans whose indicator has not been revealed.

    That of a closed kan is revealed before the next tile is drawn, that of another one with the next discard or kan.
    """
    is_kan = progress.last.name in ("ankan", "kakan")
    if situation.drawn is None and is_kan:  # the kan may be robbed
        return 1, progress.num_kans_in_turn
    is_open = progress.last.name in ("daiminkan", "kakan")
    return is_open, is_open


def _used(event: Event, hand: Hand) -> list[tuple[int, ...]]:
    """Returns the possible sets of tiles that the event removes from the hand."""
    if event.name in ("discard", "kakan", "kita"):
        return [(event.tile,)]
    if event.name == "chi":
        return [event.used]
    equal = [tile for tile in hand if KIND_OF[tile] == event.kind]
    if event.name == "pon":
        return list(dict.fromkeys(combinations(equal, 2)))
    return [tuple(equal)] if len(equal) == (MOST_COPIES if event.name == "ankan" else MOST_COPIES - 1) else []


def _without(hand: Hand, used: tuple[int, ...]) -> Hand | None:
    rest = list(hand)
    for tile in used:
        if tile not in rest:
            return None
        rest.remove(tile)
    return rest
