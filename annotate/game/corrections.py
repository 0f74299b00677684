"""Corrects the events of a round, whatever its format: what a record states wrongly or leaves out although its other
events determine it."""

from collections.abc import Sequence
from typing import Any

STICK = 1000
"""points of a riichi stick"""
_ENDS = ("hora", "ryukyoku")


def corrected(events: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Returns the mjai events of a round, from start_kyoku, with

    - the dealer's first discard as one from the hand: none of the 14 tiles dealt is the drawn one. Records mark it
      differently, some as drawn although it is another tile;
    - the tile of a North set aside;
    - payments where there are only the scores after them.
    """
    found = list(events)
    place = 3 if len(found) > 2 and found[2]["type"] == "reach" else 2
    if len(found) > place and found[place]["type"] == "dahai" and found[1]["type"] == "tsumo":
        found[place] = {**found[place], "tsumogiri": False}
    for i, event in enumerate(found):
        if event["type"] == "kita" and event.get("pai") != "N":
            found[i] = {**event, "pai": "N"}
    if any(event["type"] in _ENDS and "deltas" not in event and "scores" in event for event in found[-3:]):
        _pay(found)
    return tuple(found)


def _pay(events: list[dict[str, Any]]) -> None:
    scores = list(events[0]["scores"])
    for i, event in enumerate(events):
        if event["type"] == "reach_accepted":
            scores[event["actor"]] -= STICK
        elif event["type"] in _ENDS:
            if "deltas" not in event and "scores" in event:
                deltas = [after - before for after, before in zip(event["scores"], scores, strict=True)]
                events[i] = event = {**event, "deltas": deltas}
            scores = [score + paid for score, paid in zip(scores, event.get("deltas", [0] * len(scores)), strict=True)]
