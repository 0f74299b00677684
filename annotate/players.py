"""Rule-based players: tile efficiency, riichi, calls with a plan, folding. A source of data, and opponents.

They win when they can, discard for the lowest shanten and then for the most tiles that lower it further, call only
where that brings a hand with a yaku nearer, and some of them fold against riichi. `TEMPERAMENTS` differ in these, so
that a table of several shows every kind of decision. Kinds are the 34 kinds of tiles, physical tiles the engine's 136.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from zlib import crc32

from annotate.decisions import kind_of
from annotate.engine import TILE_OF_ID, Turn, shanten
from annotate.vocabulary import NUM_HONOURS, NUM_TILES34, RANKS_PER_SUIT, Vocabulary, is_red, tile34_of

_FIRST_HONOUR = NUM_TILES34 - NUM_HONOURS
_DRAGONS = (31, 32, 33)
_MAX_STRAY = 4  # tiles that a plan cannot use, above which it is no plan
_LATE = 16  # left tiles at which a formal tenpai is worth a call

# kinds that a tile drawn can help, by kind
_NEAR = tuple(
    (kind,)
    if kind >= _FIRST_HONOUR
    else tuple(
        other
        for other in range(kind - 2, kind + 3)
        if 0 <= other < _FIRST_HONOUR and other // RANKS_PER_SUIT == kind // RANKS_PER_SUIT
    )
    for kind in range(NUM_TILES34)
)


class Player(Protocol):
    """Anything that can sit at a table."""

    def choose(self, turn: Turn) -> int:
        """One of the action tokens in `turn.options`; always the same for the same player and situation."""
        ...


@dataclass(frozen=True, kw_only=True)
class Temperament:
    """What a rule-based player likes."""

    name: str
    plans: tuple[str, ...]
    """hands that it calls for: value (a triplet of dragons or winds), tanyao, flush"""
    call_shanten: int
    """highest shanten, after the call, at which it calls"""
    fold_shanten: int
    """lowest shanten at which it folds against riichi"""
    caution: float
    """accepted tiles that it gives up for a discard that is safer by one step, against riichi"""
    riichi_waits: int
    """fewest waiting tiles for which it declares riichi"""
    kan_rate: float
    """how often it declares a kan that costs nothing"""
    pass_rate: float
    """how often it passes a cheap ron early in a round"""


TEMPERAMENTS = (
    Temperament(
        name="steady",
        plans=("value",),
        call_shanten=2,
        fold_shanten=2,
        caution=1.0,
        riichi_waits=1,
        kan_rate=0.3,
        pass_rate=0.0,
    ),
    Temperament(
        name="swift",
        plans=("value", "tanyao"),
        call_shanten=3,
        fold_shanten=9,
        caution=0.0,
        riichi_waits=1,
        kan_rate=0.3,
        pass_rate=0.0,
    ),
    Temperament(
        name="careful",
        plans=("value", "tanyao"),
        call_shanten=1,
        fold_shanten=1,
        caution=2.0,
        riichi_waits=4,
        kan_rate=0.1,
        pass_rate=0.0,
    ),
    Temperament(
        name="flush",
        plans=("value", "flush"),
        call_shanten=3,
        fold_shanten=3,
        caution=0.5,
        riichi_waits=3,
        kan_rate=0.5,
        pass_rate=0.1,
    ),
    Temperament(
        name="bold",
        plans=("value", "tanyao", "flush"),
        call_shanten=2,
        fold_shanten=9,
        caution=0.0,
        riichi_waits=5,
        kan_rate=1.0,
        pass_rate=0.4,
    ),
)


@dataclass(frozen=True, slots=True)
class _Plan:
    """A hand to go for: which kinds it can use, and stand-ins for tiles of other kinds, which fit nothing."""

    uses: tuple[bool, ...]
    stand_ins: tuple[int, ...]

    def applied(self, hand: Iterable[int]) -> list[int]:
        """The hand with the tiles that the plan cannot use made useless; empty if they are too many."""
        stand_ins = iter(self.stand_ins)
        usable = [tile if self.uses[tile // 4] else next(stand_ins, -1) for tile in hand]
        return [] if -1 in usable else usable


def _plan(uses: Callable[[int], bool], stand_ins: Sequence[int]) -> _Plan:
    return _Plan(tuple(map(uses, range(NUM_TILES34))), tuple(4 * kind for kind in stand_ins[:_MAX_STRAY]))


def _is_simple(kind: int) -> bool:
    return kind < _FIRST_HONOUR and 0 < kind % RANKS_PER_SUIT < RANKS_PER_SUIT - 1


def _flush(suit: int) -> _Plan:
    others = [kind for kind in range(_FIRST_HONOUR) if kind // RANKS_PER_SUIT != suit and kind % 3 == 0]
    return _plan(lambda kind: kind >= _FIRST_HONOUR or kind // RANKS_PER_SUIT == suit, others)


_ANY = _plan(lambda kind: True, ())
_TANYAO = _plan(_is_simple, range(_FIRST_HONOUR, NUM_TILES34))
_FLUSHES = tuple(_flush(suit) for suit in range(3))


class _View:
    """What a player needs to know of the table, read once a turn."""

    def __init__(self, turn: Turn) -> None:
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
        self.dora = [_next_kind(tile // 4) for tile in dora_indicators]
        num_seats = len(riichi)
        self.values = {
            *_DRAGONS,
            _FIRST_HONOUR + observation.round_wind,
            _FIRST_HONOUR + (turn.seat - observation.oya) % num_seats,
        }
        self.unseen = [4] * NUM_TILES34
        for tile in {
            *self.hand,
            *dora_indicators,
            *(tile for river in self.discards for tile in river),
            *(tile for seat_melds in melds for meld in seat_melds for tile in meld.tiles),
        }:
            self.unseen[tile // 4] -= 1


class RuleBasedPlayer:
    """Plays by rules; deterministic in (seed, situation).

    Args:
        temperament: what it likes.
        seed: varies its choices where several are good.
        carelessness: how often it discards its second choice, 0 ... 1.
    """

    def __init__(self, temperament: Temperament, seed: int, vocabulary: Vocabulary, carelessness: float = 0.0) -> None:
        self.temperament = temperament
        self._seed = seed
        self._carelessness = carelessness
        self._kinds = [kind_of(token, vocabulary) for token in range(vocabulary.action.size)]
        self._first_discard = vocabulary.action["discard"].first

    def choose(self, turn: Turn) -> int:
        if len(turn.options) == 1:
            return next(iter(turn.options))
        by_kind: dict[str, list[int]] = {}
        for token in turn.options:
            by_kind.setdefault(self._kinds[token], []).append(token)
        if "tsumo" in by_kind:
            return by_kind["tsumo"][0]
        view = _View(turn)
        if "ron" in by_kind and not self._passes_ron(turn, view):
            return by_kind["ron"][0]
        if turn.target is not None:
            return self._claim(turn, view, by_kind)
        return self._own_turn(turn, view, by_kind)

    # On the seat's own turn ------------------------------------------------------------------------------------------

    def _own_turn(self, turn: Turn, view: _View, by_kind: dict[str, list[int]]) -> int:
        if "kyushu" in by_kind and shanten(view.hand) > 2 and self._chance(turn, "kyushu") < 0.9:
            return by_kind["kyushu"][0]
        plan, distance = self._best_plan(view, view.hand, view.own_melds)
        kan = self._own_kan(turn, view, by_kind, distance)
        if kan is not None:
            return kan
        if "riichi" in by_kind:
            ranked = self._ranked_discards(view, by_kind["riichi"], _ANY, 0.0)
            if ranked[0][1] >= self.temperament.riichi_waits:
                return ranked[0][2]
        if "discard" not in by_kind:
            return next(iter(turn.options))
        caution = self.temperament.caution if view.threats else 0.0
        if view.threats and distance >= self.temperament.fold_shanten:
            caution = 100.0
        ranked = self._ranked_discards(view, by_kind["discard"], plan, caution)
        is_slip = len(ranked) > 1 and self._chance(turn, "slip") < self._carelessness
        return ranked[int(is_slip)][2]

    def _own_kan(self, turn: Turn, view: _View, by_kind: dict[str, list[int]], distance: int) -> int | None:
        kans = by_kind.get("ankan", []) + by_kind.get("kakan", [])
        if not kans or (view.threats and distance > 0 and not view.is_riichi):
            return None
        for token in kans:
            action = turn.options[token][0][0]
            kind = (action.tile if action.tile is not None else action.consume_tiles[0]) // 4
            rest = [tile for tile in view.hand if tile // 4 != kind]
            if shanten(rest) <= distance and self._chance(turn, "kan") < self.temperament.kan_rate:
                return token
        return None

    def _ranked_discards(
        self, view: _View, tokens: Sequence[int], plan: _Plan, caution: float
    ) -> list[tuple[float, int, int]]:
        """The discards as (merit, number of tiles accepted next, token), the best first, one for each kind of tile.

        A step of shanten counts more than all else but folding.
        """
        chosen: dict[int, tuple[int, int]] = {}
        for token in tokens:
            tile, is_tsumogiri = divmod((token - self._first_discard) >> 1, 2)
            kind = tile34_of(tile)
            preference = 2 * is_red(tile) - is_tsumogiri  # keep red fives; the drawn tile rather than its like
            if kind not in chosen or preference < chosen[kind][0]:
                chosen[kind] = preference, token
        hands = {kind: _without(view.hand, kind) for kind in chosen}
        planned = {kind: plan.applied(hand) or hand for kind, hand in hands.items()}
        distances = {kind: shanten(hand) for kind, hand in planned.items()}
        nearest = min(distances.values())
        ranked = []
        for kind, (_, token) in chosen.items():
            accepted = 0
            if distances[kind] == nearest and (caution < 100 or nearest == 0):
                accepted = _accepted(planned[kind], nearest, view.unseen, plan)
            merit = accepted - 200.0 * (distances[kind] - nearest) - _worth(kind, view, plan)
            if caution:
                merit -= caution * _danger(kind, view)
            ranked.append((merit, accepted, token))
        ranked.sort(reverse=True)
        return ranked

    # On another seat's tile ------------------------------------------------------------------------------------------

    def _claim(self, turn: Turn, view: _View, by_kind: dict[str, list[int]]) -> int:
        skip = by_kind["skip"][0]
        if view.is_riichi:
            return skip
        _, distance = self._best_plan(view, view.hand, view.own_melds)
        is_folding = bool(view.threats) and distance >= self.temperament.fold_shanten
        for token in by_kind.get("daiminkan", []):
            if not view.threats and self._takes_daiminkan(turn, view, token, distance):
                return token
        best = (distance, 0, skip)
        for token in (*by_kind.get("pon", []), *by_kind.get("chi", [])):
            action = turn.options[token][0][0]
            rest = [tile for tile in view.hand if tile not in action.consume_tiles]
            melds = [*view.own_melds, [*action.consume_tiles, action.tile]]
            after = self._call_shanten(turn, view, rest, melds)
            if (is_folding and after > 0) or after > self.temperament.call_shanten:
                continue
            accepted = -sum(tile // 4 in _DRAGONS for tile in rest)
            best = min(best, (after, accepted, token))
        return best[2] if best[0] < distance else skip

    def _call_shanten(self, turn: Turn, view: _View, rest: list[int], melds: list[list[int]]) -> int:
        """Shanten after a call, towards a hand with a yaku; late in the round towards any."""
        plans = self._plans(view, rest, melds)
        if turn.left <= _LATE and shanten(rest) == 0:
            return 0
        return min((shanten(hand) for plan in plans if (hand := plan.applied(rest))), default=99)

    def _takes_daiminkan(self, turn: Turn, view: _View, token: int, distance: int) -> bool:
        action = turn.options[token][0][0]
        rest = [tile for tile in view.hand if tile not in action.consume_tiles]
        melds = [*view.own_melds, [*action.consume_tiles, action.tile]]
        return (
            any((hand := plan.applied(rest)) and shanten(hand) <= distance for plan in self._plans(view, rest, melds))
            and self._chance(turn, "daiminkan") < self.temperament.kan_rate
        )

    def _passes_ron(self, turn: Turn, view: _View) -> bool:
        if not self.temperament.pass_rate or view.is_riichi or turn.left < 20 or view.values & set(view.dora):
            return False
        tiles = [*view.hand, *(tile for meld in view.own_melds for tile in meld)]
        is_cheap = not any(tile // 4 in view.dora or is_red(TILE_OF_ID[tile]) for tile in tiles)
        return is_cheap and self._chance(turn, "ron") < self.temperament.pass_rate

    # Plans -----------------------------------------------------------------------------------------------------------

    def _plans(self, view: _View, hand: Sequence[int], melds: Sequence[Sequence[int]]) -> list[_Plan]:
        """The plans that give an open hand a yaku."""
        melded = [meld[0] // 4 for meld in melds if meld[0] // 4 == meld[1] // 4]
        concealed = [tile // 4 for tile in hand]
        if any(kind in melded or concealed.count(kind) >= 3 for kind in view.values):
            return [_ANY]
        kinds = [tile // 4 for meld in melds for tile in meld]
        wanted = self.temperament.plans
        plans = (_TANYAO,) * ("tanyao" in wanted) + _FLUSHES * ("flush" in wanted)
        return [plan for plan in plans if all(plan.uses[kind] for kind in kinds)]

    def _best_plan(self, view: _View, hand: list[int], melds: Sequence[Sequence[int]]) -> tuple[_Plan, int]:
        """The plan that is nearest, and its shanten; any hand will do while it is closed."""
        if view.is_open:
            near = [
                (shanten(usable), number, plan)
                for number, plan in enumerate(self._plans(view, hand, melds))
                if (usable := plan.applied(hand))
            ]
            if near:
                distance, _, plan = min(near)
                return plan, distance
        return _ANY, shanten(hand)

    def _chance(self, turn: Turn, purpose: str) -> float:
        """A number in 0 ... 1 that looks random and is the same for the same situation."""
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


def _accepted(hand: list[int], distance: int, unseen: Sequence[int], plan: _Plan) -> int:
    """How many unseen tiles, of kinds that the plan uses, lower the shanten of 3n + 1 tiles."""
    near = {other for tile in hand for other in _NEAR[tile // 4]}
    accepted = 0
    trial = [*hand, 0]
    for kind in near:
        if unseen[kind] and plan.uses[kind]:
            trial[-1] = 4 * kind
            if shanten(trial) < distance:
                accepted += unseen[kind]
    return accepted


def _worth(kind: int, view: _View, plan: _Plan) -> float:
    """What a tile is worth in the hand beyond its shape, in accepted tiles."""
    if not plan.uses[kind]:
        return -3.0
    worth = 3.0 * view.dora.count(kind)
    if kind >= _FIRST_HONOUR:
        return worth + 0.6 * (kind in view.values)
    rank = kind % RANKS_PER_SUIT
    return worth + 0.5 * min(rank, RANKS_PER_SUIT - 1 - rank)


def _danger(kind: int, view: _View) -> float:
    """How dangerous a discard is against the seats in riichi, in steps: 0 cannot be won on, about 7 at most."""
    danger = 0.0
    for seat in view.threats:
        river = {tile // 4 for tile in view.discards[seat]}
        if kind in river:
            continue
        if kind >= _FIRST_HONOUR:
            danger += view.unseen[kind] + 0.5
            continue
        rank = kind % RANKS_PER_SUIT
        partners = [kind + step for step in (-3, 3) if 0 <= rank + step < RANKS_PER_SUIT]
        is_suji = all(partner in river for partner in partners)
        inwards = min(rank, RANKS_PER_SUIT - 1 - rank, 3)
        danger += (1.0 + 0.5 * inwards) if is_suji else 4.0 + inwards
    return danger + 1.0 * (danger > 0) * view.dora.count(kind)


def _without(hand: Sequence[int], kind: int) -> list[int]:
    rest = list(hand)
    for position, tile in enumerate(rest):
        if tile // 4 == kind:
            del rest[position]
            break
    return rest


def _next_kind(kind: int) -> int:
    """The dora that an indicator means."""
    if kind < _FIRST_HONOUR:
        return kind - RANKS_PER_SUIT + 1 if kind % RANKS_PER_SUIT == RANKS_PER_SUIT - 1 else kind + 1
    if kind < _DRAGONS[0]:
        return _FIRST_HONOUR + (kind - _FIRST_HONOUR + 1) % 4
    return _DRAGONS[0] + (kind - _DRAGONS[0] + 1) % len(_DRAGONS)
