"""Writes played games as records: mjai JSON lines that `annotate.records.mjai.reader` reads."""

import json
from collections.abc import Sequence

from annotate.game.engine.table import Table
from annotate.game.record import Event
from annotate.game.tiles import NAME_OF_ID
from annotate.runtime.files import writing_text

SUFFIX = ".jsonl.gz"


def recorded_events(table: Table, header: Event) -> list[Event]:
    """Returns the events of a finished game, from start_game to end_game. `header`: the fields of "kanachan" in
    start_game: id, rules, style, room, grades, grading_deltas."""
    events = table.log()
    events[0] = {"type": "start_game", "kanachan": header}
    events[-1] = {"type": "end_game", "scores": table.scores}
    starts = (event for event in events if event["type"] == "start_kyoku")
    for start, undealt in zip(starts, table.undealt, strict=True):
        start["kanachan"] = {"wall": [NAME_OF_ID[tile] for tile in undealt]}
    return events


def write_record(path: str, events: Sequence[Event]) -> None:
    """Writes events as lines, atomically, compressed according to the suffix."""
    with writing_text(path) as file:
        file.writelines(f"{json.dumps(event, separators=(',', ':'))}\n" for event in events)


def rounds_of(events: Sequence[Event]) -> list[list[Event]]:
    """Splits a whole game's events into rounds, each from start_kyoku to its last hora or ryukyoku."""
    rounds: list[list[Event]] = []
    for event in events:
        if event["type"] == "start_kyoku":
            rounds.append([event])
        elif event["type"] not in ("start_game", "end_kyoku", "end_game"):
            rounds[-1].append(event)
    return rounds
