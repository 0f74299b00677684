"""The events that a seat sees at an mjai table, and the turns that `annotate.game.seat_view` makes of them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from annotate.annotation import Annotation
from annotate.game.decisions import Decision
from annotate.game.engine.table import Turn
from annotate.game.features import ObservationEncoder
from annotate.game.record import Event, Rules
from annotate.game.seat_view import SeatTable
from annotate.records.mjai.events import seen_event
from annotate.vocabulary import FOUR_PLAYERS, Vocabulary

V = FOUR_PLAYERS


def hidden_from(seat: int, event: Event) -> Event:
    """Returns an event of a record as `seat` receives it."""
    if event["type"] == "start_kyoku":
        hands = [hand if owner == seat else ["?"] * 13 for owner, hand in enumerate(event["tehais"])]
        return {**event, "tehais": hands}
    return {**event, "pai": "?"} if event["type"] == "tsumo" and event["actor"] != seat else event


def turns(
    seat: int, events: Sequence[Event], rules: Rules = "mjsoul", vocabulary: Vocabulary = V
) -> Iterator[tuple[SeatTable, Event, Turn]]:
    """The turns of `seat` in one round, from start_kyoku on."""
    num_seats = vocabulary.num_seats
    table = SeatTable.of_start(rules, seen_event(hidden_from(seat, events[0]), num_seats), seat, vocabulary)
    for event in events[1:]:
        turn = table.follow(seen_event(hidden_from(seat, event), num_seats))
        if turn is not None:
            yield table, event, turn


def at_the_table(
    seat: int, events: Sequence[Event], writer: ObservationEncoder, rules: Rules = "mjsoul"
) -> list[tuple[Any, ...]]:
    """The decisions of `seat` in one round: sparse, numeric, progression, actions."""
    return [
        writer.observation(turn, table.progression)
        for table, event, turn in turns(seat, events, rules, writer.vocabulary)
        if len(turn.options) > 1 and event["type"] != "reach"
    ]


def as_decided(
    seat: int, decisions: Iterable[Annotation | Decision], vocabulary: Vocabulary = V
) -> list[tuple[Any, ...]]:
    """The same for decisions that were taken while the whole game was seen."""
    own = vocabulary.sparse["seat"].token(seat)
    return [d.observation for d in decisions if own in d.observation.sparse]
