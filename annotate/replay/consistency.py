"""Compares the end of a replayed round with its record, in which a dialect may omit fields.

Earlier events need no comparison here: the record's actions are played on the record's wall, and an action, a draw or a
dora indicator that differs from the engine's stops the replay (see `annotate.replay.replay`, and
`annotate.replay.script`, which reads the record's choices).
"""

from collections.abc import Sequence

from annotate.game.engine.table import Table
from annotate.game.record import Event
from annotate.game.results import ABORTS, EXHAUSTIVE, NAGASHI, leftover_deposits, round_delta


class Disagreement(ValueError):
    """The record's round cannot be played as recorded, or ends differently."""


_TRIPLE_RON = "sanchaho"
_REASONS = (EXHAUSTIVE[0], NAGASHI, *ABORTS)
"""reasons of draws as this program's readers name them; other dialects have other names, or none"""
_KANS = ("daiminkan", "ankan", "kakan")
_MOVES = ("tsumo", "reach", "dahai", "chi", "pon", *_KANS)
_NOTEN_PAYMENTS = {4: {0, 1000, 1500, 3000}, 3: {0, 1000, 2000}}


def agreed_events(recorded: Sequence[Event], abort: str | None, table: Table) -> list[Event]:
    """Compares the end of a round with the engine's and returns its events with payments and the reason of a draw.
    Raises Disagreement, which names the difference. `abort`: the reason of a draw that a player chose or a triple ron
    caused, None if the engine ended the round; `table`: the table after the same actions, at the end of the round."""
    num_seats = len(recorded[0]["scores"])
    num_drawn = sum(event["type"] == "tsumo" for event in recorded)
    _require_same("tiles drawn", num_drawn, table.vocabulary.num_live - table.left)
    num_dora = 1 + sum(event["type"] == "dora" for event in recorded)
    _require_same("dora indicators", num_dora, table.num_dora)
    winners = {event["actor"] for event in recorded if event["type"] == "hora"}
    _require_same("winners", sorted(winners), sorted(table.winners))
    start, scores = recorded[0]["scores"], table.scores
    changes = [after - before for before, after in zip(start, scores, strict=True)]
    ending = recorded[-1]
    if winners and "deltas" not in ending:
        raise Disagreement("the record does not contain the payments")
    _require_same("change of the scores", round_delta(recorded, num_seats), changes)
    _require_same("scores after the round", list(ending.get("scores", scores)), scores)
    # a riichi that wins gets its stick back, so that the scores do not show whether it was paid
    paid = sorted(event["actor"] for event in recorded if event["type"] == "reach_accepted")
    _require_same("riichi paid for by", paid, _riichi_to_pay(recorded, abort))
    if winners:
        return list(recorded)
    _require_same("deposits", leftover_deposits(recorded), table.deposits)
    reason = abort or _reason_of_draw(recorded, table.left)
    if ending.get("reason") in _REASONS:
        _require_same("reason of the draw", ending["reason"], reason)
    return [*recorded[:-1], {"deltas": [0] * num_seats, **ending, "reason": reason}]


def _riichi_to_pay(events: Sequence[Event], abort: str | None) -> list[int]:
    """Returns the seats that declared riichi, except a seat whose declaring discard was won."""
    moves = [event for event in events if event["type"] in _MOVES]
    ending = events[-1]
    is_won = abort == _TRIPLE_RON or (ending["type"] == "hora" and ending["actor"] != ending["target"])
    if is_won and [event["type"] for event in moves[-2:]] == ["reach", "dahai"]:
        del moves[-2]
    return sorted(event["actor"] for event in moves if event["type"] == "reach")


def _reason_of_draw(events: Sequence[Event], left: int) -> str:
    """Returns the reason why the engine ended a round that nobody won."""
    deltas = events[-1].get("deltas") or ()
    kans = [event["actor"] for event in events if event["type"] in _KANS]
    if len(kans) == 4 and len(set(kans)) > 1 and not any(deltas):
        return "suukansansen"
    if left == 0:
        return EXHAUSTIVE[0] if _NOTEN_PAYMENTS[len(events[0]["scores"])].issuperset(map(abs, deltas)) else NAGASHI
    return "suucha_riichi" if sum(event["type"] == "reach" for event in events) == 4 else "sufuurenta"


def _require_same(what: str, recorded: object, engine: object) -> None:
    if recorded != engine:
        raise Disagreement(f"{what}: record {recorded}, engine {engine}")


def event_text(event: Event) -> str:
    """Describes an event for people."""
    values = ", ".join(f"{key} {value}" for key, value in event.items() if key != "type")
    return f"{event['type']} ({values})"
