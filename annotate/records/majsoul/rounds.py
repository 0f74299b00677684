"""Converts Mahjong Soul's messages of one round to mjai events, in the order of the engine's log, and to the offers and
reactions of players.

The fields of a message show whether the drawn tile was discarded (moqie), when an indicator was revealed (doras grows)
and when a riichi stick was paid (liqi). The moves are not checked here, but by replaying.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from google.protobuf.message import Message

from annotate.game.record import CLAIMS, LARGEST_SCORE, Event, Round, start_kyoku, whole_wall
from annotate.game.tiles import MJAI_NAMES, NUM_TILE_IDS
from annotate.vocabulary import TILE_NAMES, vocabulary_of_seats

LARGEST_COUNT = 1000

_MJAI = dict(zip(TILE_NAMES, MJAI_NAMES, strict=True))
_ADDED_KAN, _CLOSED_KAN = 2, 3
_CLAIMED = ("dahai", "ankan", "kakan", "kita")
_TRIGGERS = ("tsumo", *CLAIMS, *_CLAIMED)
_DRAWS = {1: "kyushu_kyuhai", 2: "sufuurenta", 3: "suukansansen", 4: "suucha_riichi", 5: "sanchaho"}
_OFFERED_CALLS = {2: "chi", 3: "pon", 5: "daiminkan"}
"""call by type of OptionalOperation"""
_OWN_TURN, _CLAIM_OR_PASS = 2, 3
"""types of GameUserInput: a choice in the player's own turn, and a reaction to another player's tile"""


@dataclass(slots=True)
class _Offer:
    """The options of one seat at one moment, to which its player may still react."""

    after: int
    """index of the event to react to: the seat's own draw or call, or another's discard or kan"""
    seat: int
    call_of_button: dict[tuple[int, int], Event] | None
    """the calls of another player's tile, by type and index of their buttons; None in the seat's own turn"""
    is_answered: bool = False
    """whether the player sent a choice; if not, the server made it, or another player's claim came first"""
    pressed: Event | None = None
    """the call that was pressed, or an event of type "none"; None if it is neither, or not recorded"""

    def press(self, step: Message) -> None:
        """Records a GameUserInput of this seat. Only the first reaction to another player's tile counts."""
        calls = self.call_of_button
        if step.type != (_OWN_TURN if calls is None else _CLAIM_OR_PASS):
            return
        self.is_answered = True
        if calls is not None and self.pressed is None:
            button = (step.cpg.type, step.cpg.index)
            self.pressed = {"type": "none"} if step.cpg.cancel_operation else calls.get(button)


class RoundReader:
    """Reads the messages of one round, up to its end."""

    def __init__(self, start: Message, num_seats: int) -> None:
        self._num_seats = num_seats
        doras = list(start.doras) or [start.dora]
        if len(doras) != 1:
            raise ValueError(f"one indicator expected at the start, not {len(doras)}")
        dealer = in_range(start.ju, "ju", num_seats - 1)
        hands = [_tiles(getattr(start, f"tiles{seat}")) for seat in range(num_seats)]
        counts = [13 + (seat == dealer) for seat in range(num_seats)]
        if [len(hand) for hand in hands] != counts:
            raise ValueError(f"hands of {counts} tiles expected, not of {[len(hand) for hand in hands]}")
        self.is_over = False
        self.events: list[Event] = [
            start_kyoku(
                in_range(start.chang, "chang", 3),
                dealer,
                in_range(start.ben, "ben", LARGEST_COUNT),
                in_range(start.liqibang, "liqibang", LARGEST_COUNT),
                _tile(doras[0]),
                self._points(start.scores, "scores"),
                [hand[:13] for hand in hands],
            ),
            {"type": "tsumo", "actor": dealer, "pai": hands[dealer][13]},
        ]
        # in the wall of three players, the places of indicators and of tiles after kans are not known
        self._wall = _wall(start.paishan, *self.events) if num_seats == 4 else None
        self._doras = doras
        self._pons: dict[tuple[int, str], list[str]] = {}
        self._riichi: int | None = None
        """the seat that has discarded with riichi and not paid yet"""
        self._offers: list[_Offer] = []
        self._open: dict[int, _Offer] = {}
        """by seat: the offers of the last message"""
        self._handlers: dict[str, Callable[[Message], None]] = {
            "RecordDealTile": self._deal,
            "RecordDiscardTile": self._discard,
            "RecordChiPengGang": self._call,
            "RecordAnGangAddGang": self._kan,
            **({"RecordBaBei": self._kita} if num_seats == 3 else {}),
            "RecordHule": self._win,
            "RecordLiuJu": self._abort,
            "RecordNoTile": self._exhaust,
        }
        self._offer([*start.operations, start.operation])

    @property
    def name(self) -> str:
        return Round(tuple(self.events)).name

    def read(self, name: str, step: Message) -> None:
        if name not in self._handlers:
            raise ValueError(f"not possible with {self._num_seats} players")
        self._handlers[name](step)

    @property
    def has_inputs(self) -> bool:
        """Whether the record has inputs of players in this round."""
        return any(offer.is_answered for offer in self._offers)

    def round(self, has_inputs: bool, robots: Collection[int]) -> Round:
        """Returns the finished round. `has_inputs`: whether the record has inputs of players in any round."""
        pressed = {(offer.after, offer.seat): offer.pressed for offer in self._offers if offer.pressed is not None}
        automatic = frozenset(
            (offer.after, offer.seat)
            for offer in self._offers
            if has_inputs and not offer.is_answered and offer.seat not in robots
        )
        return Round(tuple(self.events), pressed=pressed, wall=self._wall, automatic=automatic)

    def press(self, step: Message) -> None:
        """Records a player's input, if the player has options now."""
        if step.seat in self._open:
            self._open[step.seat].press(step)

    def _seat(self, number: int) -> int:
        return in_range(number, "seat", self._num_seats - 1)

    def _points(self, values: Sequence[int], name: str) -> list[int]:
        if len(values) != self._num_seats or max(map(abs, values)) > LARGEST_SCORE:
            raise ValueError(f"{name} must be {self._num_seats} numbers of points, not {list(values)[:8]}")
        return list(values)

    def _deal(self, step: Message) -> None:
        self._pay_riichi(step)
        self._turn_doras(step.doras)
        self.events.append({"type": "tsumo", "actor": self._seat(step.seat), "pai": _tile(step.tile)})
        self._offer([step.operation])

    def _discard(self, step: Message) -> None:
        seat = self._seat(step.seat)
        self._turn_doras(step.doras)
        if step.is_liqi or step.is_wliqi:
            self.events.append({"type": "reach", "actor": seat})
            self._riichi = seat
        self.events.append({"type": "dahai", "actor": seat, "pai": _tile(step.tile), "tsumogiri": step.moqie})
        self._offer(step.operations)

    def _call(self, step: Message) -> None:
        self._pay_riichi(step)
        seat, tiles, froms = self._seat(step.seat), _tiles(step.tiles), list(map(self._seat, step.froms))
        if step.type >= len(CLAIMS):
            raise ValueError(f"a call of type {step.type}: 0 ... {len(CLAIMS) - 1} expected")
        kind = CLAIMS[step.type]
        called = [i for i, source in enumerate(froms) if source != seat]
        if len(tiles) != (4 if kind == "daiminkan" else 3) or len(froms) != len(tiles) or len(called) != 1:
            raise ValueError(f"a {kind} of {len(tiles)} tiles from seats {froms}")
        pai = tiles.pop(called[0])
        if kind == "pon":
            self._pons[seat, pai.removesuffix("r")] = [*tiles, pai]
        target = froms[called[0]]
        self.events.append({"type": kind, "actor": seat, "target": target, "pai": pai, "consumed": tiles})
        self._offer([step.operation])

    def _kan(self, step: Message) -> None:
        seat, pai = self._seat(step.seat), _tile(step.tiles)
        kind = pai.removesuffix("r")
        if step.type == _CLOSED_KAN:
            is_five = kind[0] == "5" and len(kind) == 2
            self.events.append({"type": "ankan", "actor": seat, "consumed": [kind + "r" * is_five, kind, kind, kind]})
        elif step.type == _ADDED_KAN:
            consumed = self._pons.get((seat, kind), [kind] * 3)  # without a pon the engine disagrees
            self.events.append({"type": "kakan", "actor": seat, "pai": pai, "consumed": consumed})
        else:
            raise ValueError(f"a kan of type {step.type}: {_ADDED_KAN} or {_CLOSED_KAN} expected")
        self._turn_doras(step.doras)
        self._offer(step.operations)

    def _kita(self, step: Message) -> None:
        self.events.append({"type": "kita", "actor": self._seat(step.seat), "pai": "N"})
        self._turn_doras(step.doras)
        self._offer(step.operations)

    def _win(self, step: Message) -> None:
        if not step.hules:
            raise ValueError("a win without a winner")
        last = next((event for event in reversed(self.events) if event["type"] in _CLAIMED), None)
        wins: list[Event] = []
        for hule in step.hules:
            seat = self._seat(hule.seat)
            if not hule.zimo and last is None:
                raise ValueError("a win on a discard before any discard")
            target = seat if hule.zimo or last is None else last["actor"]
            ura = _tiles(hule.li_doras)
            wins.append(
                {"type": "hora", "actor": seat, "target": target, "pai": _tile(hule.hu_tile), "ura_markers": ura}
            )
        wins.sort(key=lambda win: (win["actor"] - win["target"]) % self._num_seats)
        # of several winners only the sum of their payments is recorded
        wins[-1]["deltas"] = self._points(step.delta_scores, "delta_scores")
        if step.scores:
            wins[-1]["scores"] = self._points(step.scores, "scores")
        for hule in step.hules:
            self._turn_doras(hule.doras)
        self.events += wins
        self.is_over = True

    def _abort(self, step: Message) -> None:
        if step.type not in _DRAWS:
            raise ValueError(f"an aborted round of type {step.type}: 1 ... {len(_DRAWS)} expected")
        # the stick of a riichi that aborts the round is on the table, even if the record lacks it here; the stick of a
        # riichi whose tile is won is not
        self._pay_riichi(step, is_certain=_DRAWS[step.type] != "sanchaho")
        self.events.append({"type": "ryukyoku", "reason": _DRAWS[step.type], "deltas": [0] * self._num_seats})
        self.is_over = True

    def _exhaust(self, step: Message) -> None:
        paid = [self._points(each.delta_scores, "delta_scores") for each in step.scores if each.delta_scores]
        deltas = [sum(of_seat) for of_seat in zip([0] * self._num_seats, *paid, strict=True)]
        reason = "nagashimangan" if step.liujumanguan else "exhaustive_draw"
        event: Event = {"type": "ryukyoku", "reason": reason, "deltas": deltas}
        if step.scores and step.scores[0].old_scores:
            old = self._points(step.scores[0].old_scores, "old_scores")
            event["scores"] = [a + b for a, b in zip(old, deltas, strict=True)]
        self.events.append(event)
        self.is_over = True

    def _pay_riichi(self, step: Message, is_certain: bool = False) -> None:
        is_recorded = step.HasField("liqi") and not step.liqi.failed
        if is_recorded or (is_certain and self._riichi is not None):
            seat = self._seat(step.liqi.seat) if is_recorded else self._riichi
            self.events.append({"type": "reach_accepted", "actor": seat})
        self._riichi = None

    def _turn_doras(self, doras: Sequence[str]) -> None:
        """Adds events of newly revealed indicators; a message has all indicators or none."""
        if not doras:
            return
        before = self._doras
        if list(doras[: len(before)]) != before[: len(doras)]:
            raise ValueError(f"the indicators {', '.join(doras)}, before {', '.join(before)}")
        for name in doras[len(before) :]:
            self.events.append({"type": "dora", "dora_marker": _tile(name)})
            before.append(name)

    def _offer(self, lists: Collection[Message]) -> None:
        """Stores the offers (OptionalOperationList messages) in the message of the last event."""
        self._open = {}
        if not lists:
            return
        after = next(i for i in range(len(self.events) - 1, 0, -1) if self.events[i]["type"] in _TRIGGERS)
        claimed = self.events[after] if self.events[after]["type"] in _CLAIMED else None
        for offered in lists:
            if offered.operation_list:  # a player in riichi without a choice is sent an empty list
                seat = self._seat(offered.seat)
                calls = None if claimed is None else dict(_calls(offered, claimed))
                self._open[seat] = _Offer(after, seat, calls)
                self._offers.append(self._open[seat])


def _wall(paishan: str, start: Event, first: Event) -> tuple[str, ...] | None:
    """Returns the whole wall, if `paishan` has all of it or, as in older records, its rest after the first draw.
    Replaying checks that it is the wall of this round."""
    tiles = _tiles(paishan[i : i + 2] for i in range(0, len(paishan), 2))
    if sum(map(len, start["tehais"])) + 1 + len(tiles) == NUM_TILE_IDS:
        return whole_wall(start, [first["pai"], *tiles], vocabulary_of_seats(4))
    return tuple(tiles) if len(tiles) == NUM_TILE_IDS else None


def _calls(offered: Message, claimed: Event) -> Iterator[tuple[tuple[int, int], Event]]:
    for operation in offered.operation_list:
        if operation.type in _OFFERED_CALLS and claimed["type"] == "dahai":
            for index, names in enumerate(operation.combination):
                call = {"type": _OFFERED_CALLS[operation.type], "actor": offered.seat, "target": claimed["actor"]}
                yield (operation.type, index), {**call, "pai": claimed["pai"], "consumed": _tiles(names.split("|"))}


def _tile(name: str) -> str:
    """Returns mjai's name of a tile; raises ValueError if there is no such tile."""
    if name not in _MJAI:
        raise ValueError(f"{ascii(name)[:40]} is not a tile")
    return _MJAI[name]


def _tiles(names: Iterable[str]) -> list[str]:
    return [_tile(name) for name in names]


def in_range(number: int, name: str, high: int) -> int:
    """Returns the number if it is in 0 ... high; raises ValueError if it is not."""
    if not 0 <= number <= high:
        raise ValueError(f"{name} must be in 0 ... {high}, not {number}")
    return number
