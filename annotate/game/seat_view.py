"""The table as one seat sees it, from mjai events in which the other seats' tiles may be hidden.

The engine plays the round with placeholder hands. The seat's own tiles are real. The other seats hold hands that cannot
claim anything; just before an event shows an action of theirs, they get the tiles for it. So the engine determines the
possible claims, furiten and the payment of riichi, and the seat gets the same turns as in a replay of the whole record
(`annotate.replay.replay`) or at a table of the arena.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from annotate.game.decisions import Choice, choice_of
from annotate.game.engine.table import Table, Turn, new_round
from annotate.game.mjai_actions import choice_of_event
from annotate.game.record import CLAIMS, ENDS, Event, Rules, places_dealt
from annotate.game.tiles import NUM_DEAD, TILE_OF_MJAI, unseen_tiles
from annotate.vocabulary import FIRST_HONOUR, NUM_TILES34, RANKS_PER_SUIT, Vocabulary

# kinds of tiles are 0 ... 33 here, and a kind's last physical tile is never a red five
_HONOURS = range(FIRST_HONOUR, NUM_TILES34)
_DULL = {4: (*_HONOURS, 0, 3, 6, 10, 13, 16, 20, 23, 26), 3: (*_HONOURS, 0, 8, 10, 13, 16, 20, 23, 26)}
"""kinds of placeholder tiles by number of seats: honours and 147m (with three players 19m) 258p 369s. Without pairs and
neighbours, they cannot claim anything. Honours come first, as they may always be discarded after a chi"""
_SEQUENCES = range(0, FIRST_HONOUR, 3)
"""lowest kinds of nine sequences that have no kind in common"""


class SeatTable(Table):
    """One round as one seat sees it."""

    keeps_points = True  # `_turn_of` uses the engine's observations unchanged

    def __init__(
        self,
        env: Any,
        observations: Mapping[int, Any],
        vocabulary: Vocabulary,
        seat: int,
        pool: list[list[int]],
        indicator: int,
    ) -> None:
        super().__init__(env, observations, vocabulary, is_wall_true=False, logs_events=False)
        self.seat = seat
        self._pool = pool
        """by tile: the physical tiles that nobody has seen"""
        self._dora = [indicator]
        self._offered: Turn | None = None
        """the seat's turn after the last event; None if it may not act"""
        self._own: Turn | None = None
        """the last turn of the seat, until it or another seat acts"""
        self._awaits_draw = True
        """whether the engine has drawn a tile whose event has not come yet"""
        self._has_missed_in_riichi = False
        self._is_over = False
        self._before_discard: tuple[Any, dict[int, Any]] | None = None
        """a copy of the engine before the last discard, and the moves of the discard. For example, seat 1 discards 5m,
        which no placeholder hand can claim. If the next event is a pon by seat 3, the copy becomes the engine again,
        seat 3 gets 5m 5m, and seat 1 discards once more"""
        self._handlers: dict[str, Callable[[Event], None]] = {
            "tsumo": self._draw,
            "dahai": self._discard_tile,
            "reach": self._declare,
            "dora": self._turn_indicator,
            **dict.fromkeys(CLAIMS, self._claim),
            **dict.fromkeys(("ankan", "kakan", "kita"), self._declare_kan),
            **dict.fromkeys(ENDS, self._end),
        }
        for other in range(vocabulary.num_seats):
            if other != seat:
                self._hold(other, [])

    @classmethod
    def of_start(cls, rules: Rules, start: Event, seat: int, vocabulary: Vocabulary) -> "SeatTable":
        """Creates the table at the start of a round (mjai start_kyoku). Only the hand of `seat` is used. Raises
        ValueError if that hand is hidden, or if the round cannot start like this."""
        pool = unseen_tiles(vocabulary)
        hand = [_taken(pool, name) for name in start["tehais"][seat]]
        indicator = _taken(pool, start["dora_marker"])
        places = places_dealt(start["oya"], vocabulary.num_seats)[seat]
        known = {
            **dict(zip(places, hand, strict=True)),
            vocabulary.num_tile_ids - 1 - vocabulary.num_rinshan: indicator,
        }
        others = iter(sorted(tile for ids in pool for tile in ids))
        wall = [known[place] if place in known else next(others) for place in range(vocabulary.num_tile_ids)]
        try:
            env, observations = new_round(rules, start, wall, vocabulary, logs_events=False)
        except OverflowError as error:  # the engine counts honba in a byte
            raise ValueError(str(error)) from None
        return cls(env, observations, vocabulary, seat, pool, indicator)

    def follow(self, event: Event) -> Turn | None:
        """Applies the next mjai event of the round and returns the seat's turn, None if the seat may not act. After its
        own `reach` the options are the discards that declare it. Events that change nothing (reach_accepted, none) are
        skipped. Raises ValueError if the event cannot follow the earlier events; the table is unusable then."""
        handler = self._handlers.get(event["type"])
        self._offered = None
        if handler is not None:
            if event["type"] not in ENDS and (self._is_over or self._env.done()):
                raise ValueError("after the end of the round")
            handler(event)
        return self._offered

    @property
    def is_furiten(self) -> bool:
        """Whether the seat, before it draws, waits for tiles but may not win with another seat's tile."""
        env, seat = self._env, self.seat
        if self._target is None and env.current_player == seat and env.drawn_tile is not None:
            env, hands = env.clone(), env.hands
            hands[seat] = [tile for tile in hands[seat] if tile != env.drawn_tile]
            env.hands = hands
        waits = env.get_observation(seat).waits
        if not waits:
            return False
        has_missed = self._has_missed_in_riichi or env.missed_agari_doujun[seat]
        return has_missed or any(tile // 4 in waits for tile in env.discards[seat])

    def _draw(self, event: Event) -> None:
        seat = event["actor"]
        if self._target is not None:
            self._respond({})
        if self._env.done() or not self._awaits_draw or self._env.current_player != seat:
            raise ValueError(f"seat {seat} cannot draw a tile now")
        self._awaits_draw, self._before_discard = False, None
        if seat == self.seat:
            hands, tile = self._env.hands, self._take(event["pai"])
            hands[seat].remove(self._env.drawn_tile)
            hands[seat].append(tile)
            self._env.hands, self._env.drawn_tile = hands, tile
            self._offer_turn()

    def _declare(self, event: Event) -> None:
        seat = event["actor"]
        self._require_turn(seat, event)
        if self._riichi_seat is not None:
            raise ValueError("riichi is declared already")
        self.add_event(event)
        if seat == self.seat:
            assert self._own is not None
            riichi = {
                token: moves for token, moves in self._own.options.items() if any(tile is not None for _, tile in moves)
            }
            if not riichi:
                raise ValueError(f"seat {seat} cannot declare riichi now")
            self._offered = replace(self._own, options=riichi)

    def _discard_tile(self, event: Event) -> None:
        seat = event["actor"]
        self._require_turn(seat, event)
        is_riichi = self._riichi_seat == seat
        if seat != self.seat:
            tile = self._take(event["pai"])
            others = self._waiting(seat, len(self._env.hands[seat]) - 1, {tile // 4}) if is_riichi else []
            self._hold(seat, [tile, *others], tile if event["tsumogiri"] else None)
        turn = self._turn_of(seat)
        choice = choice_of_event(turn, event, self.vocabulary, is_riichi)
        is_forced_tedashi = event["tsumogiri"] and turn.observation.forced_tedashi
        self.add_event({**event, "tsumogiri": False} if is_forced_tedashi else event)
        moves = {seat: choice.move}
        self._before_discard = self._env.clone(), moves
        self._play([turn], moves)
        self._offer_claim()

    def _claim(self, event: Event) -> None:
        seat = event["actor"]
        if self._before_discard is None:
            raise ValueError(f"there is no tile to {event['type']}")
        before, moves = self._before_discard
        (discarder,) = moves
        if event["target"] != discarder or seat == discarder:
            raise ValueError(f"seat {seat} cannot {event['type']} a tile of seat {event['target']} now")
        if seat != self.seat:
            # the engine has offered the tile already, when nobody could claim it
            self._env = before
            tiles = [self._take(name) for name in event["consumed"]]
            self._hold(seat, tiles)
            self._play([self._turn_of(discarder)], moves)
        if self._target is None or seat not in self._env.active_players:
            raise ValueError(f"seat {seat} cannot {event['type']} now")
        choice = choice_of_event(self._turn_of(seat), event, self.vocabulary)
        self.add_event(event)
        self._before_discard = None
        self._respond({seat: choice})
        if seat == self.seat and self._target is None and event["type"] != "daiminkan":
            self._offer_turn()

    def _declare_kan(self, event: Event) -> None:
        seat = event["actor"]
        self._require_turn(seat, event)
        if self._riichi_seat is not None:
            raise ValueError("a discard must follow reach")
        if seat != self.seat:
            names = event["consumed"] if event["type"] == "ankan" else [event["pai"]]
            self._arrange_kan(seat, [self._take(name) for name in names])
        turn = self._turn_of(seat)
        choice = choice_of_event(turn, event, self.vocabulary)
        self.add_event(event)
        self._before_discard = None
        self._play([turn], {seat: choice.move})
        self._offer_claim()

    def _turn_indicator(self, event: Event) -> None:
        self._dora.append(self._take(event["dora_marker"]))

    def _end(self, event: Event) -> None:
        self._own = None
        self._is_over = True

    def _look(self, observations: Mapping[int, Any], num_dora: int = 0) -> None:
        self.turns = []

    def _offer_turn(self) -> None:
        self._own = self._offered = self._turn_of(self.seat)

    def _offer_claim(self) -> None:
        self._own = None
        if self._target is not None and self.seat in self._env.active_players:
            self._offer_turn()

    def _turn_of(self, seat: int) -> Turn:
        env = self._env
        observation, target = env.get_observation(seat), self._target
        hand = observation.hand
        drawn = observation.drawn_tile if target is None and len(hand) % 3 == 2 else None
        left, scores = len(env.wall) - NUM_DEAD, observation.scores
        options = self._reader.options(observation, hand, drawn, target)
        return Turn(seat, observation, hand, drawn, list(self._dora), scores, left, target, options, ())

    def _require_turn(self, seat: int, event: Event) -> None:
        if self._env.done() or self._awaits_draw or self._target is not None or self._env.current_player != seat:
            raise ValueError(f"{event['type']} of seat {seat}, but it is not its turn")

    def _respond(self, choices: Mapping[int, Choice]) -> None:
        """Plays the choices of all seats that may claim a tile; seats without an entry in `choices` pass."""
        skip = self.vocabulary.action["skip"].first
        turns = [self._turn_of(seat) for seat in self._env.active_players]
        if self._env.riichi_declared[self.seat] and self._own is not None:
            self._has_missed_in_riichi |= self._own.target is not None
        moves = {turn.seat: choice_of(turn, skip).move for turn in turns}
        self._play(turns, moves | {seat: choice.move for seat, choice in choices.items()})

    def _play(self, turns: list[Turn], moves: Mapping[int, Any]) -> None:
        self.turns = turns
        self.step(moves)
        self._awaits_draw = self._target is None and not self._env.done() and self._env.drawn_tile is not None

    def _take(self, name: str) -> int:
        return _taken(self._pool, name)

    def _hold(self, seat: int, tiles: Sequence[int], drawn: int | None = None) -> None:
        """Gives another seat `tiles` (physical) and placeholders, which cannot claim anything. `drawn`: the tile that
        it has just drawn, if it has drawn one; default: the last tile of the hand."""
        env, hands = self._env, self._env.hands
        kinds = {tile // 4 for tile in tiles}
        dull = [4 * kind + 3 for kind in _DULL[self.vocabulary.num_seats] if kind not in kinds]
        hands[seat] = [*tiles, *dull][: len(hands[seat])]
        env.hands = hands
        if env.current_player == seat and self._target is None and env.drawn_tile is not None:
            env.drawn_tile = hands[seat][-1] if drawn is None else drawn

    def _arrange_kan(self, seat: int, tiles: list[int]) -> None:
        if not self._env.riichi_declared[seat]:
            self._hold(seat, tiles)
            return
        # the waits of a riichi must not depend on the four tiles
        kind = tiles[0] // 4
        first = kind // RANKS_PER_SUIT * RANKS_PER_SUIT
        near = {*range(first, first + RANKS_PER_SUIT)} if kind < FIRST_HONOUR else {kind}
        count = len(self._env.hands[seat]) - len(tiles)
        self._hold(seat, [*tiles, *self._waiting(seat, count, near)], tiles[0])

    def _waiting(self, seat: int, count: int, avoided: set[int]) -> list[int]:
        """Returns a tenpai hand of sequences and an honour, without kinds that are avoided or in the melds."""
        melds = {tile // 4 for meld in self._env.melds[seat] for tile in meld.tiles}
        sequences = [
            [4 * (first + i) + 3 for i in range(3)]
            for first in _SEQUENCES
            if first + 1 in self.vocabulary.kinds and not (melds | avoided) & {first, first + 1, first + 2}
        ]
        honour = next(kind for kind in _HONOURS if kind not in melds | avoided)
        return [tile for sequence in sequences[: count // 3] for tile in sequence] + [4 * honour + 3]


def _taken(pool: list[list[int]], name: str) -> int:
    tile = TILE_OF_MJAI.get(name)
    if tile is None:
        raise ValueError(f"{name!r} is not a tile that can be seen")
    if not pool[tile]:
        raise ValueError(f"more {name} than there are")
    return pool[tile].pop(0)
