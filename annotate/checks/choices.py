"""The actions of a seat, derived from its hand and the table.

A win that needs a yaku beyond the closed hand is not required, only permitted, and so is a kan in riichi.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache

from annotate.checks.payments import STICK
from annotate.checks.progress import (
    KIND_OF,
    MOST_KANS,
    NORTH,
    TILES_OF_KIND,
    Event,
    Progress,
    events_of,
    swapped_kinds,
)
from annotate.checks.rules import Rules
from annotate.checks.scores import Fail
from annotate.checks.shapes import MOST_COPIES, TERMINALS_AND_HONOURS, Shape, orphan_waits
from annotate.checks.situation import Situation
from annotate.checks.tiles import in_words as tiles_in_words
from annotate.vocabulary import CHI_TILES, NUM_TILES

# a discard is tile * 4 + tsumogiri * 2 + riichi
_PER_TILE, _TSUMOGIRI, _RIICHI = 4, 2, 1
_KINDS_FOR_KYUSHU = 9
_MOST_SWAPPED = 2 * MOST_COPIES
"""the most tiles that may not be discarded after a call: a larger hand always has another"""


class Actions:
    """The tokens of a vocabulary's actions."""

    def __init__(self, rules: Rules) -> None:
        field = rules.vocabulary.action
        self.discard, self.ankan, self.kakan, self.ron = (
            field[name].first for name in ("discard", "ankan", "kakan", "ron")
        )
        self.tsumo, self.kyushu, self.skip = (field[name].first for name in ("tsumo", "kyushu", "skip"))
        self.kita = field["kita"].first if "kita" in field.blocks else None
        self.pon, self.daiminkan = field["pon"], field["daiminkan"]
        self.event_of = tuple(
            tuple(_event_of(seat, action, rules) for action in range(field.size)) for seat in rules.seats
        )
        """[seat][action]: the progression's token of the action; None for actions that end the round, and for Skip"""
        self.is_ron = tuple(field.block_of(action).name == "ron" for action in range(field.size))
        self.riichi_discards = frozenset(
            range(self.discard + _RIICHI, self.discard + field["discard"].size, _RIICHI + 1)
        )
        self.chis = tuple(_chis_of(tile, rules) for tile in range(NUM_TILES))
        """by the tile called: the action, the two tiles of the hand, the event"""
        self._rules = rules

    def in_words(self, action: int) -> str:
        """Formats an action, such as "discard 5m as drawn with riichi"."""
        event = self.event_of[0][action]
        if event is None:
            name = self._rules.vocabulary.action.block_of(action).name
            return f"ron from relative seat {action - self.ron}" if self.is_ron[action] else name
        return events_of(self._rules)[event].in_words()

    def ron_of(self, discarder: int, seat: int) -> int:
        """Returns the action of a seat that wins another's tile."""
        return self.ron + self._rules.relative(discarder, seat)


@cache
def actions_of(rules: Rules) -> Actions:
    """Returns the actions of games by these rules."""
    return Actions(rules)


def _event_of(seat: int, action: int, rules: Rules) -> int | None:
    block, events = rules.vocabulary.action.block_of(action), rules.vocabulary.progression
    return events[block.name].token(seat, *block.indices(action)) if block.name in events.blocks else None


def _chis_of(called: int, rules: Rules) -> tuple[tuple[int, int, int, Event], ...]:
    if not rules.vocabulary.has_chi:
        return ()
    block = rules.vocabulary.action["chi"]
    return tuple(
        (block.token(chi), first, second, Event("chi", 0, tile, KIND_OF[tile], used=(first, second)))
        for chi, (first, second, tile) in enumerate(CHI_TILES)
        if tile == called
    )


def _with_riichi(discards: Collection[int], kinds: int) -> set[int]:
    """Returns those of the discards that are of `kinds` (bits), with riichi."""
    return {discard + _RIICHI for discard in discards if kinds >> KIND_OF[discard // _PER_TILE] & 1}


def after_call(last: Event, hand: Sequence[int]) -> set[int]:
    """Returns the possible discards of a hand after a chi or pon."""
    swapped = swapped_kinds(last)
    return {tile * _PER_TILE for tile in hand if KIND_OF[tile] not in swapped}


def calls_of(progress: Progress, seat: int, hand: Sequence[int]) -> set[int]:
    """Returns the possible calls of a hand on the last discard."""
    last, rules, actions = progress.last, progress.rules, actions_of(progress.rules)
    if progress.num_draws >= rules.num_draws or progress.is_aborted or progress.is_riichi[seat]:
        return set()
    calls = _chis(actions, last.tile, hand) if last.seat == (seat - 1) % rules.num_seats else set()
    number = sum(hand.count(tile) for tile in TILES_OF_KIND[last.kind])
    if number >= 2:
        indices = rules.relative(last.seat, seat), last.tile
        if len(hand) > number:  # at least one tile remains that may be discarded
            calls.add(actions.pon.token(*indices))
        if number == MOST_COPIES - 1 and len(progress.kans) < MOST_KANS:
            calls.add(actions.daiminkan.token(*indices))
    return calls


def _chis(actions: Actions, called: int, hand: Sequence[int]) -> set[int]:
    found = set[int]()
    for action, first, second, event in actions.chis[called]:
        if first in hand and second in hand:
            rest = list(hand)
            rest.remove(first)
            rest.remove(second)
            if len(rest) > _MOST_SWAPPED or after_call(event, rest):
                found.add(action)
    return found


def can_win(progress: Progress, seat: int, kinds: Sequence[int]) -> bool:
    """Returns whether a seat certainly may win the last tile: it is in riichi, and needs no further yaku.

    Args:
        kinds: number of tiles of each kind in the hand.
    """
    return progress.is_riichi[seat] and progress.last.name != "ankan" and _may_win(progress, seat, kinds)


def _may_win(progress: Progress, seat: int, kinds: Sequence[int]) -> bool:
    """Returns whether the hand waits for the last tile and the seat is not furiten."""
    last = progress.last
    wanted = orphan_waits(kinds) if last.name == "ankan" else Shape(kinds, progress.num_melds[seat]).waits()
    return bool(wanted >> last.kind & 1) and not wanted & (progress.river[seat] | progress.missed[seat])


def check_actions(situation: Situation, progress: Progress, kinds: list[int], points: int | None, fail: Fail) -> None:
    """Compares the actions of a line with the possible ones of the seat.

    Args:
        kinds: number of tiles of each kind in the hand, the drawn tile included.
        points: the seat's score; None if unknown.
    """
    must, may = _Choices(situation, progress, kinds, points).possible()
    actions = actions_of(progress.rules)
    offered = set(situation.actions)
    if offered == must:
        return
    impossible, missing = offered - must - may, must - offered
    if impossible:
        fail(
            "actions", f"field 4 (actions): not possible: {_list_of(impossible, actions)}; {_why(situation, progress)}"
        )
    if missing:
        fail(
            "actions",
            f"field 4 (actions): possible, but missing: {_list_of(missing, actions)}; {_why(situation, progress)}",
        )


def _list_of(tokens: Collection[int], actions: Actions) -> str:
    return ", ".join(f"{token} ({actions.in_words(token)})" for token in sorted(tokens))


def _why(situation: Situation, progress: Progress) -> str:
    hand = tiles_in_words(situation.hand)
    drawn = "" if situation.drawn is None else f" + {tiles_in_words([situation.drawn])}"
    return f"hand {hand}{drawn}, {progress.num_melds[situation.seat]} melds, after {progress.last}"


@dataclass(slots=True)
class _Choices:
    situation: Situation
    progress: Progress
    kinds: list[int]
    points: int | None

    def possible(self) -> tuple[set[int], set[int]]:
        """Returns the actions that must be listed, and further ones that may be."""
        progress, seat, drawn = self.progress, self.situation.seat, self.situation.drawn
        if drawn is None:
            if progress.last.seat == seat:
                return after_call(progress.last, self.situation.hand), set()
            return self._claims()
        shape, actions = Shape(self.kinds, progress.num_melds[seat]), actions_of(progress.rules)
        must, may = self._discards(drawn, shape)
        if shape.is_complete():
            (may if progress.is_open[seat] else must).add(actions.tsumo)
        if self.situation.left > 0 and len(progress.kans) < MOST_KANS:
            self._add_kans(drawn, must, may)
        if self.situation.left > 0 and actions.kita is not None:
            norths = [drawn] if progress.is_riichi[seat] else [drawn, *self.situation.hand]
            if NORTH in norths:
                must.add(actions.kita)
        if not progress.is_interrupted and not progress.river[seat]:
            if sum(self.kinds[kind] > 0 for kind in TERMINALS_AND_HONOURS) >= _KINDS_FOR_KYUSHU:
                must.add(actions.kyushu)
        return must, may

    def _discards(self, drawn: int, shape: Shape) -> tuple[set[int], set[int]]:
        progress, seat = self.progress, self.situation.seat
        of_drawn = drawn * _PER_TILE
        if progress.last.name != "begin":  # all of the dealer's 14 tiles count as dealt
            of_drawn += _TSUMOGIRI
        if progress.is_riichi[seat]:
            return {of_drawn}, set()
        discards = {tile * _PER_TILE for tile in self.situation.hand}
        discards.add(of_drawn)
        is_poor = self.points is not None and self.points < STICK
        if is_poor or progress.is_open[seat] or self.situation.left < progress.rules.left_for_riichi:
            return discards, set()
        kinds = shape.discards()
        if not kinds and actions_of(progress.rules).riichi_discards.isdisjoint(self.situation.actions):
            return discards, set()
        any_kinds = kinds | Shape(self.kinds, progress.num_melds[seat], takes_fifth=True).discards()
        must = 0 if self.points is None else kinds & ~self._dead_discards(kinds)
        return discards | _with_riichi(discards, must), _with_riichi(discards, any_kinds)

    def _dead_discards(self, kinds: int) -> int:
        """Returns those of the discards that leave the hand waiting only for tiles of its closed kans."""
        closed_kans = self.progress.closed_kans[self.situation.seat]
        dead = 0
        if closed_kans:
            rest = list(self.kinds)
            for kind in range(len(rest)):
                if kinds >> kind & 1:
                    rest[kind] -= 1
                    if not Shape(rest, closed_kans.bit_count()).waits() & ~closed_kans:
                        dead |= 1 << kind
                    rest[kind] += 1
        return dead

    def _add_kans(self, drawn: int, must: set[int], may: set[int]) -> None:
        seat, actions = self.situation.seat, actions_of(self.progress.rules)
        if self.progress.is_riichi[seat]:
            kind = KIND_OF[drawn]
            if self.kinds[kind] == MOST_COPIES and self._keeps_waits(kind):
                may.add(actions.ankan + kind)
            return
        if MOST_COPIES in self.kinds:
            must |= {actions.ankan + kind for kind, count in enumerate(self.kinds) if count == MOST_COPIES}
        pons = self.progress.pons[seat]
        if pons:
            must |= {actions.kakan + tile for tile in (*self.situation.hand, drawn) if KIND_OF[tile] in pons}

    def _keeps_waits(self, kind: int) -> bool:
        num_melds = self.progress.num_melds[self.situation.seat]
        before, after = list(self.kinds), list(self.kinds)
        before[kind], after[kind] = MOST_COPIES - 1, 0
        return Shape(before, num_melds).waits() == Shape(after, num_melds + 1).waits()

    def _claims(self) -> tuple[set[int], set[int]]:
        progress, last, seat = self.progress, self.progress.last, self.situation.seat
        actions = actions_of(progress.rules)
        must, may = {actions.skip}, set[int]()
        ron = actions.ron_of(last.seat, seat)
        if ron in self.situation.actions and _may_win(progress, seat, self.kinds):
            may.add(ron)
        if last.name == "discard":
            must |= calls_of(progress, seat, self.situation.hand)
        return must, may
