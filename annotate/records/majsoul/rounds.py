"""Converts Mahjong Soul's messages of one game to rounds of mjai events, in the order of the engine's log.

The fields of a message show whether the drawn tile was discarded (moqie), when an indicator was revealed (doras grows)
and when a riichi stick was paid (liqi). Whether the moves are possible is not checked here but by replaying.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

from google.protobuf.message import Message

from annotate.game.record import LARGEST_SCORE, Event, LostRound, Round, start_kyoku, whole_wall
from annotate.game.tiles import NUM_TILE_IDS
from annotate.records.majsoul.offers import Offer, offers_of
from annotate.records.majsoul.tiles import in_range, kind_of, tile_of, tiles_of
from annotate.vocabulary import vocabulary_of_seats

LARGEST_COUNT = 1000

_CALLS = ("chi", "pon", "daiminkan")
_ADDED_KAN, _CLOSED_KAN = 2, 3
_CLAIMED = ("dahai", "ankan", "kakan", "kita")
_TRIGGERS = ("tsumo", *_CALLS, *_CLAIMED)
_DRAWS = {1: "kyushu_kyuhai", 2: "sufuurenta", 3: "suukansansen", 4: "suucha_riichi", 5: "sanchaho"}


def read_rounds(
    steps: Iterable[Message | ValueError], num_seats: int, robots: Collection[int] = ()
) -> tuple[list[Round], list[LostRound], str | None]:
    """Reads the messages of a game in their order; an error takes the place of one that cannot be read. Returns the
    rounds that have ended, those with a fault, and why the last one has not ended, if so.

    Where the record has what players sent, a choice that a player did not send is the server's; `robots` are the seats
    of computer players, which send nothing.
    """
    reader = _Reader(num_seats, robots)
    for number, step in enumerate(steps):
        if isinstance(step, ValueError):
            reader.lose(str(step))
        else:
            reader.read(f"message {number}, {step.DESCRIPTOR.name}", step)
    return reader.finish()


class _Reader:
    def __init__(self, num_seats: int, robots: Collection[int]) -> None:
        self._num_seats, self._robots = num_seats, robots
        self._rounds: list[_Draft] = []
        self._round: _Draft | None = None
        self._lost: list[LostRound] = []
        self._is_lost = False
        """whether messages are passed over until the next round"""

    def read(self, where: str, step: Message) -> None:
        """Reads a message; one that no game can have costs its round."""
        name = step.DESCRIPTOR.name
        try:
            if name == "RecordNewRound":
                self._start(where, step)
            elif not self._is_lost:
                self._read(name, step)
        except ValueError as error:
            self.lose(f"{where}: {error}")

    def lose(self, problem: str) -> None:
        """Leaves out the round that is being read, or what follows after one that has ended."""
        if self._is_lost:
            return
        if self._round is not None and self._round.is_over:
            name, problem = None, f"after {self._round.name}: {problem}"
            self._rounds.append(self._round)
        else:
            name = None if self._round is None else self._round.name
        self._lost.append(LostRound(len(self._rounds), problem, name))
        self._round, self._is_lost = None, True

    def _start(self, where: str, step: Message) -> None:
        if self._round is not None and self._round.is_over:
            self._rounds.append(self._round)
        elif self._round is not None:
            self.lose(f"{where}: a new round, but the last one has not ended")
        self._round, self._is_lost = None, False
        self._round = _Draft(step, self._num_seats)

    def _read(self, name: str, step: Message) -> None:
        if self._round is None:
            if name != "GameUserInput":  # players signal that they are ready
                raise ValueError("before the first round")
        elif name == "GameUserInput":
            self._round.press(step)
        elif self._round.is_over:
            raise ValueError("after the end of the round")
        else:
            self._round.read(name, step)

    def finish(self) -> tuple[list[Round], list[LostRound], str | None]:
        if self._round is None and not self._lost:
            return [], [], "it holds no round"
        incomplete = None
        if self._round is not None and self._round.is_over:
            self._rounds.append(self._round)
        elif self._round is not None:
            incomplete = f"the record stops in {self._round.name}"
        has_inputs = any(draft.has_inputs for draft in self._rounds)
        return [draft.finished(has_inputs, self._robots) for draft in self._rounds], self._lost, incomplete


class _Draft:
    def __init__(self, start: Message, num_seats: int) -> None:
        self._num_seats = num_seats
        doras = list(start.doras) or [start.dora]
        if len(doras) != 1:
            raise ValueError(f"one indicator expected at the start, not {len(doras)}")
        dealer = in_range(start.ju, "ju", num_seats - 1)
        hands = [tiles_of(getattr(start, f"tiles{seat}")) for seat in range(num_seats)]
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
                tile_of(doras[0]),
                _points(start.scores, "scores", num_seats),
                [hand[:13] for hand in hands],
            ),
            {"type": "tsumo", "actor": dealer, "pai": hands[dealer][13]},
        ]
        # where indicators and the tiles after kans lie in the wall of three players is not known
        self._wall = _wall(start.paishan, *self.events) if num_seats == 4 else None
        self._doras = doras
        self._pons: dict[tuple[int, str], list[str]] = {}
        self._riichi: int | None = None
        """the seat that has discarded with riichi and not paid yet"""
        self._offers: list[Offer] = []
        self._open: dict[int, Offer] = {}
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
        """Whether the record has what players sent in this round."""
        return any(offer.is_answered for offer in self._offers)

    def finished(self, has_inputs: bool, robots: Collection[int]) -> Round:
        """Returns the round; `has_inputs` is of the whole game."""
        pressed = {(offer.after, offer.seat): offer.pressed for offer in self._offers if offer.pressed is not None}
        automatic = frozenset(
            (offer.after, offer.seat)
            for offer in self._offers
            if has_inputs and not offer.is_answered and offer.seat not in robots
        )
        return Round(tuple(self.events), pressed=pressed, wall=self._wall, automatic=automatic)

    def press(self, step: Message) -> None:
        """Records what a player sent, if there is something to choose now."""
        if step.seat in self._open:
            self._open[step.seat].press(step)

    def _seat(self, number: int) -> int:
        return in_range(number, "seat", self._num_seats - 1)

    def _deal(self, step: Message) -> None:
        self._pay_riichi(step)
        self._turn_doras(step.doras)
        self.events.append({"type": "tsumo", "actor": self._seat(step.seat), "pai": tile_of(step.tile)})
        self._offer([step.operation])

    def _discard(self, step: Message) -> None:
        seat = self._seat(step.seat)
        self._turn_doras(step.doras)
        if step.is_liqi or step.is_wliqi:
            self.events.append({"type": "reach", "actor": seat})
            self._riichi = seat
        self.events.append({"type": "dahai", "actor": seat, "pai": tile_of(step.tile), "tsumogiri": step.moqie})
        self._offer(step.operations)

    def _call(self, step: Message) -> None:
        self._pay_riichi(step)
        seat, tiles, froms = self._seat(step.seat), tiles_of(step.tiles), list(map(self._seat, step.froms))
        if step.type >= len(_CALLS):
            raise ValueError(f"a call of type {step.type}: 0 ... {len(_CALLS) - 1} expected")
        kind = _CALLS[step.type]
        called = [i for i, source in enumerate(froms) if source != seat]
        if len(tiles) != (4 if kind == "daiminkan" else 3) or len(froms) != len(tiles) or len(called) != 1:
            raise ValueError(f"a {kind} of {len(tiles)} tiles from seats {froms}")
        pai = tiles.pop(called[0])
        if kind == "pon":
            self._pons[seat, kind_of(pai)] = [*tiles, pai]
        target = froms[called[0]]
        self.events.append({"type": kind, "actor": seat, "target": target, "pai": pai, "consumed": tiles})
        self._offer([step.operation])

    def _kan(self, step: Message) -> None:
        seat, pai = self._seat(step.seat), tile_of(step.tiles)
        kind = kind_of(pai)
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
            ura = tiles_of(hule.li_doras)
            wins.append(
                {"type": "hora", "actor": seat, "target": target, "pai": tile_of(hule.hu_tile), "ura_markers": ura}
            )
        wins.sort(key=lambda win: (win["actor"] - win["target"]) % self._num_seats)
        # of several winners only the sum of their payments is recorded
        wins[-1]["deltas"] = _points(step.delta_scores, "delta_scores", self._num_seats)
        if step.scores:
            wins[-1]["scores"] = _points(step.scores, "scores", self._num_seats)
        for hule in step.hules:
            self._turn_doras(hule.doras)
        self.events += wins
        self.is_over = True

    def _abort(self, step: Message) -> None:
        if step.type not in _DRAWS:
            raise ValueError(f"an aborted round of type {step.type}: 1 ... {len(_DRAWS)} expected")
        # the stick of a riichi that aborts the round is on the table, whether or not the record has it here; that of a
        # riichi whose tile is won is not
        self._pay_riichi(step, is_certain=_DRAWS[step.type] != "sanchaho")
        self.events.append({"type": "ryukyoku", "reason": _DRAWS[step.type], "deltas": [0] * self._num_seats})
        self.is_over = True

    def _exhaust(self, step: Message) -> None:
        deltas = [0] * self._num_seats
        for payment in step.scores:
            if payment.delta_scores:
                deltas = [
                    a + b
                    for a, b in zip(deltas, _points(payment.delta_scores, "delta_scores", self._num_seats), strict=True)
                ]
        reason = "nagashimangan" if step.liujumanguan else "exhaustive_draw"
        event: Event = {"type": "ryukyoku", "reason": reason, "deltas": deltas}
        if step.scores and step.scores[0].old_scores:
            old = _points(step.scores[0].old_scores, "old_scores", self._num_seats)
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
        """Adds events of newly revealed indicators; messages hold all of them or none."""
        if not doras:
            return
        before = self._doras
        if list(doras[: len(before)]) != before[: len(doras)]:
            raise ValueError(f"the indicators {', '.join(doras)}, before {', '.join(before)}")
        for name in doras[len(before) :]:
            self.events.append({"type": "dora", "dora_marker": tile_of(name)})
            before.append(name)

    def _offer(self, lists: Collection[Message]) -> None:
        """Stores the offers in the message of the last event, OptionalOperationList messages."""
        self._open = {}
        if not lists:
            return
        after = next(i for i in range(len(self.events) - 1, 0, -1) if self.events[i]["type"] in _TRIGGERS)
        claimed = self.events[after] if self.events[after]["type"] in _CLAIMED else None
        for offer in offers_of(lists, after, claimed, self._num_seats):
            self._offers.append(offer)
            self._open[offer.seat] = offer


def _wall(paishan: str, start: Event, first: Event) -> tuple[str, ...] | None:
    """Returns the whole wall, if `paishan` holds it, or, as in older records, the rest of it after the first draw.
    Whether it is the wall of this round is checked by replaying."""
    tiles = tiles_of(paishan[i : i + 2] for i in range(0, len(paishan), 2))
    if sum(map(len, start["tehais"])) + 1 + len(tiles) == NUM_TILE_IDS:
        return whole_wall(start, [first["pai"], *tiles], vocabulary_of_seats(4))
    return tuple(tiles) if len(tiles) == NUM_TILE_IDS else None


def _points(values: Sequence[int], name: str, num_seats: int) -> list[int]:
    if len(values) != num_seats or max(map(abs, values)) > LARGEST_SCORE:
        raise ValueError(f"{name} must be {num_seats} numbers of points, not {list(values)[:8]}")
    return list(values)
