"""Checks the events of rounds: events of a record, and events as a seat at the table sees them."""

from collections.abc import Sequence
from typing import Any, NoReturn

from annotate.game.mjai_actions import KITA
from annotate.game.record import ENDS, Event
from annotate.records.mjai.dialects import Completion
from annotate.records.mjai.fields import HIDDEN, PAYMENTS, Field, fields_of, normalised
from annotate.vocabulary import NUMS_OF_SEATS

_PER_SEAT = ("scores", "tehais", "deltas", "delta")
"""fields with an element for each seat; in a game of three they may have a fourth, for an empty seat"""


def seen_event(event: Event, num_seats: int, completion: Completion | None = None) -> Event:
    """Checks an event of a round as a seat at the table sees it; hidden tiles may be "?", and a table of three may have
    an empty fourth seat. `completion` adds missing fields and follows the event. Raises ValueError, which names the
    field, or if the event does not occur in a round of `num_seats` players."""
    kind = kind_of_event(event)
    seen = fields_of(num_seats).seen
    if kind not in seen:
        raise ValueError(_unknown(kind, num_seats))
    if completion is not None:
        event = completion.completed(event)
    if kind == "start_kyoku":
        _require_scores(event.get("scores"), num_seats)
        found = start_kyoku(without_empty_seat(event, num_seats), seen[kind])
    else:
        found = {"type": kind, **normalised(without_empty_seat(event, num_seats), seen[kind])}
    if completion is not None:
        completion.follow(found)
    return found


def require_seats(start_game: Event, num_seats: int) -> None:
    """Raises ValueError if a start_game has too few names; with three players it may have four."""
    names = start_game.get("names")
    if type(names) is list and len(names) in NUMS_OF_SEATS and len(names) < num_seats:
        _refuse(len(names), num_seats)


def _require_scores(scores: Any, num_seats: int) -> None:
    """Raises ValueError if the scores are of another number of players; with three, a fourth score of 0 is ignored."""
    if type(scores) is list and len(scores) in NUMS_OF_SEATS:
        found = len(scores) - (len(scores) > num_seats and scores[-1] == 0)
        if found != num_seats:
            _refuse(found, num_seats)


def _refuse(found: int, num_seats: int) -> NoReturn:
    raise ValueError(f"a game of {found} players: these weights play games of {num_seats}")


def num_seats_of(start: Event) -> int:
    """Returns the number of seats of a game by the start of a round. With three seats there are three scores, or the
    fourth hand is empty, or hidden with a score of 0."""
    scores, hands = start.get("scores"), start.get("tehais")
    if type(scores) is list and len(scores) == 3:
        return 3
    if type(hands) is not list or len(hands) != 4:
        return 3 if type(hands) is list and len(hands) == 3 else 4
    is_empty = [type(hand) is list and all(tile == HIDDEN for tile in hand) for hand in hands]
    has_no_score = type(scores) is list and scores[3:] == [0]
    has_three = is_empty == [False, False, False, True] and (hands[3] == [] or has_no_score)
    return 3 if has_three else 4


def without_empty_seat(event: Event, num_seats: int) -> Event:
    if num_seats == 4:
        return event
    lists = {name: event[name][:3] for name in _PER_SEAT if type(event.get(name)) is list and len(event[name]) == 4}
    return {**event, **lists}


def start_kyoku(event: Event, fields: Sequence[Field]) -> Event:
    start = normalised(event, fields)
    if start["oya"] != start["kyoku"] - 1:
        raise ValueError(
            f"oya is {start['oya']}, but the dealer of kyoku {start['kyoku']} is seat {start['kyoku'] - 1}"
        )
    return {"type": "start_kyoku", **start}


def round_event(event: Event, events: Sequence[Event], num_seats: int) -> Event:
    kind = kind_of_event(event)
    fields = fields_of(num_seats).events
    if kind not in fields:
        raise ValueError(_unknown(kind, num_seats))
    if not events:
        raise ValueError("outside of a round")
    if events[-1]["type"] == "ryukyoku" or (events[-1]["type"] == "hora" and kind != "hora"):
        raise ValueError("after the end of the round")
    found = normalised(event, fields[kind])
    if kind in ENDS and not any(name in found for name in PAYMENTS):
        raise ValueError(f"{PAYMENTS[0]} is missing")
    return {"type": kind, **found}


def kind_of_event(event: Event) -> str:
    kind: str = event["type"]
    return "kita" if kind in KITA else kind


def _unknown(kind: str, num_seats: int) -> str:
    is_known = kind in ("chi", "kita")
    return f"not possible with {num_seats} players" if is_known else "an unknown type of event"
