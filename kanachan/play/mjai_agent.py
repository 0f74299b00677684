"""An external program at the table: mjai events over its standard input and output, one JSON object a line.

A program serves one seat. It is sent all events that this seat can see, in pieces that end where it must act; the tiles
that it cannot see are "?". A program may end with its game: the next one has another.

Programs answer either every line, or only those at which they can act, as Mortal does. A pass does not tell which: it
may be the answer to start_game, with others to come. Nor does waiting, as a program may load its network at any line.
So the first program of a command is asked about a made-up turn before its first game, a draw, after which nobody can
pass: whoever answers every line says `none` to each line before it. Then lines need only be counted.
"""

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from annotate.game.decisions import kind_of, prefer
from annotate.game.engine import Turn
from annotate.game.mjai_actions import PASS, choice_of_event
from annotate.game.record import Event
from annotate.vocabulary import Vocabulary
from kanachan.inference.choice import Action
from kanachan.play.agent import ActRequest, BatchKey, GameKey, illegal

ANSWER_SECONDS = 120.0
"""how long a program may think, starting up included"""
_END_SECONDS = 5.0
_THINKING_TOGETHER = BatchKey(None, 16)
"""programs think at the same time; alone, each would be waited for"""
_MOVES = ("dahai", "reach", "ankan", "hora", "ryukyoku")
"""what a seat can do with the first tile that it draws"""
_NAMES = ["", "", "", ""]


class ProgramEnded(ValueError):
    """A program has ended, or has closed its input or output."""


class Program:
    """A running program and how far it was told of its game.

    Args:
        command: `{seat}` in it stands for the seat; where it stands nowhere, the seat is the last argument.
        answers_all: whether it answers every line; None: `try_out` will tell.
    """

    def __init__(self, command: Sequence[str], seat: int, answers_all: bool | None = None) -> None:
        words = [word.replace("{seat}", str(seat)) for word in command]
        if words == list(command):
            words.append(str(seat))
        self.name = " ".join(words)
        self.seat = seat
        self.asked: Sequence[Mapping[str, Any]] = ()
        """the events that it was sent last"""
        self.has_rested = False
        """whether it has said nothing since a game ended"""
        self._is_deaf = False
        # a session of its own: Ctrl-C is for the arena, which closes its programs
        try:
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, bufsize=0
            )
        except OSError as error:
            raise ValueError(
                f"mjai:{self.name} cannot be started: {error.strerror}; give the program's path, and what it takes"
            ) from None
        self._answers_all = answers_all
        self._buffer = b""

    def try_out(self) -> bool:
        """Plays a made-up game of one draw: whether the program answers every line.

        Raises:
            ValueError: it answers neither so nor only where it can act, or not by a move.
        """
        before, after = _made_up_game(self.seat)
        self.ask(before)
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
        self.tell_end(after)
        return self._answers_all

    def ask(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Sends events, at the last of which it must act. That it cannot hear them, its answer tells."""
        self.asked = events
        lines = "".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events)
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(lines.encode())
        except BrokenPipeError:
            self._is_deaf = True

    def answer(self) -> Event:
        """What it does.

        Raises:
            ProgramEnded: it will not say.
            ValueError: what it says is no mjai, or takes too long.
        """
        assert self._answers_all is not None
        return self._last_of(len(self.asked) if self._answers_all else 1)

    def tell_end(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Sends the last events of a game, at which it need not act and may end itself."""
        self.ask(events)
        with suppress(ProgramEnded):
            if self._answers_all:
                self._last_of(len(events))
        self.has_rested = True

    def _last_of(self, num: int) -> Event:
        return [self._read() for _ in range(num)][-1]

    def _read(self) -> Event:
        """The next line.

        Raises:
            ProgramEnded: there will be none.
            ValueError: there is none in time, or it is no mjai.
        """
        if self._is_deaf:
            raise self._ended()
        assert self._process.stdout is not None
        output, end = self._process.stdout.fileno(), time.monotonic() + ANSWER_SECONDS
        while b"\n" not in self._buffer:
            if not select.select([output], [], [], max(0.0, end - time.monotonic()))[0]:
                raise ValueError(f"{self.name}: no answer in {ANSWER_SECONDS:.0f} seconds")
            data = os.read(output, 1 << 16)
            if not data:
                raise self._ended()
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if not isinstance(event, dict) or not isinstance(event.get("type"), str):
            raise ValueError(f"{self.name}: an mjai event expected as answer, not {line[:200]!r}")
        if event["type"] == "error":
            raise ValueError(f"{self.name}: answers with an error: {line.decode()[:500]}")
        self.has_rested = False
        return event

    def _ended(self) -> ProgramEnded:
        try:
            status = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return ProgramEnded(f"{self.name}: the program has closed its input or output, but has not ended")
        return ProgramEnded(f"{self.name}: the program has ended, with status {status}")

    def hang_up(self) -> None:
        """Closes its input, at which it should end."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def close(self, seconds: float = _END_SECONDS) -> None:
        """Closes its input and, if it does not end in so many seconds, ends it."""
        self.hang_up()
        assert self._process.stdout is not None
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def _made_up_game(seat: int) -> tuple[list[Event], list[Event]]:
    """A game that nine terminals and honours abort at the first draw, as the dealer sees it, up to the draw and on."""
    hand = "1m 9m 1p 9p 1s 9s E S W N 4m 5p 6s".split()
    start = {"type": "start_kyoku", "bakaze": "E", "kyoku": seat + 1, "oya": seat, "honba": 0, "kyotaku": 0}
    hands = [hand if owner == seat else ["?"] * len(hand) for owner in range(len(_NAMES))]
    scores = [25_000] * len(_NAMES)
    before: list[Event] = [
        {"type": "start_game", "id": seat, "names": _NAMES},
        {**start, "scores": scores, "tehais": hands, "dora_marker": "P"},
        {"type": "tsumo", "actor": seat, "pai": "7m"},
    ]
    draw = {"type": "ryukyoku", "reason": "kyushu_kyuhai", "deltas": [0] * len(_NAMES)}
    return before, [draw, {"type": "end_kyoku"}, {"type": "end_game", "scores": scores}]


class _Seated:
    """A program in one game."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._num_rounds = self._num_in_round = 0
        """rounds that it knows of, and events of the log of the last of them"""
        self._ahead: Event | None = None
        """an event that it was told before the log has it"""

    def ask(self, request: ActRequest) -> None:
        events: list[Event] = [json.loads(text) for text in request.turn.observation.new_events()]
        lines = self._new(events)
        if request.unlogged is not None:
            lines.append(request.unlogged)
            self._ahead = request.unlogged
        self.program.ask(lines)

    def declare_riichi(self) -> None:
        # the engine tells the seat itself nothing of it
        self._num_in_round += 1
        self.program.ask([{"type": "reach", "actor": self.program.seat}])

    def end(self, log: Sequence[Event]) -> None:
        """Tells what has happened since it was asked last."""
        starts = [place for place, event in enumerate(log) if event["type"] == "start_kyoku"]
        rest = self._new(log[starts[self._num_rounds - 1] + self._num_in_round :])
        self.program.tell_end([self._hidden(event) for event in rest])

    def _new(self, events: Sequence[Event]) -> list[Event]:
        """Those of the log's next events that the program does not know."""
        lines: list[Event] = []
        for event in events:
            kind, (ahead, self._ahead) = event["type"], (self._ahead, None)
            is_known = ahead is not None and (kind, event.get("actor")) == (ahead["type"], ahead["actor"])
            # what was told ahead is in the log, but the engine may not say so once more
            self._num_in_round += 1 + (ahead is not None and not is_known)
            if is_known:
                continue
            if kind == "start_kyoku":
                self._num_rounds += 1
                self._num_in_round = 1
            if kind == "start_game":
                event = {"type": kind, "id": self.program.seat, "names": _NAMES}
            lines.append(event)
        return lines

    def _hidden(self, event: Event) -> Event:
        """An event of the log, in which all hands are open and walls are told, as the seat is told of it."""
        seat = self.program.seat
        if event["type"] == "start_kyoku":
            hands = [hand if owner == seat else ["?"] * len(hand) for owner, hand in enumerate(event["tehais"])]
            return {**{name: event[name] for name in event if name != "kanachan"}, "tehais": hands}
        is_unseen = event["type"] == "tsumo" and event["actor"] != seat
        return {**event, "pai": "?"} if is_unseen else event


class MjaiAgent:
    """Programs of one command, as many as there are games and seats at a time; they play game after game."""

    plays_forced = True

    def __init__(self, command: Sequence[str], vocabulary: Vocabulary) -> None:
        self._command = command
        self._vocabulary = vocabulary
        self._seated: dict[tuple[GameKey, int], _Seated] = {}
        self._idle: dict[int, list[Program]] = {}
        self._answers_all: bool | None = None
        """whether the command's programs answer every line; None: not known yet"""

    def group(self, request: ActRequest) -> BatchKey:
        return _THINKING_TOGETHER

    def act(self, requests: Sequence[ActRequest]) -> list[Action]:
        asked = [self._at(request) for request in requests]
        for seated, request in zip(asked, requests, strict=True):  # all think at the same time
            seated.ask(request)
        return [Action(self._answer(*pair)) for pair in zip(asked, requests, strict=True)]

    def _at(self, request: ActRequest) -> _Seated:
        key = request.game, request.turn.seat
        if key not in self._seated:
            self._seated[key] = _Seated(self._program(request.turn.seat))
        return self._seated[key]

    def _program(self, seat: int) -> Program:
        """One that is in no game."""
        idle = self._idle.setdefault(seat, [])
        if self._answers_all is None:
            idle.append(Program(self._command, seat))
            self._answers_all = idle[-1].try_out()
        return idle.pop() if idle else Program(self._command, seat, self._answers_all)

    def _answer(self, seated: _Seated, request: ActRequest) -> int:
        event = self._first_answer(seated)
        program = seated.program
        is_riichi = event["type"] == "reach"
        if is_riichi:
            if not _may_declare(request.turn, event, self._vocabulary):
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
        """What a program does. One that has ended with the game before is replaced: that it would was not to be seen
        as long as it was ending."""
        program = seated.program
        try:
            return program.answer()
        except ProgramEnded:
            if not program.has_rested:
                raise
        program.close()
        seated.program = Program(self._command, program.seat, self._answers_all)
        seated.program.ask(program.asked)
        return seated.program.answer()

    def end(self, game: GameKey, seat: int, events: Sequence[Event]) -> None:
        seated = self._seated.pop((game, seat), None)
        if seated is not None:
            self._idle.setdefault(seat, []).append(seated.program)
            seated.end(events)

    def close(self) -> None:
        idle = [program for programs in self._idle.values() for program in programs]
        programs = [*(seated.program for seated in self._seated.values()), *idle]
        for program in programs:
            program.hang_up()
        end = time.monotonic() + _END_SECONDS
        for program in programs:  # those that do not end are waited for together
            program.close(max(0.0, end - time.monotonic()))


def _may_declare(turn: Turn, reach: Event, vocabulary: Vocabulary) -> bool:
    is_own = reach.get("actor", turn.seat) == turn.seat
    return is_own and any(kind_of(token, vocabulary) == "riichi" for token in turn.options)
