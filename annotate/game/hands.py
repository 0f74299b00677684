"""Tracks the concealed tiles, melds and Norths set aside of all seats through a round whose events show all hands."""

from collections.abc import Sequence
from dataclasses import dataclass

from annotate.game.engine.hand_evaluator import is_tenpai
from annotate.game.record import CLAIMS, Event


@dataclass(slots=True)
class Meld:
    """A call or kan; its tiles have mjai's names, or the specification's."""

    kind: str
    own: list[str]
    """tiles from the hand, except the one added to a pon"""
    called: str | None = None
    source: int | None = None
    """the seat that discarded `called`"""
    added: str | None = None

    @property
    def tiles(self) -> list[str]:
        return [*self.own, *(tile for tile in (self.called, self.added) if tile is not None)]


class Hands:
    """The hands after each event passed to `follow`; tiles have mjai's names. `start`: the start_kyoku event."""

    def __init__(self, start: Event) -> None:
        self.concealed: list[list[str]] = [list(hand) for hand in start["tehais"]]
        """by seat, with the drawn tile last"""
        self.melds: list[list[Meld]] = [[] for _ in self.concealed]
        self.drawn: list[str | None] = [None] * len(self.concealed)
        """by seat: the tile drawn in the turn in progress"""
        self.norths = [0] * len(self.concealed)

    def follow(self, event: Event) -> None:
        """Applies the next event of the round; events that move no tile of a hand are skipped."""
        kind, seat = event["type"], event.get("actor", -1)
        if kind == "tsumo":
            self.concealed[seat].append(event["pai"])
            self.drawn[seat] = event["pai"]
        elif kind == "dahai":
            self._remove(seat, [event["pai"]], is_drawn=event["tsumogiri"])
        elif kind == "kakan":
            self._remove(seat, [event["pai"]])
            meld = next(meld for meld in self.melds[seat] if sorted(meld.tiles) == sorted(event["consumed"]))
            meld.kind, meld.added = kind, event["pai"]
        elif kind in CLAIMS:
            self._remove(seat, event["consumed"])
            self.melds[seat].append(Meld(kind, list(event["consumed"]), event["pai"], event["target"]))
        elif kind == "kita":
            self._remove(seat, [event["pai"]])
            self.norths[seat] += 1
        elif kind == "ankan":
            self._remove(seat, event["consumed"])
            self.melds[seat].append(Meld(kind, list(event["consumed"])))

    def _remove(self, seat: int, names: Sequence[str], *, is_drawn: bool = False) -> None:
        hand = self.concealed[seat]
        for name in names:
            if is_drawn:
                assert hand[-1] == name, (hand, name)
                hand.pop()
            else:
                hand.remove(name)
        self.drawn[seat] = None


def tenpai_at_end(events: Sequence[Event]) -> list[bool]:
    """Returns by seat whether the hand at the round's end waits for a tile that it does not hold four times."""
    hands = Hands(events[0])
    for event in events:
        hands.follow(event)
    return [
        is_tenpai(hand, [(meld.kind, meld.tiles) for meld in melds], len(hands.concealed))
        for hand, melds in zip(hands.concealed, hands.melds, strict=True)
    ]
