"""Tenhou's tiles 0 ... 135 and its melds, each packed into 16 bits.

The lowest two bits of a meld are the seat from which the tile was called: 1 right, 2 across, 3 left of the caller, 0
nobody. The same holds for three players, at a table whose fourth seat is empty.
"""

from typing import NamedTuple

from annotate.game.record import Event
from annotate.game.tiles import NAME_OF_ID
from annotate.vocabulary import NUM_TILES34

CHI, PON, ADDED_KAN, KITA = 0x4, 0x8, 0x10, 0x20
SEATS_OF_TABLE = 4
"""also the length of lists in a record: with three players, the fourth seat is empty"""


class Meld(NamedTuple):
    """A meld as an mjai event, and the physical tile that was called (for a closed kan: one of its tiles)."""

    event: Event
    called: int


def decode_meld(code: int, seat: int, num_seats: int) -> Meld:
    """Decodes the meld `code` (0 ... 65535) of `seat`. Raises ValueError if `num_seats` players have no such meld."""
    meld = _meld(code, seat, num_seats)
    if meld.event.get("target", seat) >= num_seats:
        raise ValueError(f"meld {code} of seat {seat} is called from a seat that {num_seats} players do not have")
    return meld


def _meld(code: int, seat: int, num_seats: int) -> Meld:
    if code & CHI:
        if num_seats == 3:
            raise ValueError(f"meld {code} is a chi, which three players do not have")
        _require_unset(code, 0x200)
        return _chi(code, seat)
    if code & (PON | ADDED_KAN):
        _require_unset(code, 0x180 | (ADDED_KAN if code & PON else 0))
        return _pon_or_added_kan(code, seat)
    if code & KITA:
        _require_unset(code, 0xDF)
        if num_seats == 4 or NAME_OF_ID[(code >> 8) % len(NAME_OF_ID)] != "N":
            raise ValueError(f"meld {code} sets aside a tile: only three players do so, and only a north")
        return Meld({"type": "kita", "actor": seat, "pai": "N"}, code >> 8)
    _require_unset(code, 0xFC)
    return _kan(code, seat)


def _require_unset(code: int, bits: int) -> None:
    """Raises ValueError if one of `bits`, which this kind of meld does not use, is set."""
    if code & bits:
        raise ValueError(f"meld {code} has bits set that mean nothing in a meld of its kind")


def _chi(code: int, seat: int) -> Meld:
    lowest, place = divmod(code >> 10, 3)
    suit, rank = divmod(lowest, 7)
    if suit > 2 or code & 3 != 3:
        raise ValueError(f"meld {code} is not a chi from the left")
    first = 9 * suit + rank
    tiles = [4 * (first + i) + (code >> (3 + 2 * i) & 3) for i in range(3)]
    called = tiles.pop(place)
    return Meld(_event("chi", seat, code, called, tiles), called)


def _pon_or_added_kan(code: int, seat: int) -> Meld:
    kind, place = divmod(code >> 9, 3)
    if kind >= NUM_TILES34 or code & 3 == 0:
        raise ValueError(f"meld {code} is neither a pon nor an added kan")
    unused = 4 * kind + (code >> 5 & 3)
    tiles = [tile for tile in range(4 * kind, 4 * kind + 4) if tile != unused]
    if code & PON:
        called = tiles.pop(place)
        return Meld(_event("pon", seat, code, called, tiles), called)
    consumed = [NAME_OF_ID[tile] for tile in tiles]
    return Meld({"type": "kakan", "actor": seat, "pai": NAME_OF_ID[unused], "consumed": consumed}, unused)


def _kan(code: int, seat: int) -> Meld:
    called = code >> 8
    if called >= len(NAME_OF_ID):
        raise ValueError(f"meld {code} is not a kan")
    tiles = list(range(called // 4 * 4, called // 4 * 4 + 4))
    if code & 3 == 0:
        return Meld({"type": "ankan", "actor": seat, "consumed": [NAME_OF_ID[tile] for tile in tiles]}, called)
    tiles.remove(called)
    return Meld(_event("daiminkan", seat, code, called, tiles), called)


def _event(name: str, seat: int, code: int, called: int, consumed: list[int]) -> Event:
    return {
        "type": name,
        "actor": seat,
        "target": (seat + (code & 3)) % SEATS_OF_TABLE,
        "pai": NAME_OF_ID[called],
        "consumed": [NAME_OF_ID[tile] for tile in consumed],
    }
