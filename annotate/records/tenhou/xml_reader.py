"""Reads Tenhou's mjlog XML: one game, its elements in the order of play.

Tiles are physical numbers 0 ... 135, so melds, red fives and whether a discard was the drawn tile are exact.
Scores are in hundreds. The complete rounds of a cut-off file are read, and a fault within a round costs only that
round. From <BYE> to the next <UN> that names the seat, a player is not connected: the server passes and discards the
drawn tiles.
"""

import hashlib
import re
from dataclasses import replace
from urllib.parse import unquote
from xml.parsers import expat

from annotate.game import grading
from annotate.game.origin import TENHOU_LOG, Origin, Player, players_of
from annotate.game.record import Event, Game, LostRound, Round, require_a_round
from annotate.game.tiles import NAME_OF_ID, NUM_TILE_IDS
from annotate.records.tenhou.absence import Absence
from annotate.records.tenhou.meld import SEATS_OF_TABLE, decode_meld
from annotate.records.tenhou.wall import SEED_PREFIX, SeedWalls, with_indicators
from annotate.records.tenhou.xml_elements import (
    Attributes,
    integer_of,
    integers_of,
    payments,
    require_sticks,
    start_kyoku,
    tiles_of,
)
from annotate.vocabulary import vocabulary_of_seats

# bits of <GO type>
HUMANS, NO_RED_FIVES, NO_OPEN_TANYAO, SOUTH, THREE_PLAYERS, TOKUJOU, FAST, JOUKYUU = 1, 2, 4, 8, 0x10, 0x20, 0x40, 0x80
KNOWN_BITS = 0xFF

DRAW_REASONS = {
    None: "exhaustive_draw",
    "yao9": "kyushu_kyuhai",
    "kaze4": "sufuurenta",
    "reach4": "suucha_riichi",
    "kan4": "suukansansen",
    "ron3": "sanchaho",
    "nm": "nagashimangan",
}
"""`type` of <RYUUKYOKU> -> reason of the mjai event, as riichienv names it"""

_DRAWS = {f"{letter}{tile}": (seat, tile) for seat, letter in enumerate("TUVW") for tile in range(NUM_TILE_IDS)}
_DISCARDS = {f"{letter}{tile}": (seat, tile) for seat, letter in enumerate("DEFG") for tile in range(NUM_TILE_IDS)}
_MOVE = re.compile(r"[DEFGTUVW]\d+$")
_CONNECTIONS, _ENDS = ("UN", "BYE"), ("AGARI", "RYUUKYOKU")
"""elements that are read even if their round is lost: connections and final scores"""
_RESUMED = re.compile(rf"<(?:{'|'.join(('INIT', *_CONNECTIONS, *_ENDS))})\b".encode())
"""elements at which reading resumes after malformed XML"""
_ROOT, END_OF_LOG = b"<mjloggm>", b"</mjloggm>"


def read_tenhou_xml(data: bytes, name: str) -> Game:
    """Reads one uncompressed mjlog document. The game's id is Tenhou's log name in the file's name, else a checksum of
    the content, so that no two games share an id. Raises ValueError if it is malformed or the game is not supported.
    """
    before, end, rest = data.partition(END_OF_LOG)
    if b"<mjloggm" in rest:
        raise ValueError("several games: one in each file is expected, or in each member of an archive")
    reader = _Reader(before + end)  # without data after the game, such as NULs
    cut_off, log = reader.read(), TENHOU_LOG.search(name)
    return reader.game(log[0] if log else f"mjlog-{hashlib.sha256(data).hexdigest()[:16]}", cut_off)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._number = 0
        """number of the round, from 1"""
        self._type: int | None = None
        self._table = grading.TENHOU_TABLES[0]
        self._num_seats = SEATS_OF_TABLE
        self._vocabulary = vocabulary_of_seats(SEATS_OF_TABLE)
        self._seed: str | None = None
        self._is_ranked = False
        self._dan: tuple[int, ...] | None = None
        self._players: tuple[Player, ...] = ()
        self._words = ""
        self._rounds: list[Round] = []
        self._lost: list[LostRound] = []
        self._is_lost = False
        """whether elements are skipped until the next round"""
        self._events: list[Event] | None = None
        self._ended = False
        self._absence = Absence()
        self._walls: SeedWalls | None = None
        self._wall: tuple[str, ...] | None = None
        self._drawn: int | None = None
        self._last_discard: tuple[int, int] | None = None
        self._final_scores: tuple[int, ...] | None = None
        self._handlers = {
            "SHUFFLE": self._shuffle,
            "GO": self._go,
            "UN": self._un,
            "BYE": self._bye,
            "INIT": self._init,
            "N": self._call,
            "DORA": self._dora,
            "REACH": self._reach,
            "AGARI": self._agari,
            "RYUUKYOKU": self._ryuukyoku,
        }

    def read(self) -> bool:
        """Reads the document; returns whether it stops before its end."""
        start: int | None = 0
        while start is not None:
            start = self._parse(start)
        try:
            self._parser.Parse(b"", True)
        except expat.ExpatError:
            return True
        return False

    def _parse(self, start: int) -> int | None:
        """Parses the document from `start` up to malformed XML; returns the place to resume at, None at the end."""
        self._parser, self._offset, self._depth = expat.ParserCreate(), start, 0
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._doctype
        if start:
            self._parser.Parse(_ROOT, False)
            self._offset -= len(_ROOT)
        try:
            self._parser.Parse(self._data[start:], False)
        except expat.ExpatError as error:
            problem = f"malformed XML: {expat.ErrorString(error.code)}"
            if self._number == 0 or self._depth == 0:
                raise ValueError(f"{problem} {self._place}") from None
            self._lose(problem)
            resumed = _RESUMED.search(self._data, self._offset + self._parser.ErrorByteIndex)
            return resumed and resumed.start()
        except ValueError as error:
            raise ValueError(f"{error} {self._place}") from None
        return None

    @property
    def _place(self) -> str:
        *lines, last = self._data[: self._offset + self._parser.CurrentByteIndex].split(b"\n")
        return f"(line {len(lines) + 1}, column {len(last)})"

    def _lose(self, problem: str) -> None:
        """Leaves out the round that is being read, or the elements after a finished round."""
        if self._is_lost:
            return
        name = None if self._events is None else self._round(self._events).name
        if self._ended:
            self._finish_round()
            name, problem = None, f"after {name}: {problem}"
        elif name is None:
            problem = f"round {self._number}: {problem}" if self._number else f"before the first round: {problem}"
        self._lost.append(LostRound(len(self._rounds), f"{problem} {self._place}", name))
        self._events, self._is_lost = None, True

    def _finish_round(self) -> None:
        if self._events is None:
            return
        if self._ended:
            self._rounds.append(self._round(self._events))
            self._events, self._ended = None, False
        else:
            self._lose("the next round starts, but this one has not ended")

    def game(self, game_id: str, cut_off: bool) -> Game:
        """Returns the game after the document has been read."""
        if self._type is None:
            raise ValueError("no <GO> element: the kind of game is not known")
        incomplete = self._finish_last_round(cut_off)
        require_a_round(self._rounds, self._lost)
        style = 1 if self._type & SOUTH else 0
        grades = deltas = None
        dans = None if self._dan is None else self._dan[: self._num_seats]
        if self._is_ranked and dans is not None:
            grades = tuple(grading.TENHOU_GRADES[dan] for dan in dans)
            if self._final_scores is not None:
                deltas = grading.tenhou_deltas(self._final_scores, dans, self._table, style)
        log, players = TENHOU_LOG.fullmatch(game_id), self._players[: self._num_seats]
        return Game(
            vocabulary=self._vocabulary,
            id=game_id,
            rules=("tenhou",),
            style=style,
            rounds=tuple(self._rounds),
            room=grading.TENHOU_ROOMS[self._table] if self._is_ranked else None,
            grades=grades,
            final_scores=self._final_scores,
            grading_deltas=deltas,
            incomplete=incomplete,
            origin=Origin("tenhou", log and log[0], self._words, players),
            lost=tuple(self._lost),
        )

    def _finish_last_round(self, cut_off: bool) -> str | None:
        reason = "the file is cut off" if cut_off else "the record stops early"
        if self._is_lost:
            return None if self._final_scores else "the final scores are missing, and the last round is left out"
        if self._events is None:
            return f"{reason}: it holds no round"
        last = self._round(self._events)
        # a second winner of the same tile may be missing if a file is cut off after a ron
        ending = self._events[-1]
        is_ron = ending["type"] == "hora" and ending["actor"] != ending["target"]
        if not self._ended or (cut_off and is_ron and not self._final_scores):
            return f"{reason} in {last.name}"
        self._rounds.append(last)
        if self._final_scores is None:
            return f"{reason} after {last.name}, without the final scores"
        return None

    def _start(self, tag: str, attributes: Attributes) -> None:
        self._depth += 1
        if self._depth == 1 and tag == "mjloggm":
            return
        self._require_one_game(tag)
        if tag == "INIT":
            self._finish_round()
            self._number += 1
        try:
            if self._is_lost and tag in _ENDS:
                self._owari(attributes, tag)
            elif self._depth > 2:
                raise ValueError(f"unexpected element <{tag}>")
            elif not self._is_lost or tag in ("INIT", *_CONNECTIONS):
                self._element(tag, attributes)
        except ValueError as error:
            if self._number == 0 and tag in ("GO", *_CONNECTIONS):
                raise
            self._lose(str(error))

    def _end(self, tag: str) -> None:
        self._depth -= 1

    def _require_one_game(self, tag: str) -> None:
        """Raises ValueError if an element cannot be at this place in the document of one game."""
        if self._depth == 1 or tag == "mjloggm":
            raise ValueError(f"unexpected element <{tag}>")
        if tag == "GO" and self._type is not None:
            raise ValueError("a second <GO>: records of several games?")
        if tag == "INIT" and self._type is None:
            raise ValueError("<INIT> before <GO>")
        if tag == "INIT" and self._final_scores is not None:
            raise ValueError("<INIT> of a new round after the final scores")

    def _element(self, tag: str, attributes: Attributes) -> None:
        move = _DRAWS.get(tag)
        if move is not None and move[0] < self._num_seats:
            self._drawn = move[1]
            self._add({"type": "tsumo", "actor": move[0], "pai": NAME_OF_ID[move[1]]})
            return
        move = _DISCARDS.get(tag)
        if move is not None and move[0] < self._num_seats:
            seat, tile = move
            is_drawn, self._drawn, self._last_discard = tile == self._drawn, None, move
            self._add({"type": "dahai", "actor": seat, "pai": NAME_OF_ID[tile], "tsumogiri": is_drawn})
            return
        handler = self._handlers.get(tag)
        if handler is not None:
            handler(attributes)
        elif _MOVE.match(tag):
            seats = f" and {self._num_seats} seats" if self._num_seats < SEATS_OF_TABLE else ""
            raise ValueError(f"<{tag}/>: there are {NUM_TILE_IDS} tiles, 0 ... {NUM_TILE_IDS - 1}{seats}")
        # other elements (TAIKYOKU, later additions) are not moves; if one were, the round would not replay

    def _text(self, text: str) -> None:
        if text.strip():
            problem = f"unexpected text {text.strip()[:40]!r}"
            if self._number == 0:
                raise ValueError(problem)
            self._lose(problem)

    def _doctype(self, *declaration: object) -> None:
        raise ValueError("a document type declaration, which no mjlog has")

    def _add(self, event: Event) -> None:
        if self._events is None or self._ended:
            raise ValueError(f"a {event['type']} outside of a round")
        self._events.append(event)
        self._absence.follow(event["type"], len(self._events) - 1)

    def _round(self, events: list[Event]) -> Round:
        num_indicators = 1 + sum(event["type"] == "dora" for event in events)
        wall = self._wall and with_indicators(self._wall, num_indicators, self._vocabulary)
        return Round(tuple(events), wall=wall, automatic=frozenset(self._absence.automatic))

    def _shuffle(self, attributes: Attributes) -> None:
        seed = attributes.get("seed", "")
        if seed.startswith(SEED_PREFIX):  # without a seed of this kind the walls are unknown
            self._seed = seed

    def _go(self, attributes: Attributes) -> None:
        kind = integer_of(attributes, "GO", "type", 0, 1 << 16)
        if kind & NO_RED_FIVES:
            raise ValueError("a game without red fives: this rule variant is not supported")
        if kind & NO_OPEN_TANYAO:
            raise ValueError("a game without open tanyao: this rule variant is not supported")
        if kind & ~KNOWN_BITS:
            raise ValueError(f'<GO type="{kind}">: an unknown rule variant')
        self._type = kind
        number = (2 if kind & TOKUJOU else 0) + (1 if kind & JOUKYUU else 0)
        self._table = grading.TENHOU_TABLES[number]
        self._num_seats = 3 if kind & THREE_PLAYERS else SEATS_OF_TABLE
        self._vocabulary = vocabulary_of_seats(self._num_seats)
        seats = "三" if kind & THREE_PLAYERS else ""
        self._words = f"{seats}{'般上特鳳'[number]}{'南' if kind & SOUTH else '東'}喰赤{'速' if kind & FAST else ''}"
        self._is_ranked = bool(kind & HUMANS) and attributes.get("lobby", "0") == "0"

    def _bye(self, attributes: Attributes) -> None:
        self._absence.seats.add(integer_of(attributes, "BYE", "who", 0, SEATS_OF_TABLE))

    def _un(self, attributes: Attributes) -> None:
        self._absence.seats -= {seat for seat in range(SEATS_OF_TABLE) if f"n{seat}" in attributes}
        if not self._players:  # later ones are reconnections
            names = [unquote(attributes.get(f"n{seat}", "")) for seat in range(SEATS_OF_TABLE)]
            self._players = players_of(names, SEATS_OF_TABLE, rates=attributes.get("rate", "").split(","))
        if "dan" not in attributes or self._dan is not None:
            return  # a reconnection, or a record without dans
        dan = integers_of(attributes, "UN", "dan", SEATS_OF_TABLE)
        if not all(0 <= number <= grading.TENHOUI for number in dan):
            raise ValueError(f'<UN dan="{attributes["dan"]}">: a dan is 0 ... {grading.TENHOUI}')
        self._dan = dan
        self._players = tuple(replace(player, grade=grade) for player, grade in zip(self._players, dan, strict=False))

    def _init(self, attributes: Attributes) -> None:
        self._is_lost = self._ended = False
        self._drawn = self._last_discard = None
        self._absence.start_round()
        start = start_kyoku(attributes, self._num_seats)
        self._events = [start]
        if self._seed is not None and self._walls is None:
            self._walls = SeedWalls(self._seed, self._vocabulary)
        self._wall = None if self._walls is None else self._walls.of_round(start, has_gaps=bool(self._lost))

    def _call(self, attributes: Attributes) -> None:
        seat = integer_of(attributes, "N", "who", 0, self._num_seats)
        meld = decode_meld(integer_of(attributes, "N", "m", 0, 1 << 16), seat, self._num_seats)
        if "target" in meld.event and (meld.event["target"], meld.called) != self._last_discard:
            raise ValueError(f'<N who="{seat}" m="{attributes["m"]}">: the tile called is not the last discard')
        self._drawn = None
        self._add(meld.event)

    def _dora(self, attributes: Attributes) -> None:
        self._add({"type": "dora", "dora_marker": NAME_OF_ID[integer_of(attributes, "DORA", "hai", 0, NUM_TILE_IDS)]})

    def _reach(self, attributes: Attributes) -> None:
        step = integer_of(attributes, "REACH", "step", 1, 3)
        seat = integer_of(attributes, "REACH", "who", 0, self._num_seats)
        event: Event = {"type": "reach" if step == 1 else "reach_accepted", "actor": seat}
        events = self._events or [{"type": "none"}]
        if step == 1 and events[-1]["type"] == "dahai" and events[-1]["actor"] == seat:
            # Tenhou has sometimes written a declaration after its discard
            events.insert(-1, event)
            self._absence.asked = len(events) - 1
        else:
            self._add(event)

    def _agari(self, attributes: Attributes) -> None:
        self._owari(attributes, "AGARI")
        is_another = self._events is not None and self._events[-1]["type"] == "hora"  # another winner of the same tile
        if is_another:
            self._ended = False
        event: Event = {
            "type": "hora",
            "actor": integer_of(attributes, "AGARI", "who", 0, self._num_seats),
            "target": integer_of(attributes, "AGARI", "fromWho", 0, self._num_seats),
            "pai": NAME_OF_ID[integer_of(attributes, "AGARI", "machi", 0, NUM_TILE_IDS)],
            "ura_markers": [],
            **payments(attributes, "AGARI", self._num_seats),
        }
        if "doraHaiUra" in attributes:
            event["ura_markers"] = [NAME_OF_ID[tile] for tile in tiles_of(attributes, "AGARI", "doraHaiUra")]
        if not is_another and self._events is not None:  # the first winner has taken the deposits
            require_sticks(attributes, "AGARI", self._events)
        self._add(event)
        self._ended = True

    def _ryuukyoku(self, attributes: Attributes) -> None:
        self._owari(attributes, "RYUUKYOKU")
        kind = attributes.get("type")
        if kind not in DRAW_REASONS:
            raise ValueError(f'<RYUUKYOKU type="{kind}">: an unknown kind of draw')
        if self._events is not None:
            require_sticks(attributes, "RYUUKYOKU", self._events)
        self._add(
            {"type": "ryukyoku", "reason": DRAW_REASONS[kind], **payments(attributes, "RYUUKYOKU", self._num_seats)}
        )
        self._ended = True

    def _owari(self, attributes: Attributes, tag: str) -> None:
        if "owari" in attributes:
            # each seat's score and its placement points, which have a fraction
            scores = ",".join(attributes["owari"].split(",")[: 2 * self._num_seats : 2])
            final = integers_of({"owari": scores}, tag, "owari", self._num_seats)
            self._final_scores = tuple(100 * score for score in final)
