"""Serves one seat of an mjai table: reads one event per line, and writes one answer per line."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO

from annotate.game.record import ENDS, Event
from annotate.records.mjai.dialects import (
    ERROR,
    HELLO,
    NO_MOVES,
    Completion,
    events_of_line,
    require_red_fives,
)
from annotate.records.mjai.events import require_seats, seen_event

if TYPE_CHECKING:
    from kanachan.play.mjai_bot import MjaiBot

PROGRAM = "kanachan-bot"
_JOIN: Event = {"type": "join", "name": "kanachan", "room": "default"}
"""answer to the greeting of the reference server"""


class Bot:
    """Answers every line of a game, including invalid lines. A line may hold an array of events; the last event is then
    answered. `is_seated`: whether the server assigns the seat, with start_game."""

    def __init__(self, player: "MjaiBot", *, is_seated: bool = False) -> None:
        self._player = player
        self._is_in_game = False
        self._is_seated = is_seated
        self._completion = Completion(player.num_seats)

    def answer(self, line: str) -> Event:
        """Returns the answer to one line."""
        try:
            events = events_of_line(line)
        except ValueError as error:
            return self._refused(str(error))
        answer: Event | None = None
        for event in events:
            try:
                answer = self._answer(event, is_last=event is events[-1])
            except ValueError as error:
                return self._refused(f"{event['type'][:40]}: {error}")
        return answer or {"type": "none"}

    def _refused(self, message: str) -> Event:
        self._player.leave_round()
        return {"type": "error", "message": message}

    def _answer(self, event: Event, is_last: bool) -> Event | None:
        kind = event["type"]
        if kind == "start_game":
            self._start_game(event)
        elif kind == HELLO:
            self._is_seated = True
            return _JOIN
        elif kind in ("end_game", "end_kyoku", ERROR):
            self._player.leave_round()
            self._is_in_game = self._is_in_game and kind == "end_kyoku"
        elif kind == "start_kyoku":
            if not self._is_in_game:
                raise ValueError("before any start_game")
            self._player.start_round(self._seen(event))
        elif kind not in NO_MOVES:
            is_in_round = self._player.is_in_round
            seen = self._seen(event)  # after an error too: the next round may start with the scores that follow
            if not is_in_round:
                raise ValueError("outside of a round, or after an error in it: start_kyoku or start_game expected")
            return self._player.follow(seen, is_last and event.get("can_act") is not False)
        return None

    def _seen(self, event: Event) -> Event:
        try:
            return seen_event(event, self._player.num_seats, self._completion)
        except ValueError:
            if event["type"] in ("reach_accepted", *ENDS):
                self._completion.scores = None  # the next round must state them
            raise

    def _start_game(self, event: Event) -> None:
        self._player.leave_round()
        self._is_in_game = False
        require_red_fives(event)
        require_seats(event, self._player.num_seats)
        seat = event.get("id")
        if type(seat) is int and self._is_seated and 0 <= seat < self._player.num_seats:
            self._player.seat = seat
        if type(seat) is int and seat != self._player.seat:
            raise ValueError(f"the id is {seat}, but this program plays seat {self._player.seat}")
        self._completion = Completion(self._player.num_seats)
        self._is_in_game = True


def serve(bot: Bot, lines: Iterable[bytes], output: TextIO) -> None:
    """Writes the answer to each line as soon as the line is read; empty lines are not answered."""
    for line in lines:
        text = line.decode(errors="replace").strip()
        if text:
            write_answer(bot.answer(text), output)


def write_answer(value: Any, output: TextIO) -> None:
    """Writes `value` as a line of JSON, and flushes the output."""
    output.write(json.dumps(value, separators=(",", ":")) + "\n")
    output.flush()
