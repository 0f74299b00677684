"""Plays a record's choices at a table and checks that its draws and indicators agree with the engine's."""

from bisect import bisect

from annotate.game.decisions import Choice, is_hidden
from annotate.game.engine.table import Table, Turn
from annotate.game.mjai_actions import choice_of_event, token_of_event
from annotate.game.record import CLAIMS, Event, Round
from annotate.game.tiles import MJAI_NAMES, TILE_OF_ID, TILE_OF_MJAI
from annotate.replay.consistency import Disagreement, event_text

_CHOICES = ("dahai", "reach", "chi", "pon", "daiminkan", "ankan", "kakan", "kita", "hora", "ryukyoku")
_OPENING = ("tsumo", "chi", "pon")
"""events after which a seat must discard or declare"""


class Script:
    """Makes the choices of a recorded round."""

    def __init__(self, recorded: Round, table: Table) -> None:
        events = self._events = recorded.events
        self._places: list[int] = []
        self._openings: list[int] = []
        """for each choice: the place of the last draw or call before it"""
        self._dora: list[int] = []
        """the places of events that reveal an indicator"""
        opening = 0
        for place, event in enumerate(events):
            kind = event["type"]
            if kind in _CHOICES:
                self._places.append(place)
                self._openings.append(opening)
            elif kind == "dora":
                self._dora.append(place)
            if kind in _OPENING:
                opening = place
        self._openings.append(opening)
        self._choices = [events[place] for place in self._places]
        self._next = 0
        self._num_added = 1
        """number of events passed to the table"""
        self._table = table
        self.abort: str | None = None
        """reason of a draw that players chose or caused by their choices"""
        self._vocabulary = table.vocabulary
        self._automatic = recorded.automatic
        self._pressed_events = recorded.pressed

    def choose(self, turns: list[Turn]) -> dict[int, Choice]:
        """Returns the recorded choices of the seats that must act. Raises Disagreement if the record has no such choice
        here, or another draw or other indicators than the engine."""
        is_claim = turns[0].target is not None
        place = self._place = self._places[self._next - 1] if is_claim else self._openings[self._next]
        for event in self._events[self._num_added : place + 1]:
            if event["type"] != "tsumo":  # nobody else sees it
                self._table.add_event(event)
        self._num_added = place + 1
        self._check_seen(turns[0], place)
        choices = self._claims(turns) if is_claim else {turns[0].seat: self._own_turn(turns[0])}
        for seat in choices:
            if (place, seat) in self._automatic:
                choices[seat] = choices[seat]._replace(is_automatic=True)
        return choices

    def _check_seen(self, turn: Turn, place: int) -> None:
        """Raises Disagreement if the record has another draw, or other open indicators, than the engine."""
        if turn.target is None:
            event = self._events[place]
            drawn = None if turn.drawn is None else TILE_OF_ID[turn.drawn]
            recorded = TILE_OF_MJAI[event["pai"]] if event["type"] == "tsumo" else None
            if event.get("actor") != turn.seat or recorded != drawn:
                # before any draw the last event is the start of the round, which is too long for a message
                found = f"not after {event_text(event)}" if place else "but the record has no draw before that"
                what = "a call" if drawn is None else f"drawing {MJAI_NAMES[drawn]}"
                raise Disagreement(f"seat {turn.seat} is to act after {what}, {found}")
        num_dora = 1 + bisect(self._dora, place)
        if num_dora != len(turn.dora_indicators):
            event = self._events[place]
            raise Disagreement(
                f"dora indicators after {event_text(event)}: record {num_dora}, engine {len(turn.dora_indicators)}"
            )

    def check_finished(self) -> None:
        """Raises Disagreement if the record continues after the end of the round."""
        rest = self._choices[self._next :]
        if rest and rest[0]["type"] == "ryukyoku" and not self._table.winners:
            del rest[0]  # the engine ends the round without a choice
        if rest:
            raise Disagreement(f"the round is over, but the record continues with {event_text(rest[0])}")

    def _peek(self) -> Event:
        if self._next == len(self._choices):
            raise Disagreement("the record ends before the round is over")
        return self._choices[self._next]

    def _own_turn(self, turn: Turn) -> Choice:
        event = self._peek()
        self._next += 1
        kind = event["type"]
        if kind == "ryukyoku":
            self.abort = "kyushu_kyuhai"
            return self._choice(turn, event)
        if event["actor"] != turn.seat:
            raise Disagreement(f"seat {turn.seat} is to act, but the record continues with {event_text(event)}")
        if kind == "reach":
            discard = self._peek()
            self._next += 1
            if discard["type"] != "dahai" or discard["actor"] != turn.seat:
                raise Disagreement(f"riichi is followed by {event_text(discard)}")
            return self._choice(turn, discard, is_riichi=True)
        if kind in ("dahai", "ankan", "kita") or (kind == "hora" and event["target"] == turn.seat):
            return self._choice(turn, event)
        if kind == "kakan":
            place = self._places[self._next - 1]
            if self._events[place + 1 : place + 2] and self._events[place + 1]["type"] == "hora":  # robbed
                self._table.withhold_dora()
            return self._choice(turn, event)
        raise Disagreement(f"seat {turn.seat} is to act, but the record continues with {event_text(event)}")

    def _claims(self, turns: list[Turn]) -> dict[int, Choice]:
        claims, outcome = self._next_claims(turns)
        self._next += len(claims)
        if outcome == "ryukyoku":
            # three winners abort the round; before any other end all seats passed
            is_triple = self._peek().get("reason") in ("sanchaho", "triple_ron", "ron3")
            outcome = "ron" if is_triple else "pass"
            if is_triple:
                self.abort = "sanchaho"
                claims = {turn.seat: {"type": "hora", "target": turns[0].target} for turn in turns}
        choices: dict[int, Choice] = {}
        skip = self._vocabulary.action["skip"].first
        for turn in turns:
            claim = claims.pop(turn.seat, None)
            if claim is not None and token_of_event(turn, claim, self._vocabulary) in turn.options:
                choices[turn.seat] = self._choice(turn, claim)
            elif claim is not None and outcome != "ron":
                raise Disagreement(f"not a legal action: {event_text(claim)}")
            else:
                is_known = not is_hidden(turn.options, outcome, None, self._vocabulary)
                pressed = skip if is_known else self._pressed(turn)
                token = skip if pressed is None else pressed
                choices[turn.seat] = Choice(token, turn.options[skip][0], pressed is not None)
        if claims:
            raise Disagreement(f"not a legal action: {event_text(next(iter(claims.values())))}")
        return choices

    def _pressed(self, turn: Turn) -> int | None:
        """Returns the token of the seat's pressed choice before another seat's claim; None if it is not recorded."""
        event = self._pressed_events.get((self._place, turn.seat))
        try:
            token = None if event is None else token_of_event(turn, event, self._vocabulary)
        except ValueError:
            return None
        return token if token in turn.options else None

    def _next_claims(self, turns: list[Turn]) -> tuple[dict[int, Event], str]:
        """Returns the recorded claims of the tile in question, and the outcome: the claim carried out, or "pass"."""
        claims: dict[int, Event] = {}
        for event in self._choices[self._next :]:
            kind = event["type"]
            if kind == "ryukyoku" and not claims:
                return {}, kind
            if kind not in ("hora", *CLAIMS) or event["target"] != turns[0].target:
                break
            if kind == "hora" and event["actor"] == event["target"]:
                break
            claims[event["actor"]] = event
            if kind != "hora":
                return claims, kind
        return claims, "ron" if claims else "pass"

    def _choice(self, turn: Turn, event: Event, is_riichi: bool = False) -> Choice:
        try:
            return choice_of_event(turn, event, self._vocabulary, is_riichi)
        except ValueError:
            if is_riichi:
                raise Disagreement(f"seat {turn.seat} cannot declare riichi with {event['pai']} now") from None
            raise Disagreement(f"not a legal action: {event_text(event)}") from None
