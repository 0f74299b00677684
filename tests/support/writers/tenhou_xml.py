"""mjai rounds written as Tenhou's mjlog XML, with melds packed into bits as Tenhou packs them, and no seed of the wall.

mjai does not record which of several equal tiles is meant: here they are taken in ascending order.
"""

from collections.abc import Sequence
from itertools import pairwise

from annotate.game.record import Event
from annotate.records.tenhou.xml_reader import DRAW_REASONS
from tests.support.writers.tenhou_json import NUM_SEATS, filled

_KINDS = [f"{rank}{suit}" for suit in "mps" for rank in range(1, 10)] + list("ESWNPFC")
_RED = {"5mr": 16, "5pr": 52, "5sr": 88}
_TYPES = {reason: name for name, reason in DRAW_REASONS.items()}
_CHI, _PON, _ADDED_KAN, _KITA = 0x4, 0x8, 0x10, 0x20


def mjlog_of(
    rounds: Sequence[Sequence[Event]], final_scores: Sequence[int], kind: int, dan: Sequence[int] = (16, 17, 18, 20)
) -> bytes:
    """A whole document. `rounds`: each from start_kyoku to its last hora or ryukyoku; `kind`: `type` of <GO>."""
    num_seats = len(rounds[0][0]["scores"])
    names = " ".join(f'n{seat}="{f"%E8%AA%B0{seat}" if seat < num_seats else ""}"' for seat in range(NUM_SEATS))
    texts = [
        f'<mjloggm ver="2.3"><GO type="{kind}" lobby="0"/>',
        f'<UN {names} dan="{_joined(dan)}" rate="1500.00,1500.00,1500.00,1500.00" sx="M,M,M,M"/><TAIKYOKU oya="0"/>',
        *(_Round(events).text() for events in rounds),
    ]
    owari = ",".join(f"{score // 100},{score / 1000 - 25:.1f}" for score in filled(final_scores))
    return f'{"".join(texts).removesuffix("/>")} owari="{owari}"/></mjloggm>'.encode()


def _ids_of(name: str) -> list[int]:
    """The physical tiles of a name."""
    if name in _RED:
        return [_RED[name]]
    first = 4 * _KINDS.index(name)
    return [tile for tile in range(first, first + 4) if tile not in _RED.values()]


def _joined(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


class _Round:
    """The elements of one round."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        self._unseen = {name: _ids_of(name) for name in (*_KINDS, *_RED)}
        start = events[0]
        self._hands = [[self._unseen[name].pop(0) for name in hand] for hand in start["tehais"]]
        self._drawn: int | None = None
        self._last = -1
        """the tile discarded last"""
        self._pons: dict[tuple[int, int], int] = {}
        """by seat and kind: the meld's bits"""
        self._scores, self._deposits = list(start["scores"]), start["kyotaku"]

    def text(self) -> str:
        start = self._events[0]
        number = "ESWN".index(start["bakaze"]) * NUM_SEATS + start["kyoku"] - 1
        seed = [number, start["honba"], start["kyotaku"], 2, 5, self._indicator(start["dora_marker"])]
        hands = " ".join(
            f'hai{seat}="{_joined(self._hands[seat] if seat < len(self._hands) else [])}"' for seat in range(NUM_SEATS)
        )
        ten = _joined([score // 100 for score in filled(self._scores)])
        elements = [f'<INIT seed="{_joined(seed)}" ten="{ten}" oya="{start["oya"]}" {hands}/>']
        for event, following in pairwise([*self._events[1:], {"type": "end"}]):
            elements.append(getattr(self, f"_{event['type']}")(event))
            if event["type"] in ("hora", "ryukyoku"):
                assert following["type"] in ("hora", "end"), following
        return "".join(elements)

    def _indicator(self, name: str) -> int:
        return self._unseen[name].pop()

    def _take(self, seat: int, name: str) -> int:
        """Takes a tile of this name from the hand; the drawn one only if there is no other."""
        held = [tile for tile in self._hands[seat] if tile in _ids_of(name)]
        tile = min(held, key=lambda tile: (tile == self._drawn, tile))
        self._hands[seat].remove(tile)
        return tile

    def _tsumo(self, event: Event) -> str:
        seat, self._drawn = event["actor"], self._unseen[event["pai"]].pop(0)
        self._hands[seat].append(self._drawn)
        return f"<{'TUVW'[seat]}{self._drawn}/>"

    def _dahai(self, event: Event) -> str:
        seat = event["actor"]
        if event["tsumogiri"]:
            assert self._drawn in _ids_of(event["pai"]), event
            self._last = self._drawn
            self._hands[seat].remove(self._drawn)
        else:
            self._last = self._take(seat, event["pai"])
        self._drawn = None
        return f"<{'DEFG'[seat]}{self._last}/>"

    def _chi(self, event: Event) -> str:
        tiles = sorted([self._last, *(self._take(event["actor"], name) for name in event["consumed"])])
        suit, rank = divmod(tiles[0] // 4, 9)
        bits = ((suit * 7 + rank) * 3 + tiles.index(self._last)) << 10
        for place, tile in enumerate(tiles):
            bits |= tile % 4 << 3 + 2 * place
        return self._called(event, bits | _CHI)

    def _pon(self, event: Event) -> str:
        tiles = sorted([self._last, *(self._take(event["actor"], name) for name in event["consumed"])])
        kind = self._last // 4
        (unused,) = {0, 1, 2, 3} - {tile % 4 for tile in tiles}
        bits = (kind * 3 + tiles.index(self._last)) << 9 | unused << 5
        self._pons[event["actor"], kind] = bits | (event["target"] - event["actor"]) % NUM_SEATS
        return self._called(event, bits | _PON)

    def _daiminkan(self, event: Event) -> str:
        for name in event["consumed"]:
            self._take(event["actor"], name)
        return self._called(event, self._last << 8)

    def _called(self, event: Event, bits: int) -> str:
        source = (event["target"] - event["actor"]) % NUM_SEATS
        return f'<N who="{event["actor"]}" m="{bits | source}" />'

    def _ankan(self, event: Event) -> str:
        first = min(self._take(event["actor"], name) for name in event["consumed"])
        self._last = first
        return f'<N who="{event["actor"]}" m="{first << 8}" />'

    def _kakan(self, event: Event) -> str:
        added = self._last = self._take(event["actor"], event["pai"])
        pon = self._pons[event["actor"], added // 4]
        assert pon >> 5 & 3 == added % 4, "the tile added is the one that the pon did not use"
        return f'<N who="{event["actor"]}" m="{pon | _ADDED_KAN}" />'

    def _kita(self, event: Event) -> str:
        self._last = self._take(event["actor"], event["pai"])
        return f'<N who="{event["actor"]}" m="{self._last << 8 | _KITA}" />'

    def _dora(self, event: Event) -> str:
        return f'<DORA hai="{self._indicator(event["dora_marker"])}" />'

    def _reach(self, event: Event) -> str:
        return f'<REACH who="{event["actor"]}" step="1"/>'

    def _reach_accepted(self, event: Event) -> str:
        self._scores[event["actor"]] -= 1000
        self._deposits += 1
        ten = _joined([score // 100 for score in filled(self._scores)])
        return f'<REACH who="{event["actor"]}" ten="{ten}" step="2"/>'

    def _hora(self, event: Event) -> str:
        won = self._drawn if event["actor"] == event["target"] else self._last
        ura = _joined([min(_ids_of(name)) for name in event["ura_markers"]])
        hidden = f' doraHaiUra="{ura}"' if ura else ""
        machi = f'machi="{won}" ten="30,1000,0"{hidden} who="{event["actor"]}" fromWho="{event["target"]}"'
        return f"<AGARI {self._ba()} {machi} {self._sc(event)} />"

    def _ryukyoku(self, event: Event) -> str:
        name = _TYPES[event["reason"]]
        kind = "" if name is None else f' type="{name}"'
        return f"<RYUUKYOKU{kind} {self._ba()} {self._sc(event)} />"

    def _ba(self) -> str:
        return f'ba="{self._events[0]["honba"]},{self._deposits}"'

    def _sc(self, event: Event) -> str:
        """Scores before and changes, in hundreds."""
        deltas = event["deltas"]
        pairs = [number // 100 for pair in zip(*map(filled, (self._scores, deltas)), strict=True) for number in pair]
        self._scores = [score + delta for score, delta in zip(self._scores, deltas, strict=True)]
        self._deposits = 0 if event["type"] == "hora" else self._deposits
        return f'sc="{_joined(pairs)}"'
