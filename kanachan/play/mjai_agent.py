"""An external program at the table: mjai events over its standard input and output, one JSON object per line.

A program serves one seat. It receives all events that this seat can see, in chunks that end where it must act; tiles
that the seat cannot see are "?". A program may exit at the end of its game; the next game then gets a new one.

Programs answer either every line or, like Mortal, only the lines at which they can act. A pass does not show which: it
may be the answer to start_game, with more answers to follow. Nor does a delay: a program may load its network at any
line. So the first program of a command is probed before its first game with a made-up draw, at which a pass is not
possible: a program that answers every line answers `none` to all lines before it. From then on, answers are counted.
"""

import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from annotate.game.decisions import kind_of, prefer
from annotate.game.mjai_actions import KITA, PASS, choice_of_event
from annotate.game.record import START_SCORE, Event
from annotate.records.strict_json import parse_json
from annotate.vocabulary import Vocabulary
from kanachan.inference.choice import Action
from kanachan.play.agent import ActRequest, BatchKey, GameKey, illegal

ANSWER_SECONDS = 120.0
"""time limit for an answer, including the start of the program"""
_END_SECONDS = 5.0
_LONGEST_ANSWER = 1 << 20  # bytes without a line end
_CONCURRENT = BatchKey(None, 16)
"""programs compute their answers at the same time"""
_MOVES = ("dahai", "reach", "ankan", "hora", "ryukyoku", *KITA)
"""types of events that can answer a seat's first draw"""


class ProgramEnded(ValueError):
    """A program has exited, or has closed its input or output."""


class Program:
    """A running program with its input and output.

    Args:
        command: `{seat}` in it is replaced by the seat; otherwise, the seat is appended.
        answers_all: whether the program answers every line; None: unknown until `probe`.
    """

    def __init__(self, command: Sequence[str], seat: int, num_seats: int, answers_all: bool | None = None) -> None:
        words = [word.replace("{seat}", str(seat)) for word in command]
        if words == list(command):
            words.append(str(seat))
        self.name = " ".join(words)
        self.seat = seat
        self.num_seats = num_seats
        self.last_sent: Sequence[Mapping[str, Any]] = ()
        """the events that were sent last"""
        self.is_between_games = False
        """whether a game has ended and the program has not answered since then"""
        self._is_input_closed = False
        # in a new session, since Ctrl-C is for the arena, which then closes its programs
        try:
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, bufsize=0
            )
        except OSError as error:
            raise ValueError(
                f"mjai:{self.name} cannot be started: {error.strerror}; give the program's path and its arguments"
            ) from None
        self._answers_all = answers_all
        self._buffer = b""

    def probe(self) -> bool:
        """Plays a made-up game of one draw, and returns whether the program answers every line. Raises ValueError if
        the program answers only some of the lines before the draw, or does not answer the draw with a move."""
        before, after = made_up_game(self.seat, self.num_seats)
        self.send(before)
        answers = [self._read()]
        while answers[-1]["type"] == PASS and len(answers) < len(before):
            answers.append(self._read())
        if answers[-1]["type"] not in _MOVES:
            raise ValueError(f"{self.name}: after a draw a move is expected, not {json.dumps(answers[-1])[:200]}")
        if 1 < len(answers) < len(before):
            raise ValueError(
                f"{self.name}: answers some of the lines at which it cannot act; it must answer all of them or none"
            )
        self._answers_all = len(answers) > 1
        self.send_end(after)
        return self._answers_all

    def send(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Sends events; the program must act at the last one. `answer` reports a closed input."""
        self.last_sent = events
        lines = "".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events)
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(lines.encode())
        except BrokenPipeError:
            self._is_input_closed = True

    def answer(self) -> Event:
        """Returns the program's answer to the events that were sent last. Raises the errors of `_read`."""
        assert self._answers_all is not None
        return self._last_of(len(self.last_sent) if self._answers_all else 1)

    def send_end(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Sends the last events of a game, at which the program need not act and may exit."""
        self.send(events)
        with suppress(ProgramEnded):
            if self._answers_all:
                self._last_of(len(events))
        self.is_between_games = True

    def _last_of(self, num: int) -> Event:
        return [self._read() for _ in range(num)][-1]

    def _read(self) -> Event:
        """Reads the next line. Raises ProgramEnded if there is none, and ValueError if it does not arrive in time or is
        not an mjai event."""
        if self._is_input_closed:
            raise self._ended()
        assert self._process.stdout is not None
        output, end = self._process.stdout.fileno(), time.monotonic() + ANSWER_SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if len(self._buffer) > _LONGEST_ANSWER:
                    raise ValueError(f"{self.name}: an answer of one line expected, not {self._buffer[:200]!r} ...")
                if not selector.select(max(0.0, end - time.monotonic())):
                    raise ValueError(f"{self.name}: no answer in {ANSWER_SECONDS:.0f} seconds")
                data = os.read(output, 1 << 16)
                if not data:
                    raise self._ended()
                self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            event = parse_json(line.decode())
        except ValueError:
            event = None
        if not isinstance(event, dict) or not isinstance(event.get("type"), str):
            raise ValueError(f"{self.name}: an mjai event expected as answer, not {line[:200]!r}")
        if event["type"] == "error":
            raise ValueError(f"{self.name}: answers with an error: {line.decode()[:500]}")
        self.is_between_games = False
        return event

    def _ended(self) -> ProgramEnded:
        try:
            status = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return ProgramEnded(f"{self.name}: the program has closed its input or output, but has not ended")
        return ProgramEnded(f"{self.name}: the program has ended, with status {status}")

    def close_input(self) -> None:
        """Closes the program's input, upon which it should exit."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def close(self, seconds: float = _END_SECONDS) -> None:
        """Closes the program's input, and kills the program if it has not exited after `seconds`."""
        self.close_input()
        assert self._process.stdout is not None
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)  # its children too, which may hold the arena's output open
            self._process.wait()
        self._process.stdout.close()


def made_up_game(seat: int, num_seats: int) -> tuple[list[Event], list[Event]]:
    """Returns the events, as seen by the dealer, of a game that nine terminals and honours abort at the first draw: the
    events up to the draw, and the events after it."""
    hand = "1m 9m 1p 9p 1s 9s E S W N 4p 5p 6s".split()
    start = {"type": "start_kyoku", "bakaze": "E", "kyoku": seat + 1, "oya": seat, "honba": 0, "kyotaku": 0}
    hands = [hand if owner == seat else ["?"] * len(hand) for owner in range(num_seats)]
    scores = [START_SCORE[num_seats]] * num_seats
    before: list[Event] = [
        {"type": "start_game", "id": seat, "names": [""] * num_seats},
        {**start, "scores": scores, "tehais": hands, "dora_marker": "P"},
        {"type": "tsumo", "actor": seat, "pai": "7p"},
    ]
    draw = {"type": "ryukyoku", "reason": "kyushu_kyuhai", "deltas": [0] * num_seats}
    return before, [draw, {"type": "end_kyoku"}, {"type": "end_game", "scores": scores}]


class _Seated:
    """A program in one game."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._num_rounds = self._num_in_round = 0
        """number of rounds sent so far, and of the log's events of the last of them"""
        self._ahead: Event | None = None
        """an event that was sent before it is in the log: for example, a closed kan of seat 1 that seat 2 may rob. The
        engine reports it after seat 2 has passed. If seat 2 wins, the engine never reports it, but it is in the table's
        log before the win"""

    def send(self, request: ActRequest) -> None:
        """Sends the events up to a request."""
        events: list[Event] = [json.loads(text) for text in request.turn.events]
        lines = self._new(events)
        if request.unlogged is not None:
            lines.append(request.unlogged)
            self._ahead = request.unlogged
        self.program.send(lines)

    def declare_riichi(self) -> None:
        """Sends the seat's own riichi declaration, after which the program must discard."""
        # the engine does not report it to the seat itself
        self._num_in_round += 1
        self.program.send([{"type": "reach", "actor": self.program.seat}])

    def end(self, log: Sequence[Event]) -> None:
        """Sends the events since the last request."""
        starts = [place for place, event in enumerate(log) if event["type"] == "start_kyoku"]
        rest = self._new(log[starts[self._num_rounds - 1] + self._num_in_round :])
        self.program.send_end([self._hidden(event) for event in rest])

    def _new(self, events: Sequence[Event]) -> list[Event]:
        """Returns the log's next events, except for an event that was sent ahead."""
        lines: list[Event] = []
        for event in events:
            kind, (ahead, self._ahead) = event["type"], (self._ahead, None)
            is_sent = ahead is not None and (kind, event.get("actor")) == (ahead["type"], ahead["actor"])
            # the event sent ahead is in the log, but the engine may not report it again
            self._num_in_round += 1 + (ahead is not None and not is_sent)
            if is_sent:
                continue
            if kind == "start_kyoku":
                self._num_rounds += 1
                self._num_in_round = 1
            if kind == "start_game":
                names = [""] * self.program.num_seats
                event = {"type": kind, "id": self.program.seat, "names": names}
            lines.append(event)
        return lines

    def _hidden(self, event: Event) -> Event:
        """Returns an event of the log, which shows all hands and walls, as the seat sees it."""
        seat = self.program.seat
        if event["type"] == "start_kyoku":
            hands = [hand if owner == seat else ["?"] * len(hand) for owner, hand in enumerate(event["tehais"])]
            return {**{name: event[name] for name in event if name != "kanachan"}, "tehais": hands}
        is_unseen = event["type"] == "tsumo" and event["actor"] != seat
        return {**event, "pai": "?"} if is_unseen else event


class MjaiAgent:
    """Plays with programs of one command: one per game and seat at a time, reused in later games."""

    plays_forced = True

    def __init__(self, command: Sequence[str], vocabulary: Vocabulary) -> None:
        self._command = command
        self._vocabulary = vocabulary
        self._seated: dict[tuple[GameKey, int], _Seated] = {}
        self._idle: dict[int, list[Program]] = {}
        self._answers_all: bool | None = None
        """whether the command's programs answer every line; None: not probed yet"""

    def group(self, request: ActRequest) -> BatchKey:
        return _CONCURRENT

    def act(self, requests: Sequence[ActRequest]) -> list[Action]:
        queried = [self._at(request) for request in requests]
        for seated, request in zip(queried, requests, strict=True):  # all programs compute at the same time
            seated.send(request)
        return [Action(self._answer(*pair)) for pair in zip(queried, requests, strict=True)]

    def _at(self, request: ActRequest) -> _Seated:
        key = request.game, request.turn.seat
        if key not in self._seated:
            self._seated[key] = _Seated(self._program(request.turn.seat))
        return self._seated[key]

    def _program(self, seat: int) -> Program:
        """Returns a program that is not in a game."""
        idle = self._idle.setdefault(seat, [])
        if self._answers_all is None:
            idle.append(Program(self._command, seat, self._vocabulary.num_seats))
            self._answers_all = idle[-1].probe()
        return idle.pop() if idle else Program(self._command, seat, self._vocabulary.num_seats, self._answers_all)

    def _answer(self, seated: _Seated, request: ActRequest) -> int:
        event = self._first_answer(seated)
        program = seated.program
        is_riichi = event["type"] == "reach"
        if is_riichi:
            kinds = {kind_of(token, self._vocabulary) for token in request.turn.options}
            if event.get("actor", program.seat) != program.seat or "riichi" not in kinds:
                raise illegal(program.name, request, json.dumps(event)[:200], self._vocabulary)
            seated.declare_riichi()
            event = program.answer()
        wanted = json.dumps(event)[:200] + " after reach" * is_riichi
        try:
            if event.get("actor", program.seat) != program.seat:
                raise ValueError("of another seat")
            choice = choice_of_event(request.turn, event, self._vocabulary, is_riichi)
        except (ValueError, LookupError, TypeError, AssertionError):
            raise illegal(program.name, request, wanted, self._vocabulary) from None
        prefer(request.turn, choice)  # a pon with or without the red five has one token
        return choice.token

    def _first_answer(self, seated: _Seated) -> Event:
        """Returns the answer of a program. Replaces a program that exited after the previous game; while it was
        exiting, this could not be seen."""
        program = seated.program
        try:
            return program.answer()
        except ProgramEnded:
            if not program.is_between_games:
                raise
        program.close()
        seated.program = Program(self._command, program.seat, program.num_seats, self._answers_all)
        seated.program.send(program.last_sent)
        return seated.program.answer()

    def end(self, game: GameKey, seat: int, events: Sequence[Event]) -> None:
        seated = self._seated.pop((game, seat), None)
        if seated is not None and not events:
            seated.program.close()
        elif seated is not None:
            self._idle.setdefault(seat, []).append(seated.program)
            seated.end(events)

    def close(self) -> None:
        idle = [program for programs in self._idle.values() for program in programs]
        programs = [*(seated.program for seated in self._seated.values()), *idle]
        for program in programs:
            program.close_input()
        end = time.monotonic() + _END_SECONDS
        for program in programs:  # the time limit applies to all of them together
            program.close(max(0.0, end - time.monotonic()))
