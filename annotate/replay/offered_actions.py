"""Compares a record's lists of each seat's options with those of the engine, as a second source of the rules.

A difference is reported and changes nothing: annotations hold what the engine allows. Only what a player pressed is
taken from the record, where another seat's call or ron kept it from being carried out.
"""

from collections.abc import Sequence, Set
from functools import cache, lru_cache

from annotate.game.engine.table import Turn
from annotate.game.record import Event, Option, Round
from annotate.game.tiles import MJAI_NAMES, TILE_OF_ID, TILE_OF_MJAI
from annotate.vocabulary import CHI_TILES, Vocabulary, tile34_of, tile_of

_WORDS = {"tsumo": "win", "ron": "win", "hora": "win", "kyushu": "nine terminals", "ryukyoku": "nine terminals"}


class OfferedActions:
    """The offers of one recorded round."""

    def __init__(self, recorded: Round, vocabulary: Vocabulary) -> None:
        self.differences: list[str] = []
        self._events = recorded.events
        self._offers = {(offer.after, offer.seat): offer for offer in recorded.offers or ()}
        self._has_offers = recorded.offers is not None
        self._words = _words_of_actions(vocabulary)
        self._skip = vocabulary.action["skip"].first
        self._compared: set[tuple[int, int]] = set()

    def compare(self, after: int, turns: Sequence[Turn]) -> None:
        """Compares the options of the seats that must act now with what the record offers them. `after`: index of the
        event that they react to; see Offer."""
        if not self._has_offers:
            return
        for turn in turns:
            self._compared.add((after, turn.seat))
            offer = self._offers.get((after, turn.seat))
            if offer is None and len(turn.options) < 2:
                continue  # nothing to choose
            recorded, engine = _offered(offer.options if offer is not None else (), turn), self._possible(turn)
            if turn.observation.riichi_declared[turn.seat]:
                # the discard is not a choice, and is not always offered
                recorded, engine = ({word for word in side if "discard" not in word} for side in (recorded, engine))
            self._add_difference(after, turn.seat, recorded, engine)

    def finish(self) -> None:
        """Adds the offers to seats that the engine gave no turn to the differences."""
        for after, seat in sorted(self._offers.keys() - self._compared):
            kinds = {option.type for option in self._offers[after, seat].options}
            self._add_difference(after, seat, {_WORDS.get(kind, kind) for kind in kinds}, set())

    def pressed(self, after: int, seat: int) -> Event | None:
        """Returns what a seat pressed on another's tile, as a whole event ("none": a pass); None if not recorded."""
        offer = self._offers.get((after, seat))
        if offer is None or offer.pressed is None:
            return None
        event = self._events[after]
        called = {"actor": seat, "target": event["actor"], "pai": event.get("pai")}
        return {**called, "type": offer.pressed.type, "consumed": offer.pressed.tiles}

    def _possible(self, turn: Turn) -> set[str]:
        words = {self._words[token] for token in turn.options}
        words.discard(self._words[self._skip])
        return words

    def _add_difference(self, after: int, seat: int, recorded: Set[str], engine: Set[str]) -> None:
        if recorded == engine:
            return
        event = self._events[after]
        what = " ".join(str(event[key]) for key in ("type", "actor", "pai") if key in event)
        sides = (("the record", recorded - engine), ("the engine", engine - recorded))
        parts = [f"only {side} has {', '.join(sorted(words))}" for side, words in sides if words]
        self.differences.append(f"options of seat {seat} after event {after} ({what}): {'; '.join(parts)}")


@cache
def _words_of_actions(vocabulary: Vocabulary) -> tuple[str, ...]:
    """Returns, by action token, the words by which actions are compared with a record's options."""
    return tuple(_word(token, vocabulary) for token in range(vocabulary.action.size))


def _word(token: int, vocabulary: Vocabulary) -> str:
    kind, values = vocabulary.action.describe(token)
    if kind == "discard":
        is_riichi, tile = values["riichi"], values["tile"]
        return f"riichi {_kind(tile)}" if is_riichi else _discard(tile)
    if kind == "chi":
        return _chi(CHI_TILES[values["chi"]][:2])
    if kind == "ankan":
        return f"ankan {_kind(tile_of(values['tile34']))}"
    if kind == "kakan":
        return f"kakan {_kind(values['tile'])}"
    return _WORDS.get(kind) or kind


def _offered(options: tuple[Option, ...], turn: Turn) -> Set[str]:
    words, forbidden = _words_of_options(options)
    if forbidden is None:
        return words
    return words | ({_DISCARD_OF_ID[i] for i in turn.hand} - forbidden)


@lru_cache(maxsize=10_000)
def _words_of_options(options: tuple[Option, ...]) -> tuple[frozenset[str], frozenset[str] | None]:
    """Returns the options but the discards, and the forbidden discards; None if no discard is possible."""
    words: set[str] = set()
    forbidden = None
    for kind, names in options:
        tiles = [TILE_OF_MJAI[name] for name in names]
        if kind == "dahai":
            forbidden = frozenset(_discard(tile) for tile in tiles)
        elif kind == "reach":
            words.add(f"riichi {_kind(tiles[0])}")
        elif kind == "chi":
            words.add(_chi(tiles))
        elif kind in ("ankan", "kakan"):
            words.add(f"{kind} {_kind(tiles[0])}")
        else:
            words.add(_WORDS.get(kind) or kind)
    return frozenset(words), forbidden


def _chi(tiles: Sequence[int]) -> str:
    return f"chi {' '.join(MJAI_NAMES[tile] for tile in sorted(tiles, key=tile34_of))}"


def _kind(tile: int) -> str:
    """Returns the name of a tile, that of the ordinary one for a red five."""
    return MJAI_NAMES[tile_of(tile34_of(tile))]


def _discard(tile: int) -> str:
    return f"discard {_kind(tile)}"


_DISCARD_OF_ID = tuple(map(_discard, TILE_OF_ID))
