"""A record's own lists of what each seat could do: a second witness of the rules, compared with the engine.

A difference is put into words and changes nothing: what the engine allows is what annotations hold. Only what a player
pressed is taken from the record, where another seat's call or ron kept it from being carried out.
"""

from collections.abc import Sequence
from functools import cache

from annotate.game.engine import Turn
from annotate.game.record import Event, Offer, Round
from annotate.game.tiles import MJAI_NAMES, TILE_OF_ID, TILE_OF_MJAI
from annotate.vocabulary import CHI_TILES, Vocabulary, tile34_of, tile_of

_WORDS = {"tsumo": "win", "ron": "win", "hora": "win", "kyushu": "nine terminals", "ryukyoku": "nine terminals"}


class OfferedActions:
    """The offers of one recorded round."""

    def __init__(self, recorded: Round, vocabulary: Vocabulary) -> None:
        self.differences: list[str] = []
        self._events = recorded.events
        self._offers = {(offer.after, offer.seat): offer for offer in recorded.offers or ()}
        self._is_asked = recorded.offers is not None
        self._words = _words_of_actions(vocabulary)
        self._skip = vocabulary.action["skip"].first
        self._heard: set[tuple[int, int]] = set()

    def compare(self, after: int, turns: Sequence[Turn]) -> None:
        """Compares the options of the seats that must act now with what the record offers them.

        Args:
            after: place of the event that they answer; see Offer.
        """
        if not self._is_asked:
            return
        for turn in turns:
            self._heard.add((after, turn.seat))
            offer = self._offers.get((after, turn.seat))
            if offer is None and len(turn.options) < 2:
                continue  # nothing to choose
            recorded, engine = _offered(offer, turn), self._possible(turn)
            if turn.observation.riichi_declared[turn.seat]:
                # the discard is no choice, and is not always offered
                recorded, engine = ({word for word in side if "discard" not in word} for side in (recorded, engine))
            self._tell(after, turn.seat, recorded, engine)

    def finish(self) -> None:
        """Tells of the offers to seats that the engine gave no turn."""
        for after, seat in sorted(self._offers.keys() - self._heard):
            kinds = {event["type"] for event in self._offers[after, seat].options}
            self._tell(after, seat, {_WORDS.get(kind, kind) for kind in kinds}, set())

    def pressed(self, after: int, seat: int) -> Event | None:
        """What a seat pressed as an answer to another's tile, as a whole event ("none": a pass); None if not told."""
        offer = self._offers.get((after, seat))
        if offer is None or offer.pressed is None:
            return None
        answered = self._events[after]
        return {"actor": seat, "target": answered["actor"], "pai": answered.get("pai"), **offer.pressed}

    def _possible(self, turn: Turn) -> set[str]:
        """The engine's options in words; passing is left out."""
        return {self._words[token] for token in turn.options if token != self._skip}

    def _tell(self, after: int, seat: int, recorded: set[str], engine: set[str]) -> None:
        if recorded == engine:
            return
        answered = self._events[after]
        what = " ".join(str(answered[key]) for key in ("type", "actor", "pai") if key in answered)
        sides = (("the record", recorded - engine), ("the engine", engine - recorded))
        told = [f"only {side} has {', '.join(sorted(words))}" for side, words in sides if words]
        self.differences.append(f"options of seat {seat} after event {after} ({what}): {'; '.join(told)}")


@cache
def _words_of_actions(vocabulary: Vocabulary) -> tuple[str, ...]:
    """By action token: the action in words that a record's option can be put into as well."""
    return tuple(_word(token, vocabulary) for token in range(vocabulary.action.size))


def _word(token: int, vocabulary: Vocabulary) -> str:
    kind, values = vocabulary.action.describe(token)
    if kind == "discard":
        is_riichi, tile = values["riichi"], values["tile"]
        return f"riichi {MJAI_NAMES[tile]}" if is_riichi else f"discard {_kind(tile)}"
    if kind == "chi":
        return _chi(CHI_TILES[values["chi"]][:2])
    if kind == "ankan":
        return f"ankan {_kind(tile_of(values['tile34']))}"
    if kind == "kakan":
        return f"kakan {_kind(values['tile'])}"
    return _WORDS.get(kind) or kind


def _offered(offer: Offer | None, turn: Turn) -> set[str]:
    """The record's options in the same words."""
    words = set()
    for event in offer.options if offer is not None else ():
        kind, tiles = event["type"], [TILE_OF_MJAI[name] for name in event.get("consumed", ())]
        if kind == "dahai":
            forbidden = {_kind(TILE_OF_MJAI[name]) for name in event["forbidden"]}
            words |= {f"discard {name}" for name in {_KIND_OF_ID[i] for i in turn.observation.hand} - forbidden}
        elif kind == "reach":
            words.add(f"riichi {event['pai']}")
        elif kind == "chi":
            words.add(_chi(tiles))
        elif kind in ("ankan", "kakan"):
            words.add(f"{kind} {_kind(tiles[0])}")
        else:
            words.add(_WORDS.get(kind) or kind)
    return words


def _chi(tiles: Sequence[int]) -> str:
    return f"chi {' '.join(MJAI_NAMES[tile] for tile in sorted(tiles, key=tile34_of))}"


def _kind(tile: int) -> str:
    """The name of the ordinary tile in place of a red one."""
    return MJAI_NAMES[tile_of(tile34_of(tile))]


_KIND_OF_ID = tuple(map(_kind, TILE_OF_ID))
