"""Made-up games as Mahjong Soul records them.

`document` is the JSON that tools make of a record; `message` is the captured message itself, written by an encoder and
from a table of field numbers that are not the program's own.
"""

import copy
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from annotate.game.record import Event, Game, Round
from annotate.game.tiles import MJAI_NAMES, TILE_OF_ID
from annotate.records.majsoul.capture import open_capture, open_capture_json
from annotate.records.majsoul.reader import majsoul_game
from annotate.replay.walls import wall_of
from annotate.vocabulary import TILE_NAMES
from tests.support.writers.majsoul_made import MadeGame, Window
from tests.support.writers.majsoul_wire import wire

MODE_IDS = {(2, 0): 8, (2, 1): 9, (3, 0): 11, (3, 1): 12, (4, 0): 15, (4, 1): 16}
"""by room and style"""
LEVELS = (*(10000 + 100 * tier + step for tier in range(1, 6) for step in (1, 2, 3)), 10703)
"""by grade"""
_NAMES = dict(zip(MJAI_NAMES, TILE_NAMES, strict=True))
_CALLS = ("chi", "pon", "daiminkan")
_ABORTS = {"kyushu_kyuhai": 1, "sufuurenta": 2, "suukansansen": 3, "suucha_riichi": 4, "sanchaho": 5}

Json = dict[str, Any]


def document(made: MadeGame, version: int = 210715, inputs: bool = True, whole_walls: bool = False) -> Json:
    """The JSON of the game's record, in version 0 or, from 210715, with the players' inputs. `whole_walls`: whole, as
    in later records, not only the tiles that are left after the first draw."""
    windows = deque(made.windows)
    steps: list[Json] = [{"passed": 5, "type": 2, "user_input": {"seat": 1, "type": 7}}]
    for events in made.rounds:
        wall = [TILE_NAMES[TILE_OF_ID[i]] for i in wall_of(Round(tuple(events)), made.vocabulary)]
        paishan = "".join(wall if whole_walls else wall[13 * made.vocabulary.num_seats + 1 :])
        steps += _Steps(events, windows, inputs, paishan).steps()
    if version:
        content: Json = {"version": version, "actions": steps}
    else:
        content = {"records": [step["result"] for step in steps if "result" in step]}
    recorded = {"head": _head(made), "data": {"name": ".lq.GameDetailRecords", "data": content}, "data_url": ""}
    return copy.deepcopy(recorded)  # tests change it


def message(content: Json, header: bool = True) -> bytes:
    """The captured message of a `document`."""
    return (b"\x03\x2a\x01" if header else b"") + wire("Wrapper", {"name": "", "data": wire("ResGameRecord", content)})


def _head(made: MadeGame) -> Json:
    is_of_three = made.vocabulary.num_seats == 3
    seats = (2, 0, 1) if is_of_three else (2, 0, 3, 1)  # the list is not in the order of seats
    mode_id = 17 + 2 * made.room + made.style if is_of_three else MODE_IDS[made.room, made.style]

    def levels(seat: int) -> Json:
        level = LEVELS[made.grades[seat]]
        both = (10101, level + 10000) if is_of_three else (level, 20101)
        return {name: {"id": number} for name, number in zip(("level", "level3"), both, strict=True)}

    return {
        "uuid": made.id,
        "start_time": 1629039063,
        "config": {
            "category": 2,
            "mode": {"mode": 10 * is_of_three + 1 + made.style, "detail_rule": {}},
            "meta": {"mode_id": mode_id},
        },
        "accounts": [
            {"account_id": 70 + seat, "seat": seat, "nickname": f"誰{seat}", **levels(seat)} for seat in seats
        ],
        "result": {
            "players": [
                {"seat": seat, "part_point_1": made.final_scores[seat], "grading_score": made.grading_deltas[seat]}
                for seat in reversed(seats)
            ]
        },
    }


class _Steps:
    """The messages of one round."""

    def __init__(self, events: Sequence[Event], windows: deque[Window], inputs: bool, paishan: str) -> None:
        self._events = list(events)
        self._paishan = paishan
        self._windows, self._has_inputs = windows, inputs
        self._doras = [_NAMES[events[0]["dora_marker"]]]
        self._pending: Json = {}
        """liqi or doras, for the next message"""
        self._is_riichi = False
        self._scores = list(events[0]["scores"])
        self._steps: list[Json] = []

    def steps(self) -> list[Json]:
        self._new_round(*self._events[:2])
        for place in range(2, len(self._events)):
            event, rest = self._events[place], self._events[place + 1 :]
            kind = event["type"]
            if kind == "reach":
                self._is_riichi = True
            elif kind == "reach_accepted":
                self._scores[event["actor"]] -= 1000
                self._pending["liqi"] = {"seat": event["actor"], "score": self._scores[event["actor"]], "liqibang": 1}
            elif kind == "dora":
                self._doras.append(_NAMES[event["dora_marker"]])
                self._pending["doras"] = self._doras[:]
                if rest[0]["type"] == "hora":  # turned by a kan that is then robbed
                    kan = [step["result"] for step in self._steps if "result" in step][-1]
                    kan["data"]["doras"] = self._pending.pop("doras")
            elif kind == "hora":
                if rest == [] or rest[0]["type"] != "hora":
                    self._hule([win for win in self._events if win["type"] == "hora"])
            else:
                getattr(self, f"_{kind if kind not in _CALLS else 'call'}")(event)
        return self._steps

    def _add(self, name: str, data: Json, is_claim: bool | None = None) -> None:
        """Adds a message, with the offers of the window that it opens, and the inputs there.

        Args:
            is_claim: the kind of window it opens, if any; a window of claims is opened only if there is a claim.
        """
        data |= self._pending
        self._pending = {}
        window = None
        if is_claim is not None and self._windows and self._windows[0].is_claim == is_claim:
            window = self._windows.popleft()
        assert window or is_claim is not False, "each turn has its window"
        if window:
            data |= {"operations": window.operations} if is_claim else {"operation": window.operations[0]}
        self._steps.append({"passed": 10, "type": 1, "result": {"name": f".lq.{name}", "data": data}})
        if window and self._has_inputs:
            self._steps += [{"passed": 9, "type": 2, "user_input": pressed} for pressed in window.inputs]

    def _new_round(self, start: Event, first: Event) -> None:
        dealer = start["oya"]
        hands = [[_NAMES[name] for name in hand] for hand in start["tehais"]]
        hands[dealer].append(_NAMES[first["pai"]])
        data = {
            "chang": "ESWN".index(start["bakaze"]),
            "ju": dealer,
            "ben": start["honba"],
            "liqibang": start["kyotaku"],
            "scores": start["scores"],
            **{f"tiles{seat}": hand for seat, hand in enumerate(hands)},
            "left_tile_count": 69,
            "doras": self._doras[:],
            "md5": "0123456789abcdef",
            "paishan": self._paishan,
            "saltSha256": "of a later client",
        }
        self._add("RecordNewRound", data, is_claim=False)

    def _tsumo(self, event: Event) -> None:
        data = {"seat": event["actor"], "tile": _NAMES[event["pai"]], "left_tile_count": 50, "zhenting": [False] * 4}
        self._add("RecordDealTile", data, is_claim=False)

    def _dahai(self, event: Event) -> None:
        data = {
            "seat": event["actor"],
            "tile": _NAMES[event["pai"]],
            "is_liqi": self._is_riichi,
            "is_wliqi": False,
            "moqie": event["tsumogiri"],
            "tingpais": [{"tile": "5s", "count": 3}],
        }
        self._is_riichi = False
        self._add("RecordDiscardTile", data, is_claim=True)

    def _call(self, event: Event) -> None:
        data = {
            "seat": event["actor"],
            "type": _CALLS.index(event["type"]),
            "tiles": [_NAMES[name] for name in (*event["consumed"], event["pai"])],
            "froms": [*[event["actor"]] * len(event["consumed"]), event["target"]],
        }
        self._add("RecordChiPengGang", data, is_claim=None if event["type"] == "daiminkan" else False)

    def _ankan(self, event: Event) -> None:
        data = {"seat": event["actor"], "type": 3, "tiles": _NAMES[event["consumed"][0]]}
        self._add("RecordAnGangAddGang", data, is_claim=True)

    def _kakan(self, event: Event) -> None:
        self._add(
            "RecordAnGangAddGang", {"seat": event["actor"], "type": 2, "tiles": _NAMES[event["pai"]]}, is_claim=True
        )

    def _kita(self, event: Event) -> None:
        self._add("RecordBaBei", {"seat": event["actor"], "moqie": False}, is_claim=True)

    def _hule(self, wins: Sequence[Event]) -> None:
        deltas = [sum(payments) for payments in zip(*(win["deltas"] for win in wins), strict=True)]
        last = next(e for e in reversed(self._events) if e["type"] in ("dahai", "kakan", "ankan", "kita", "tsumo"))
        hules = [
            {
                "seat": win["actor"],
                "zimo": win["actor"] == win["target"],
                "hu_tile": _NAMES[last["pai"] if "pai" in last else last["consumed"][0]],
                "doras": self._doras[:],
                "li_doras": [_NAMES[name] for name in win["ura_markers"]],
                "count": 3,
            }
            for win in reversed(wins)
        ]
        scores = [score + delta for score, delta in zip(self._scores, deltas, strict=True)]
        self._add("RecordHule", {"hules": hules, "old_scores": self._scores, "delta_scores": deltas, "scores": scores})

    def _ryukyoku(self, event: Event) -> None:
        if event["reason"] in _ABORTS:
            self._pending.pop("liqi", None)  # the next round's scores show it
            self._add("RecordLiuJu", {"type": _ABORTS[event["reason"]], "seat": 0})
            return
        payments: list[Json] = [{"seat": 0, "old_scores": self._scores}]
        if any(event["deltas"]):
            payments[0]["delta_scores"] = event["deltas"]
        is_nagashi = event["reason"] == "nagashimangan"
        self._add("RecordNoTile", {"liujumanguan": is_nagashi, "players": [{"tingpai": True}] * 4, "scores": payments})


def read_majsoul(data: bytes) -> Game:
    """The game of a captured message."""
    return majsoul_game(open_capture(data, second_file=str.encode))


def read_majsoul_json(recorded: Json) -> Game:
    """The game of a `document`."""
    return majsoul_game(open_capture_json(recorded, second_file=str.encode))


def place(recorded: Json, path: str) -> tuple[Json, Any]:
    """Returns the parent of the value at a path such as "head.accounts.0.seat", and its key there."""
    *above, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    for key in above:
        recorded = recorded[key]
    return recorded, last


def refused(read: Callable[[], Game]) -> str:
    """Returns the message with which a reader refuses a record."""
    with pytest.raises(ValueError) as caught:
        read()
    return str(caught.value)
