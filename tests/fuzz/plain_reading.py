"""A second, plain reading of a damaged file, to compare with the annotations that were made from it.

Nothing is checked here while reading: only records that gave annotations are read, and everything that the program
took from them must be in the file.
"""

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from annotate.vocabulary import FOUR_PLAYERS

V = FOUR_PLAYERS
SEATS = range(V.num_seats)
STICK = 1000
Tile = str
"""the specification's names: 0m is the red five"""
_CALLS = ("chi", "pon", "daiminkan")
_HONOURS = {name: f"{i}z" for i, name in enumerate("ESWNPFC", 1)}


@dataclass
class Move:
    kind: str
    """draw, discard, chi, pon, daiminkan, ankan, kakan, paid (for riichi)"""
    seat: int
    tile: Tile = ""
    used: tuple[Tile, ...] = ()
    target: int = -1
    is_drawn: bool = False
    """a discard of the tile drawn"""
    is_riichi: bool = False
    """a discard with riichi"""


@dataclass
class RecordedRound:
    wind: int
    dealer: int
    honba: int
    deposits: int
    scores: list[int]
    hands: list[list[Tile]]
    dora: list[Tile]
    moves: list[Move] = field(default_factory=list)
    deltas: list[int] = field(default_factory=lambda: [0] * len(SEATS))
    """all payments at the end"""
    winners: dict[int, int] = field(default_factory=dict)
    """by winner: whose tile it was"""
    is_over: bool = False
    is_declared: bool = False
    """riichi is declared, and its discard has not come yet"""
    after: list[int] | None = None
    """the scores after the round, where they are recorded"""
    is_whole: bool = True
    """whether it states its dealer, scores and deposits, which may also follow from the rounds before"""


def _json(text: str | bytes) -> Any:
    return json.loads(text, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(pairs)) == len(pairs), "a name twice in an object"
    return dict(pairs)


def _physical(tile: int) -> Tile:
    return {16: "0m", 52: "0p", 88: "0s"}.get(tile) or f"{tile // 4 % 9 + 1}{'mpsz'[tile // 36]}"


def rounds_of_mjlog(data: bytes) -> list[RecordedRound]:
    """A round with an element that cannot be read is left out, unless it comes after the end."""
    rounds: list[RecordedRound] = []
    for part in re.split(rb"(?=<INIT\b)", data)[1:]:
        parser: Any = ElementTree.XMLPullParser(["start"])
        elements = []
        with suppress(ElementTree.ParseError):
            parser.feed(b"<mjloggm>" + part.replace(b":", b"_"))  # a colon would mean a namespace
            for _, element in parser.read_events():
                elements.append(element)
        for end in range(len(elements), 1, -1):
            with suppress(LookupError, ValueError, StopIteration):
                found = _round_of_mjlog(elements[1:end])
                if found.is_over:
                    rounds.append(found)
                    break
    return rounds


def _round_of_mjlog(elements: Sequence[Any]) -> RecordedRound:
    found: RecordedRound | None = None
    drawn, last, riichi = -1, -1, False
    for element in elements:
        tag, at = element.tag, element.attrib

        def numbers(name: str, at: Any = at) -> list[int]:
            return [int(float(text)) for text in at[name].split(",")]

        if tag == "INIT":
            number, honba, deposits, *_, dora = (
                int(x) if x.strip("-").isdecimal() else 0 for x in at["seed"].split(",")
            )
            hands = [list(map(_physical, numbers(f"hai{seat}"))) for seat in SEATS]
            scores = [100 * score for score in numbers("ten")]
            found = RecordedRound(number // 4, int(at["oya"]), honba, deposits, scores, hands, [_physical(dora)])
            continue
        if found is None:
            raise ValueError("no INIT")
        if found.is_over and tag != "AGARI":
            break
        if tag[1:].isdecimal() and tag[0] in "TUVW":
            drawn = int(tag[1:])
            found.moves.append(Move("draw", "TUVW".index(tag[0]), _physical(drawn)))
        elif tag[1:].isdecimal() and tag[0] in "DEFG":
            last = int(tag[1:])
            found.moves.append(
                Move("discard", "DEFG".index(tag[0]), _physical(last), is_drawn=last == drawn, is_riichi=riichi)
            )
            drawn, riichi = -1, False
        elif tag == "N":
            found.moves.append(tenhou_meld(int(at["m"]), int(at["who"])))
            drawn = -1
        elif tag == "DORA":
            found.dora.append(_physical(int(at["hai"])))
        elif tag == "REACH" and int(at["step"]) == 1:
            late = found.moves[-1] if found.moves[-1:] else None  # the discard may come before it
            if late is not None and late.kind == "discard" and late.seat == int(at["who"]):
                late.is_riichi = True
            else:
                riichi = True
        elif tag == "REACH":
            found.moves.append(Move("paid", int(at["who"])))
        elif tag in ("AGARI", "RYUUKYOKU"):
            before, deltas = ([100 * x for x in numbers("sc")[i::2]] for i in (0, 1))
            _pay(found, deltas)
            found.after = [a + b for a, b in zip(before, deltas, strict=True)]
            if tag == "AGARI":
                found.winners[int(at["who"])] = int(at["fromWho"])
    if found is None:
        raise ValueError("no INIT")
    return found


def tenhou_meld(code: int, seat: int) -> Move:
    target = (seat + (code & 3)) % 4
    if code & 4:
        lowest, place = divmod(code >> 10, 3)
        first = lowest // 7 * 9 + lowest % 7
        tiles = [_physical(4 * (first + i) + (code >> 3 + 2 * i & 3)) for i in range(3)]
        called = tiles.pop(place)
        return Move("chi", seat, called, tuple(tiles), target)
    if code & 24:
        kind, place = divmod(code >> 9, 3)
        unused = code >> 5 & 3
        tiles = [_physical(4 * kind + i) for i in range(4) if i != unused]
        if code & 16:
            return Move("kakan", seat, _physical(4 * kind + unused))
        called = tiles.pop(place)
        return Move("pon", seat, called, tuple(tiles), target)
    called = _physical(code >> 8)
    tiles = [_physical((code >> 10) * 4 + i) for i in range(4)]
    if target == seat:
        return Move("ankan", seat, called, tuple(tiles))
    tiles.remove(called)
    return Move("daiminkan", seat, called, tuple(tiles), target)


def _pay(round_: RecordedRound, deltas: Sequence[int]) -> None:
    round_.deltas = [a + b for a, b in zip(round_.deltas, deltas, strict=True)]
    round_.is_over = True


def _of_mjai(name: str) -> Tile:
    return _HONOURS.get(name) or (f"0{name[1]}" if name.endswith("r") else name)


def rounds_of_mjai(data: bytes) -> list[RecordedRound]:
    """A round with an event that cannot be read is left out."""
    rounds: list[RecordedRound] = []
    is_readable = True
    for line in data.decode().split("\n"):
        try:
            content = _json(line)
        except ValueError:
            continue
        for event in content if isinstance(content, list) else [content]:
            try:
                if event["type"] == "start_kyoku":
                    rounds.append(_round_of_mjai(event))
                    is_readable = True
                elif is_readable and rounds:
                    _add_event(rounds[-1], event)
            except (LookupError, TypeError, AttributeError):
                if is_readable and rounds and not rounds[-1].is_over:
                    rounds.pop()
                is_readable = False
    return rounds


def _round_of_mjai(event: Any) -> RecordedRound:
    sticks, scores = event.get("kyotaku", event.get("kyoutaku")), event.get("scores")
    hands = [list(map(_of_mjai, hand)) for hand in event["tehais"]]
    dora = [_of_mjai(event["dora_marker"])]
    wind, dealer = "ESWN".index(event["bakaze"]), event.get("oya")
    is_whole = None not in (sticks, scores, dealer)
    return RecordedRound(wind, dealer, event["honba"], sticks, scores, hands, dora, is_whole=is_whole)


def _add_event(round_: RecordedRound, event: Any) -> None:
    moves, kind, seat = round_.moves, event["type"], event.get("actor", -1)
    if kind == "tsumo":
        moves.append(Move("draw", seat, _of_mjai(event["pai"])))
    elif kind == "dahai":
        tile = _of_mjai(event["pai"])
        is_drawn = event.get("tsumogiri", moves[-1:] == [Move("draw", seat, tile)])
        moves.append(Move("discard", seat, tile, is_drawn=is_drawn, is_riichi=round_.is_declared))
        round_.is_declared = False
    elif kind in (*_CALLS, "ankan", "kakan"):
        used = tuple(map(_of_mjai, event["consumed"]))
        tile = used[0] if kind == "ankan" else _of_mjai(event["pai"])
        moves.append(Move(kind, seat, tile, used, event.get("target", -1)))
    elif kind == "dora":
        round_.dora.append(_of_mjai(event["dora_marker"]))
    elif kind == "reach":
        round_.is_declared = True
    elif kind == "reach_accepted":
        moves.append(Move("paid", seat))
    elif kind in ("hora", "ryukyoku"):
        _pay(round_, event.get("deltas", event.get("delta")))
        if kind == "hora":
            round_.winners[seat] = event["target"]
