"""The options of a seat by action token, read from the engine's legal actions."""

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

from riichienv import Action, Action3P, ActionType, check_riichi_candidates

from annotate.game.tiles import RED_IDS, TILE_OF_ID
from annotate.vocabulary import CHI_OF_TILES, Vocabulary, tile34_of

Move: TypeAlias = tuple[Action | Action3P, int | None]
"""the engine's action and, for riichi, the physical tile to discard with it"""
Options: TypeAlias = dict[int, list[Move]]
"""moves of each action token, the preferred move first; tokens ascend"""

_WITHOUT_TILE = {
    ActionType.PASS: "skip",
    ActionType.TSUMO: "tsumo",
    ActionType.KYUSHU_KYUHAI: "kyushu",
    ActionType.KITA: "kita",  # one for each North in the hand
}
"""blocks with a single action"""
_CALLS = {ActionType.PON: "pon", ActionType.DAIMINKAN: "daiminkan"}

# attributes of the engine's classes are slow to look up
_DISCARD, _RIICHI = ActionType.DISCARD, ActionType.RIICHI
_ANKAN, _KAKAN, _CHI, _RON = ActionType.ANKAN, ActionType.KAKAN, ActionType.CHI, ActionType.RON


class OptionReader:
    """Reads the options of turns."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        discard = vocabulary.action["discard"]
        by_tile, self._by_tsumogiri, self._by_riichi = discard.strides
        self._blocks, self._num_seats = vocabulary.action.blocks, vocabulary.num_seats
        self._pon = self._blocks["pon"]
        self._discards = [discard.first + tile * by_tile for tile in TILE_OF_ID]
        """token of the discard from the hand, by physical tile"""

    def options(self, observation: Any, hand: Sequence[int], drawn: int | None, target: int | None) -> Options:
        """Returns the options of the seat that must act, of which `observation` is riichienv's Observation, `hand` the
        concealed tiles (physical), `drawn` the tile just drawn, and `target` the seat whose tile may be claimed."""
        if observation.forced_tedashi:
            drawn = None
        options: Options = {}
        for action in observation.legal_actions():
            kind = action.action_type
            if kind == _DISCARD:
                token = self._discards[action.tile] + (action.tile == drawn) * self._by_tsumogiri
                if token not in options:
                    options[token] = [(action, None)]
            elif kind == _RIICHI:
                for tile in check_riichi_candidates(sorted(hand)):
                    token = self._discards[tile] + (tile == drawn) * self._by_tsumogiri + self._by_riichi
                    options.setdefault(token, []).append((action, tile))
            else:
                token = self._token(action, observation.player_id, target)
                options.setdefault(token, []).append((action, None))
        if target is not None:
            for token, moves in options.items():
                if len(moves) > 1 and self._pon.first <= token < self._pon.first + self._pon.size:
                    # the token does not state whether a red five of the hand is used; prefer the move that uses it
                    moves.sort(key=lambda move: not any(i in RED_IDS for i in move[0].consume_tiles))
        assert len(options) < 64, (observation.player_id, options)
        return {token: options[token] for token in sorted(options)}

    def _token(self, action: Action | Action3P, seat: int, target: int | None) -> int:
        """Returns the token of an action of `seat` that is neither a discard nor riichi."""
        kind, block = action.action_type, self._blocks
        if kind in _WITHOUT_TILE:
            return block[_WITHOUT_TILE[kind]].first
        tile = TILE_OF_ID[action.tile] if action.tile is not None else -1
        if kind == _ANKAN:
            return block["ankan"].token(tile34_of(tile))
        if kind == _KAKAN:
            return block["kakan"].token(tile)
        if kind == _CHI:
            return block["chi"].token(CHI_OF_TILES[frozenset(TILE_OF_ID[i] for i in action.consume_tiles), tile])
        assert target is not None, action
        relative_seat = (target - seat - 1) % self._num_seats
        if kind in _CALLS:
            return block[_CALLS[kind]].token(relative_seat, tile)
        assert kind == _RON, kind
        return block["ron"].token(relative_seat)


reader_of = cache(OptionReader)
"""returns the option reader of a vocabulary, always the same instance"""
