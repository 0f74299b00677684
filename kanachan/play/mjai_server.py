"""Serves one seat of an mjai table: an event a line in, an answer a line out."""

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO

from annotate.game.record import Event
from annotate.records.mjai.reader import parse_event, require_seats, seen_event
from kanachan.play.mortal_meta import NOTHING_TO_DO

if TYPE_CHECKING:
    from kanachan.play.mjai_bot import MjaiBot

PROGRAM = "kanachan-bot"


class Bot:
    """Answers every line of a game, invalid ones included.

    Args:
        is_reviewing: every answer has `meta`, and none is an error, at which the review would end.
    """

    def __init__(self, player: "MjaiBot", is_reviewing: bool = False) -> None:
        self._player = player
        self._is_reviewing = is_reviewing
        self._has_failed = False
        """whether all lines since the last error were errors too"""
        self._nothing: Event = {"type": "none", "meta": NOTHING_TO_DO} if is_reviewing else {"type": "none"}
        self._is_in_game = False

    def answer(self, line: str) -> Event:
        """Returns the answer to one line."""
        try:
            event = parse_event(line)
        except ValueError as error:
            return self._refused(str(error))
        try:
            answer = self._answer(event)
        except ValueError as error:
            return self._refused(f"{event['type'][:40]}: {error}")
        self._has_failed = False
        return answer or self._nothing

    def _refused(self, message: str) -> Event:
        self._player.leave_round()
        if not self._is_reviewing:
            return {"type": "error", "message": message}
        if not self._has_failed:
            print(f"{PROGRAM}: {message}; the rest of the round is skipped", file=sys.stderr)
        self._has_failed = True
        return self._nothing

    def _answer(self, event: Event) -> Event | None:
        kind = event["type"]
        if kind == "start_game":
            self._player.leave_round()
            self._is_in_game = False
            require_seats(event, self._player.num_seats)
            if type(event.get("id")) is int and event["id"] != self._player.seat:
                raise ValueError(f"the id is {event['id']}, but this program plays seat {self._player.seat}")
            self._is_in_game = True
        elif kind in ("end_game", "end_kyoku"):
            self._player.leave_round()
            self._is_in_game = self._is_in_game and kind != "end_game"
        elif kind == "start_kyoku":
            if not self._is_in_game:
                raise ValueError("before any start_game")
            self._player.start_round(seen_event(event, self._player.num_seats))
        elif kind != "none":
            if not self._player.is_in_round:
                raise ValueError("outside of a round, or after an error in it: start_kyoku or start_game expected")
            seen = seen_event(event, self._player.num_seats)
            return self._player.follow(seen, event.get("can_act") is not False)
        return None


def serve(bot: Bot, lines: Iterable[bytes], output: TextIO) -> None:
    """Writes the answer to each line as soon as the line is read; empty lines have none."""
    for line in lines:
        text = line.decode(errors="replace").strip()
        if text:
            write_answer(bot.answer(text), output)


def write_answer(value: Any, output: TextIO) -> None:
    """Writes `value` as a line of JSON, and flushes the output."""
    output.write(json.dumps(value, separators=(",", ":")) + "\n")
    output.flush()
