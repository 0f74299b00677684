"""Follows a recorded round: the events between two decisions, and all hands at each decision.

A place is the number of events of the record before it. Tiles have the specification's names.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from annotate.annotation import Annotation
from annotate.game.engine.hand_evaluator import shanten
from annotate.game.hands import Hands, Meld
from annotate.game.record import CLAIMS, Event, Round
from annotate.game.tiles import TILE_OF_MJAI
from annotate.vocabulary import Vocabulary, tile34_of
from kanachan.review.tile_names import name_of, sorted_tiles

Data = dict[str, Any]
_PUBLIC = ("dahai", "chi", "pon", "daiminkan", "ankan", "kakan", "kita")
_CLAIMED = ("dahai", "kakan", "kita")
_TYPES = {"tsumo": "draw", "dahai": "discard", "reach_accepted": "riichi", "hora": "win"}


@dataclass(frozen=True, slots=True)
class Discard:
    """A discarded tile in a river."""

    tile: str
    tsumogiri: bool
    riichi: bool
    called: bool = False
    """whether another seat has called it"""


@dataclass(frozen=True, slots=True)
class Moment:
    """The table between two events; lists are by seat."""

    concealed: list[list[str]]
    """sorted tiles, without the drawn tile"""
    drawn: list[str | None]
    furiten_kinds: list[frozenset[int]]
    """kinds (0 ... 33) that a seat has discarded, or has waited for and let pass in this turn or since its riichi"""
    rivers: list[list[Discard]]
    melds: list[list[Meld]]
    norths: list[int]
    last: Data
    """the last public event, as the fields `last_…` of `kanachan.review.board.TableView`"""


class Course:
    """The events of one round, as in its record."""

    def __init__(self, recorded: Round, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.events = recorded.events
        self._places = [1, *(i + 1 for i, event in enumerate(self.events) if event["type"] in _PUBLIC)]
        """places by the number of public events"""
        self._described = [_described(self.events, i) for i in range(len(self.events))]
        hands = Hands(self.events[0])
        num_seats = len(hands.concealed)
        discarded: list[set[int]] = [set() for _ in range(num_seats)]
        passed: list[set[int]] = [set() for _ in range(num_seats)]
        riichi: set[int] = set()
        last: tuple[int, int] | None = None  # seat and kind of a tile with which another seat can win
        rivers: list[list[Discard]] = [[] for _ in range(num_seats)]
        public: Data = {}
        self._moments: list[Moment] = []
        """the table after each event"""
        for event, shown in zip(self.events, self._described, strict=True):
            kind, actor = event["type"], event.get("actor", -1)
            if last is not None and kind != "hora":
                for seat in {*range(num_seats)} - {last[0]}:
                    if _is_completed_by(last[1], hands.concealed[seat], num_seats):
                        passed[seat].add(last[1])
            last = (actor, _kind(event["pai"])) if kind in _CLAIMED else None
            if kind == "reach":
                riichi.add(actor)
                passed[actor].clear()
            elif kind in ("tsumo", "dahai", "chi", "pon") and actor not in riichi:
                passed[actor].clear()
            if kind == "dahai":
                assert shown is not None
                discarded[actor].add(_kind(event["pai"]))
                rivers[actor].append(Discard(shown["tile"], shown["tsumogiri"], shown["riichi"]))
            if kind in CLAIMS:
                rivers[event["target"]][-1] = replace(rivers[event["target"]][-1], called=True)
            hands.follow(event)
            melds = [[_renamed(meld) for meld in melds] for melds in hands.melds]
            if kind in _PUBLIC:
                public = {"last_seat": actor, "last_kind": _TYPES.get(kind, kind), "last_meld": None}
                if kind not in ("dahai", "kita"):
                    added = [meld.added for meld in melds[actor]]
                    public["last_meld"] = added.index(name_of(event["pai"])) if kind == "kakan" else len(added) - 1
            furiten = [frozenset(own | other) for own, other in zip(discarded, passed, strict=True)]
            (concealed, drawn), so_far = _shown(hands), [list(river) for river in rivers]
            self._moments.append(Moment(concealed, drawn, furiten, so_far, melds, list(hands.norths), public))

    @property
    def end(self) -> int:
        """The place after the last event."""
        return len(self.events)

    def place_of(self, annotation: Annotation) -> int:
        """Returns the place of a decision, which is after all events that the player had seen."""
        names = [self.vocabulary.sparse.describe(token)[0] for token in annotation.sparse]
        place = self._places[len(annotation.progression) - 1]
        if "drawn" in names:
            while self.events[place - 1]["type"] != "tsumo":
                place += 1
        num_dora = 1 + sum(event["type"] == "dora" for event in self.events[:place])
        while num_dora < names.count("dora") and self.events[place]["type"] == "dora":
            place, num_dora = place + 1, num_dora + 1
        return place

    def moment(self, place: int) -> Moment:
        return self._moments[place - 1]

    def between(self, first: int, last: int) -> list[Data]:
        """Returns the page's events from one place to another."""
        return [event for event in self._described[first:last] if event is not None]


def _is_completed_by(kind: int, hand: Sequence[str], num_seats: int) -> bool:
    return len(hand) % 3 == 1 and shanten([4 * k for k in (*map(_kind, hand), kind)], num_seats) == -1


def _kind(mjai: str) -> int:
    return tile34_of(TILE_OF_MJAI[mjai])


def _shown(hands: Hands) -> tuple[list[list[str]], list[str | None]]:
    concealed, drawn = [], []
    for hand, tile in zip(hands.concealed, hands.drawn, strict=True):
        concealed.append(sorted_tiles(list(map(name_of, hand if tile is None else hand[:-1]))))
        drawn.append(None if tile is None else name_of(tile))
    return concealed, drawn


def _renamed(meld: Meld) -> Meld:
    called, added = (None if tile is None else name_of(tile) for tile in (meld.called, meld.added))
    return replace(meld, own=sorted_tiles(map(name_of, meld.own)), called=called, added=added)


def _described(events: Sequence[Event], index: int) -> Data | None:
    """Returns an event for the page; None for events not shown there (start of the round, declaration of riichi)."""
    event = events[index]
    kind = event["type"]
    if kind in ("start_kyoku", "reach"):
        return None
    if kind == "dora":
        return {"type": kind, "tile": name_of(event["dora_marker"])}
    if kind == "ryukyoku":
        return {"type": "end"}
    found: Data = {"type": _TYPES.get(kind, kind), "seat": event["actor"]}
    if kind == "hora":
        tile = winning_tile(events, event)
        return {**found, "source": None if event["target"] == event["actor"] else event["target"], "tile": tile}
    if "pai" in event:
        found["tile"] = name_of(event["pai"])
    if kind == "dahai":
        is_riichi = events[index - 1] == {"type": "reach", "actor": event["actor"]}
        return {**found, "tsumogiri": event["tsumogiri"], "riichi": is_riichi}
    if "consumed" in event:
        found["own"] = list(map(name_of, event["consumed"]))
    if "target" in event:
        found["source"] = event["target"]
    return found


def winning_tile(events: Sequence[Event], win: Event) -> str:
    """Returns the winning tile, which was drawn, discarded, declared as a kan or set aside."""
    taken = ("tsumo",) if win["target"] == win["actor"] else (*_CLAIMED, "ankan")
    last = next(event for event in reversed(events) if event["type"] in taken)
    return name_of(last["pai"] if "pai" in last else last["consumed"][-1])
