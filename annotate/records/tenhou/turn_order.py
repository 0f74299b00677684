"""Orders the events of one round of tenhou.net/6 JSON, which lists each seat's actions but not the order of the seats.

A seat's draws and discards become its turns, each from a draw or call to a discard. The dealer starts. A turn that
starts with a draw follows a turn of the seat to the left; a turn that starts with a call follows the called discard.
If a call fits several equal discards, all are tried: at most one order includes all turns.

Proof, for four seats (with three, the next turn of s would follow no seat at all): let two orders first differ after a
turn of seat s, continuing with x and with y. Then y's next turn in the first order (and x's in the second) can only
follow a later turn of s. So the next turn of s, whose start determines which seat it follows, follows neither y nor x,
but the fourth seat in both orders; and the fourth seat's first turn after the difference, for the same reason, follows
the same seat in both orders, but it is x in the first and y in the second.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from annotate.game.record import Event
from annotate.records.tenhou.meld import SEATS_OF_TABLE

MOST_TURNS = 112
"""upper limit for a round, far above its 70 draws and at most 16 calls of other seats' tiles"""
MOST_DEAD_ENDS = 20_000

TILES = {10 * suit + rank: f"{rank}{'mps'[suit - 1]}" for suit in (1, 2, 3) for rank in range(1, 10)}
TILES |= {41 + number: name for number, name in enumerate("ESWNPFC")}
TILES |= {50 + suit: f"5{'mps'[suit - 1]}r" for suit in (1, 2, 3)}

_DRAWN = 60
_NO_DISCARD = 0
_MELD = re.compile(r"((?:\d\d)*)([cpmka])((?:\d\d)+)")
_KITA = "f44"
_KINDS = {"c": ("chi", 3), "p": ("pon", 3), "m": ("daiminkan", 4), "k": ("kakan", 4), "a": ("ankan", 4)}
# by number of tiles before the letter: the seat whose tile was called, 1 right, 2 across, 3 left of the caller
_SOURCES = {"c": {0: 3}, "p": {0: 3, 1: 2, 2: 1}, "m": {0: 3, 1: 2, 3: 1}}

Turn = tuple[Event, ...]


def turns_of(seat: int, draws: Sequence[Any], discards: Sequence[Any]) -> list[Turn]:
    """Returns the turns of `seat`: tuples of events, each from a draw or call to a discard or to the end of the round.
    Raises ValueError if an element is not a draw, call or discard, or the two lists do not match."""
    turns: list[Turn] = []
    turn: list[Event] = []
    rest = list(discards)[::-1]
    for number, draw in enumerate(draws):
        taken = _meld(seat, draw, "cpm") if type(draw) is str else {"type": "tsumo", "actor": seat, "pai": _tile(draw)}
        if turn and taken["type"] != "tsumo":
            raise ValueError(f"seat {seat}: call {draw!r} where the tile after a kan is expected")
        turn.append(taken)
        if taken["type"] == "daiminkan":
            if rest and rest[-1] == _NO_DISCARD:
                rest.pop()
            continue
        if not rest:
            if number + 1 < len(draws):
                raise ValueError(f"seat {seat}: {len(draws)} draws, but only {len(discards)} discards")
            break
        turn += _act(seat, rest.pop(), taken)
        if turn[-1]["type"] == "dahai":
            turns.append(tuple(turn))
            turn = []
    if rest:
        raise ValueError(f"seat {seat}: {len(rest)} discards more than draws")
    return [*turns, tuple(turn)] if turn else turns


def events_of(
    start: Event, turns: Sequence[Sequence[Turn]], dora: Sequence[str], ending: Sequence[Event]
) -> tuple[Event, ...]:
    """Returns the round's events from start_kyoku to the last hora or ryukyoku. Raises ValueError if no order fits.
    `turns`: by seat; `dora`: the indicators revealed after the first; `ending`: the round's last events."""
    if sum(map(len, turns)) > MOST_TURNS:
        raise ValueError(f"more than {MOST_TURNS} turns, which no wall has tiles for")
    order = order_of(turns, start["oya"])
    if order is None:
        raise ValueError("no order of the seats' draws, calls and discards includes all of them")
    return (start, *_with_consequences(order, dora, ending))


def _tile(number: Any) -> str:
    if type(number) is not int or number not in TILES:
        raise ValueError(f"{json.dumps(number)[:80]} is not a tile")
    return TILES[number]


def tiles_of(numbers: Iterable[Any]) -> list[str]:
    """Returns mjai's names of tiles; raises ValueError if one of the numbers is no tile."""
    return list(map(_tile, numbers))


def _act(seat: int, discard: Any, taken: Event) -> list[Event]:
    """Returns the events of `seat` after taking a tile: a kan or a discard, with riichi before it if declared."""
    if discard == _KITA:
        return [{"type": "kita", "actor": seat, "pai": "N"}]
    if type(discard) is str and discard[:1] != "r":
        return [_meld(seat, discard, "ka")]
    is_riichi = type(discard) is str
    if is_riichi:
        if not re.fullmatch(r"r\d\d", discard):
            raise ValueError(f"seat {seat}: {discard!r} is not a discard")
        discard = int(discard[1:])
    is_drawn = discard == _DRAWN
    if is_drawn and taken["type"] != "tsumo":
        raise ValueError(f"seat {seat} discards the tile drawn, but it has called")
    pai = taken["pai"] if is_drawn else _tile(discard)
    dahai = {"type": "dahai", "actor": seat, "pai": pai, "tsumogiri": is_drawn}
    return [{"type": "reach", "actor": seat}, dahai] if is_riichi else [dahai]


def _meld(seat: int, text: str, letters: str) -> Event:
    match = _MELD.fullmatch(text)
    if match is None or match[2] not in letters:
        raise ValueError(f"seat {seat}: {text!r} is not a call or kan that is possible here")
    letter, place = match[2], len(match[1]) // 2
    tiles = [_tile(int(pair)) for pair in re.findall(r"\d\d", text)]
    kind, count = _KINDS[letter]
    if len(tiles) != count or (letter in _SOURCES and place not in _SOURCES[letter]):
        raise ValueError(f"seat {seat}: {text!r} is not a {kind}")
    if kind == "ankan":
        return {"type": kind, "actor": seat, "consumed": tiles}
    pai = tiles.pop(place)
    if kind == "kakan":
        return {"type": kind, "actor": seat, "pai": pai, "consumed": tiles}
    target = (seat + _SOURCES[letter][place]) % SEATS_OF_TABLE
    return {"type": kind, "actor": seat, "target": target, "pai": pai, "consumed": tiles}


def order_of(turns: Sequence[Sequence[Turn]], first: int) -> list[Turn] | None:
    """Returns the only order of all turns that starts with seat `first`, or None if there is none. Raises ValueError if
    the search meets too many dead ends."""
    total = tuple(map(len, turns))
    dead_ends: set[tuple[tuple[int, ...], int]] = set()

    def from_here(done: tuple[int, ...], seat: int) -> list[Turn] | None:
        """Returns the remaining turns, last one first, if the next one is `seat`'s; `done` counts the turns by seat."""
        if (done, seat) in dead_ends:
            return None
        turn = turns[seat][done[seat]]
        after = (*done[:seat], done[seat] + 1, *done[seat + 1 :])
        if after == total:
            return [turn]
        for follower in followers(turn[-1], after):
            rest = from_here(after, follower)
            if rest is not None:
                rest.append(turn)
                return rest
        dead_ends.add((done, seat))
        if len(dead_ends) > MOST_DEAD_ENDS:
            raise ValueError("the seats' draws, calls and discards fit together in too many ways to try them all")
        return None

    def followers(discard: Event, done: tuple[int, ...]) -> list[int]:
        """Returns the seats whose next turn may follow a discard."""
        if discard["type"] != "dahai":
            return []
        heads = {seat: turns[seat][done[seat]][0] for seat in range(len(turns)) if done[seat] < total[seat]}
        callers = [
            seat
            for seat, head in heads.items()
            if head.get("target") == discard["actor"] and head["pai"] == discard["pai"]
        ]
        drawer = (discard["actor"] + 1) % len(turns)
        return [*callers, drawer] if heads.get(drawer, {}).get("type") == "tsumo" else callers

    if not turns[first] or turns[first][0][0]["type"] != "tsumo":
        return None
    order = from_here((0,) * len(turns), first)
    return order and order[::-1]


def _with_consequences(order: Sequence[Turn], dora: Sequence[str], ending: Sequence[Event]) -> Iterator[Event]:
    """Yields the events of an order, with dora and riichi acceptance as the rules place them, and the round's end. A
    closed kan reveals its indicator at once, any other kan before the next discard or after the next kan, unless this
    next kan is robbed."""
    events = [event for turn in order for event in turn]
    is_ron = ending[0]["type"] == "hora" and ending[0]["actor"] != ending[0]["target"]
    takes_last = is_ron or ending[0].get("reason") == "sanchaho"
    hidden = [{"type": "dora", "dora_marker": marker} for marker in dora][::-1]
    due = 0

    def revealed(count: int) -> list[Event]:
        return [hidden.pop() for _ in range(min(count, len(hidden)))]

    riichi_seat: int | None = None
    for number, event in enumerate(events):
        kind, is_last = event["type"], number + 1 == len(events)
        if kind == "dahai":
            yield from revealed(due)
            due = 0
        yield event
        if kind == "reach":
            riichi_seat = event["actor"]
        elif kind == "dahai" and riichi_seat is not None:
            if not (is_last and takes_last):
                yield {"type": "reach_accepted", "actor": riichi_seat}
            riichi_seat = None
        elif kind in ("ankan", "kakan", "daiminkan") and not (is_last and is_ron):
            yield from revealed(due + (kind == "ankan"))
            due = int(kind != "ankan")
    yield from revealed(len(hidden))  # more than the rules reveal: replaying reports the difference
    yield from ending
