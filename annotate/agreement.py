"""Whether the engine's events of a round are the record's, whatever the dialect leaves out."""

from collections.abc import Sequence
from typing import Any

from annotate.records.record import Event
from annotate.results import round_delta


class Disagreement(ValueError):
    """The record's round cannot be played as it is written, or ends otherwise than it says."""


_FRAME = ("start_game", "start_kyoku", "end_kyoku", "end_game", "none")
_REASONS = (
    "exhaustive_draw",
    "nagashimangan",
    "kyushu_kyuhai",
    "sufuurenta",
    "suukansansen",
    "suucha_riichi",
    "sanchaho",
)
"""the engine's words; other dialects have others, or none"""
_COMPARED_KEYS = ("type", "actor", "target", "pai", "tsumogiri", "dora_marker")


def compare_events(recorded: Sequence[Event], log: Sequence[Event]) -> list[Event]:
    """Returns the engine's events of a round, start_kyoku first, if they are the record's.

    Args:
        recorded: from start_kyoku to the last hora or ryukyoku.
        log: the engine's, of one round.

    Raises:
        Disagreement: names the first event that the record and the engine tell differently.
    """
    played = [event for event in log if event["type"] not in _FRAME]
    _compare([event for event in recorded if event["type"] not in _FRAME], played)
    return [recorded[0], *played]


def compare_scores(recorded: Sequence[int] | None, played: Sequence[Event]) -> None:
    """Raises Disagreement if the record tells the scores after a round, and the engine's events lead to others."""
    start = played[0]["scores"]
    scores = [score + delta for score, delta in zip(start, round_delta(played, len(start)), strict=True)]
    if recorded is not None and list(recorded) != scores:
        raise Disagreement(f"scores after the round: record {list(recorded)}, engine {scores}")


def _compare(recorded: Sequence[Event], played: Sequence[Event]) -> None:
    if any(event["type"] == "hora" and "deltas" not in event for event in recorded):
        recorded, played = _with_joint_payment(recorded), _with_joint_payment(played)
    is_first_discard = True
    for index in range(max(len(recorded), len(played))):
        if index >= len(played):
            raise Disagreement(f"the engine's round ends before {in_words(recorded[index])}")
        if index >= len(recorded):
            raise Disagreement(f"the engine goes on with {in_words(played[index])}")
        ours, theirs = _essence(played[index]), _essence(recorded[index])
        if "reason" not in theirs:
            ours.pop("reason", None)
        if is_first_discard and theirs["type"] == "dahai":
            is_first_discard = False
            ours.pop("tsumogiri", None)  # the dealer's first discard has none of the two
            theirs.pop("tsumogiri")
        if ours != theirs:
            raise Disagreement(f"event {index}: record {in_words(theirs)}, engine {in_words(ours)}")


def _with_joint_payment(events: Sequence[Event]) -> list[Event]:
    """The events with what all winners were paid together in the last one's place."""
    wins = [event["deltas"] for event in events if event["type"] == "hora" and "deltas" in event]
    joint = [sum(deltas) for deltas in zip(*wins, strict=True)]
    told = [{**event, "deltas": []} if event["type"] == "hora" else event for event in events]
    return [*told[:-1], {**told[-1], "deltas": joint}]


def _essence(event: Event) -> dict[str, Any]:
    essence = {key: event[key] for key in _COMPARED_KEYS if event.get(key) is not None}
    if event["type"] in ("hora", "ankan"):
        essence.pop("pai", None)  # not every dialect tells
    if event.get("reason") in _REASONS:
        essence["reason"] = event["reason"]
    if "consumed" in event:
        essence["consumed"] = sorted(event["consumed"])
    if event["type"] in ("hora", "ryukyoku"):
        essence["deltas"] = list(event.get("deltas") or ())
    return essence


def in_words(event: Event) -> str:
    """An event for people."""
    values = ", ".join(f"{key} {value}" for key, value in event.items() if key != "type")
    return f"{event['type']} ({values})"
