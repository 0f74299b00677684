"""Rule-based players: tile efficiency, riichi, calls with a plan, folding. Used for data and as opponents.

They usually win when they can, discard for the lowest shanten and then for the most tiles that lower it, and call only
if that lowers the shanten of a hand with a yaku; some fold against riichi. `TEMPERAMENTS` differ in these points, so
that games between several of them have every kind of decision. Kinds are the 34 kinds of tiles, physical tiles the
engine's 136.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from annotate.game.decisions import kinds_of_actions
from annotate.game.engine.hand_evaluator import shanten
from annotate.game.engine.table import Turn
from annotate.game.tiles import TILE_OF_ID
from annotate.simulation.tactics import (
    ANY,
    FLUSHES,
    NORTH,
    TANYAO,
    Plan,
    View,
    accepted_tiles,
    danger_of,
    value_of,
    without_kind,
)
from annotate.vocabulary import Vocabulary, is_red, tile34_of

_LATE = 16  # most tiles left at which it calls for a formal tenpai
_EARLY = 20  # fewest tiles left at which it may wait for a better win
_NEAR_TENPAI = 1  # highest shanten at which it keeps a North that the hand needs
_FOLDING = 300.0  # caution of a player who folds: safety outweighs a step of shanten


@dataclass(frozen=True)
class Temperament:
    """The parameters of a rule-based player."""

    name: str
    plans: tuple[str, ...]
    """open hands that it plays for, in addition to triplets of dragons and winds: tanyao, flush"""
    call_shanten: int
    """highest shanten, after the call, at which it calls"""
    fold_shanten: int
    """lowest shanten at which it folds against riichi"""
    caution: float
    """accepted tiles that it gives up for a discard that is one step safer, against riichi"""
    riichi_waits: int
    """fewest waiting tiles for which it declares riichi"""
    kan_rate: float
    """probability of declaring a kan that does not raise the shanten"""
    pass_rate: float
    """probability of passing a cheap ron early in a round"""


TEMPERAMENTS = (
    # name, plans, call_shanten, fold_shanten, caution, riichi_waits, kan_rate, pass_rate
    Temperament("steady", (), 2, 2, 1.0, 1, 0.3, 0.0),
    Temperament("swift", ("tanyao",), 3, 9, 0.0, 1, 0.3, 0.0),
    Temperament("careful", ("tanyao",), 1, 1, 2.0, 4, 0.1, 0.0),
    Temperament("flush", ("flush",), 3, 3, 0.5, 3, 0.5, 0.1),
    Temperament("bold", ("tanyao", "flush"), 2, 9, 0.0, 5, 1.0, 0.4),
)


class RuleBasedAgent:
    """A player that follows rules, deterministic in (seed, situation). `seed` varies its choice if several are good;
    `carelessness` is the probability, 0 ... 1, of discarding its second choice."""

    def __init__(self, temperament: Temperament, seed: int, vocabulary: Vocabulary, carelessness: float = 0.0) -> None:
        self.temperament = temperament
        self._seed = seed
        self._vocabulary = vocabulary
        self._carelessness = carelessness
        self._kinds = kinds_of_actions(vocabulary)
        self._first_discard = vocabulary.action["discard"].first

    def choose(self, turn: Turn) -> int:
        """Returns one of the action tokens in `turn.options`."""
        if len(turn.options) == 1:
            return next(iter(turn.options))
        by_kind: dict[str, list[int]] = {}
        for token in turn.options:
            by_kind.setdefault(self._kinds[token], []).append(token)
        if "tsumo" in by_kind:
            return by_kind["tsumo"][0]
        view = View(turn, self._vocabulary)
        if "ron" in by_kind and not self._passes_ron(turn, view):
            return by_kind["ron"][0]
        if turn.target is not None:
            return self._claim(turn, view, by_kind)
        return self._own_turn(turn, view, by_kind)

    def _own_turn(self, turn: Turn, view: View, by_kind: dict[str, list[int]]) -> int:
        if "kyushu" in by_kind and self._shanten(view.hand) > 2 and self._chance(turn, "kyushu") < 0.9:
            return by_kind["kyushu"][0]
        plan, distance = self._best_plan(view)
        if "kita" in by_kind and self._sets_aside(view):
            return by_kind["kita"][0]
        kan = self._own_kan(turn, view, by_kind, distance)
        if kan is not None:
            return kan
        if "riichi" in by_kind:
            ranked = self._ranked_discards(view, by_kind["riichi"], ANY, 0.0)
            if ranked[0][1] >= self.temperament.riichi_waits:
                return ranked[0][2]
        if "discard" not in by_kind:
            return next(iter(turn.options))
        caution = self.temperament.caution if view.threats else 0.0
        if view.threats and distance >= self.temperament.fold_shanten:
            caution = _FOLDING
        ranked = self._ranked_discards(view, by_kind["discard"], plan, caution)
        is_slip = len(ranked) > 1 and self._chance(turn, "slip") < self._carelessness
        return ranked[int(is_slip)][2]

    def _sets_aside(self, view: View) -> bool:
        """Returns whether to set aside a North, which makes it a dora: always, unless this raises the shanten of a hand
        that is tenpai or one tile before it."""
        distance = self._shanten(view.hand)
        return distance > _NEAR_TENPAI or self._shanten(without_kind(view.hand, NORTH)) <= distance

    def _own_kan(self, turn: Turn, view: View, by_kind: dict[str, list[int]], distance: int) -> int | None:
        kans = by_kind.get("ankan", []) + by_kind.get("kakan", [])
        if not kans or (view.threats and distance > 0 and not view.is_riichi):
            return None
        for token in kans:
            action = turn.options[token][0][0]
            kind = (action.tile if action.tile is not None else action.consume_tiles[0]) // 4
            rest = [tile for tile in view.hand if tile // 4 != kind]
            if self._shanten(rest) <= distance and self._chance(turn, "kan") < self.temperament.kan_rate:
                return token
        return None

    def _ranked_discards(
        self, view: View, tokens: Sequence[int], plan: Plan, caution: float
    ) -> list[tuple[float, int, int]]:
        """Ranks the discards: (merit, number of tiles accepted next, token), the best first, one for each kind of tile.
        A step of shanten outweighs all else except folding."""
        chosen: dict[int, tuple[int, int]] = {}
        for token in tokens:
            tile, is_tsumogiri = divmod((token - self._first_discard) >> 1, 2)
            kind = tile34_of(tile)
            preference = 2 * is_red(tile) - is_tsumogiri  # keep red fives; prefer the drawn tile among equals
            if kind not in chosen or preference < chosen[kind][0]:
                chosen[kind] = preference, token
        hands = {kind: without_kind(view.hand, kind) for kind in chosen}
        planned = {kind: plan.applied(hand) or hand for kind, hand in hands.items()}
        distances = {kind: self._shanten(hand) for kind, hand in planned.items()}
        nearest = min(distances.values())
        ranked = []
        for kind, (_, token) in chosen.items():
            accepted = 0
            if distances[kind] == nearest and (caution < _FOLDING or nearest == 0):
                accepted = accepted_tiles(planned[kind], nearest, view, plan)
            merit = accepted - 200.0 * (distances[kind] - nearest) - value_of(kind, view, plan)
            if caution:
                merit -= caution * danger_of(kind, view)
            ranked.append((merit, accepted, token))
        ranked.sort(reverse=True)
        return ranked

    def _claim(self, turn: Turn, view: View, by_kind: dict[str, list[int]]) -> int:
        skip = by_kind["skip"][0]
        if view.is_riichi:
            return skip
        _, distance = self._best_plan(view)
        is_folding = bool(view.threats) and distance >= self.temperament.fold_shanten
        for token in by_kind.get("daiminkan", []):
            if not view.threats and self._takes_daiminkan(turn, view, token, distance):
                return token
        best = (distance, skip)
        for token in (*by_kind.get("pon", []), *by_kind.get("chi", [])):
            after = self._call_shanten(turn, view, token)
            if (is_folding and after > 0) or after > self.temperament.call_shanten:
                continue
            best = min(best, (after, token))
        return best[1] if best[0] < distance else skip

    def _call_shanten(self, turn: Turn, view: View, token: int) -> int:
        """Computes the shanten after a call towards a hand with a yaku, late in the round towards any hand."""
        rest, planned = self._after_call(turn, view, token)
        if turn.left <= _LATE and self._shanten(rest) == 0:
            return 0
        return min(map(self._shanten, planned), default=99)

    def _takes_daiminkan(self, turn: Turn, view: View, token: int, distance: int) -> bool:
        _, planned = self._after_call(turn, view, token)
        is_near = any(self._shanten(hand) <= distance for hand in planned)
        return is_near and self._chance(turn, "daiminkan") < self.temperament.kan_rate

    def _after_call(self, turn: Turn, view: View, token: int) -> tuple[list[int], Iterator[list[int]]]:
        """Returns the rest of the hand after a call, unchanged and as each plan uses it."""
        action = turn.options[token][0][0]
        rest = [tile for tile in view.hand if tile not in action.consume_tiles]
        melds = [*view.own_melds, [*action.consume_tiles, action.tile]]
        return rest, (hand for plan in self._plans(view, rest, melds) if (hand := plan.applied(rest)))

    def _passes_ron(self, turn: Turn, view: View) -> bool:
        if not self.temperament.pass_rate or view.is_riichi or turn.left < _EARLY:
            return False
        tiles = [*view.hand, *(tile for meld in view.own_melds for tile in meld)]
        is_cheap = not any(tile // 4 in view.dora or is_red(TILE_OF_ID[tile]) for tile in tiles)
        return is_cheap and self._chance(turn, "ron") < self.temperament.pass_rate

    def _shanten(self, hand: Sequence[int]) -> int:
        return shanten(hand, self._vocabulary.num_seats)

    def _plans(self, view: View, hand: Sequence[int], melds: Sequence[Sequence[int]]) -> list[Plan]:
        """Returns the plans that give an open hand a yaku."""
        melded = [meld[0] // 4 for meld in melds if meld[0] // 4 == meld[1] // 4]
        concealed = [tile // 4 for tile in hand]
        if any(kind in melded or concealed.count(kind) >= 3 for kind in view.values):
            return [ANY]
        kinds = [tile // 4 for meld in melds for tile in meld]
        wanted = self.temperament.plans
        plans = (TANYAO,) * ("tanyao" in wanted) + FLUSHES * ("flush" in wanted)
        return [plan for plan in plans if all(plan.uses[kind] for kind in kinds)]

    def _best_plan(self, view: View) -> tuple[Plan, int]:
        if view.is_open:
            near = [
                (self._shanten(usable), number, plan)
                for number, plan in enumerate(self._plans(view, view.hand, view.own_melds))
                if (usable := plan.applied(view.hand))
            ]
            if near:
                distance, _, plan = min(near)
                return plan, distance
        return ANY, self._shanten(view.hand)

    def _chance(self, turn: Turn, purpose: str) -> float:
        observation = turn.observation
        situation: tuple[Any, ...] = (
            self._seed,
            purpose,
            turn.seat,
            turn.left,
            observation.round_wind,
            observation.oya,
            observation.honba,
            sorted(observation.hand),
        )
        return crc32(repr(situation).encode()) / (1 << 32)
