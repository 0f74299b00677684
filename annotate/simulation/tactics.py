"""Evaluations of a situation for rule-based players: accepted tiles, plans for open hands, danger of discards.

Kinds are the 34 kinds of tiles; hands and melds are lists of the engine's physical tiles, 0 ... 135.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from annotate.game.engine.hand_evaluator import shanten
from annotate.game.engine.table import Turn
from annotate.game.tiles import dora_of
from annotate.vocabulary import FIRST_HONOUR, NUM_TILES34, RANKS_PER_SUIT, Vocabulary

_DRAGONS = (31, 32, 33)
NORTH = 30
_MAX_STRAY = 4  # most tiles that a plan may leave unused

# by kind: the kinds of tiles with which it can form a shape
_NEAR = tuple(
    (kind,)
    if kind >= FIRST_HONOUR
    else tuple(
        other
        for other in range(kind - 2, kind + 3)
        if 0 <= other < FIRST_HONOUR and other // RANKS_PER_SUIT == kind // RANKS_PER_SUIT
    )
    for kind in range(NUM_TILES34)
)


@dataclass(frozen=True, slots=True)
class Plan:
    """A target hand: the kinds that it can use, and placeholders for other tiles, which fit nothing."""

    uses: tuple[bool, ...]
    stand_ins: tuple[int, ...]

    def applied(self, hand: Iterable[int]) -> list[int]:
        """Returns the hand with placeholders for the tiles that the plan cannot use; empty if they are too many."""
        stand_ins = iter(self.stand_ins)
        usable = [tile if self.uses[tile // 4] else next(stand_ins, -1) for tile in hand]
        return [] if -1 in usable else usable


def _plan(uses: Callable[[int], bool], stand_ins: Sequence[int]) -> Plan:
    return Plan(tuple(map(uses, range(NUM_TILES34))), tuple(4 * kind for kind in stand_ins[:_MAX_STRAY]))


def _is_simple(kind: int) -> bool:
    return kind < FIRST_HONOUR and 0 < kind % RANKS_PER_SUIT < RANKS_PER_SUIT - 1


def _flush(suit: int) -> Plan:
    others = [kind for kind in range(FIRST_HONOUR) if kind // RANKS_PER_SUIT != suit and kind % 3 == 0]
    return _plan(lambda kind: kind >= FIRST_HONOUR or kind // RANKS_PER_SUIT == suit, others)


ANY = _plan(lambda kind: True, ())
TANYAO = _plan(_is_simple, range(FIRST_HONOUR, NUM_TILES34))
FLUSHES = tuple(_flush(suit) for suit in range(3))


class View:
    """The state of the table that a player needs, read once per turn."""

    def __init__(self, turn: Turn, vocabulary: Vocabulary) -> None:
        observation = turn.observation
        self.hand: list[int] = observation.hand
        self.discards: list[list[int]] = observation.discards
        melds = observation.melds
        self.own_melds: list[list[int]] = [meld.tiles for meld in melds[turn.seat]]
        self.is_open = any(meld.opened for meld in melds[turn.seat])
        riichi = observation.riichi_declared
        self.is_riichi: bool = riichi[turn.seat]
        self.threats = [seat for seat, declared in enumerate(riichi) if declared and seat != turn.seat]
        dora_indicators = observation.dora_indicators
        self.dora = [dora_of(tile // 4, vocabulary) for tile in dora_indicators]
        self.num_seats = vocabulary.num_seats
        self.values = {
            *_DRAGONS,
            FIRST_HONOUR + observation.round_wind,
            FIRST_HONOUR + (turn.seat - observation.oya) % self.num_seats,
        }
        self._kinds = vocabulary.kinds
        self.unseen = [0] * NUM_TILES34
        """number of unseen tiles by kind; Norths set aside, which the engine does not list, count as unseen"""
        for kind in vocabulary.kinds:
            self.unseen[kind] = 4
        for tile in {
            *self.hand,
            *dora_indicators,
            *(tile for river in self.discards for tile in river),
            *(tile for seat_melds in melds for meld in seat_melds for tile in meld.tiles),
        }:
            self.unseen[tile // 4] -= 1

    def forms_sequences(self, kind: int) -> bool:
        """Returns whether tiles of a kind can be part of sequences; with three players, 1m and 9m cannot."""
        return any(other != kind and other in self._kinds for other in _NEAR[kind])


def accepted_tiles(hand: list[int], distance: int, view: View, plan: Plan) -> int:
    """Counts the unseen tiles, of kinds that the plan uses, that lower the shanten of 3n + 1 tiles."""
    near = {other for tile in hand for other in _NEAR[tile // 4]}
    accepted = 0
    trial = [*hand, 0]
    for kind in near:
        if view.unseen[kind] and plan.uses[kind]:
            trial[-1] = 4 * kind
            if shanten(trial, view.num_seats) < distance:
                accepted += view.unseen[kind]
    return accepted


def value_of(kind: int, view: View, plan: Plan) -> float:
    """Computes the value of a tile in the hand beyond its shape, in accepted tiles."""
    if not plan.uses[kind]:
        return -3.0
    value = 3.0 * view.dora.count(kind)
    if kind >= FIRST_HONOUR:
        return value + 0.6 * (kind in view.values)
    rank = kind % RANKS_PER_SUIT
    return value + 0.5 * min(rank, RANKS_PER_SUIT - 1 - rank)


def danger_of(kind: int, view: View) -> float:
    """Computes the danger of a discard against the seats in riichi, in steps: 0 is safe, each seat adds at most 7."""
    danger = 0.0
    for seat in view.threats:
        river = {tile // 4 for tile in view.discards[seat]}
        if kind in river:
            continue
        if not view.forms_sequences(kind):
            danger += view.unseen[kind] + 0.5
            continue
        rank = kind % RANKS_PER_SUIT
        partners = [kind + step for step in (-3, 3) if 0 <= rank + step < RANKS_PER_SUIT]
        is_suji = all(partner in river for partner in partners)
        inwards = min(rank, RANKS_PER_SUIT - 1 - rank, 3)
        danger += (1.0 + 0.5 * inwards) if is_suji else 4.0 + inwards
    return danger + 1.0 * (danger > 0) * view.dora.count(kind)


def without_kind(hand: Sequence[int], kind: int) -> list[int]:
    place = next(place for place, tile in enumerate(hand) if tile // 4 == kind)
    return [*hand[:place], *hand[place + 1 :]]
