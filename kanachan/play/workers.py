"""Plays the games of a match: in this process, or in several, each with its own engines and its own copies of the
networks. Games do not depend on each other, nor on how many advance together, nor on the number of processes.

A process is sent the keys of games through a pipe, a new one for each result that it sends back. What has ended is in
the journal before it counts.
"""

import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context
from pathlib import Path
from types import FrameType
from typing import Any

from annotate.runtime.signals import StopRequest
from kanachan.play.agent import Agent, GameKey, IllegalAction, SeededSampler
from kanachan.play.agent_factory import make_agent
from kanachan.play.agent_spec import parse_agent
from kanachan.play.match import PLAYERS, GameResult, Match
from kanachan.play.rollout import BatchedGames

TOGETHER = 128
TOGETHER_WITH_PROGRAMS = 2
_WAIT_SECONDS = 0.2  # between two looks at whether Ctrl-C was pressed


@dataclass(frozen=True, kw_only=True)
class ExecutionConfig:
    """How games are played, which changes nothing of what comes of them."""

    processes: int = 1
    together: int | None = None
    """games that advance together in a process; None: as many as is good"""
    device: str = "cpu"
    records: Path | None = None
    """folder for the games' records"""


def play_match(
    match: Match,
    games: Sequence[GameKey],
    means: ExecutionConfig,
    on_result: Callable[[GameResult], object],
    stop: StopRequest,
) -> None:
    """Plays games until all have ended or a stop is asked for.

    Raises:
        IllegalAction, ValueError: a player wants what is impossible, or cannot be made.
        OSError: a process was killed.
    """
    if means.processes == 1 or len(games) <= 1:
        _play_here(match, games, means, on_result, stop)
        return
    waiting = iter(games)
    with _workers(match, means, min(means.processes, len(games))) as pipes:
        open_pipes = list(pipes)
        for _ in range(_num_together(match, means)):
            for pipe in pipes:
                pipe.send(next(waiting, None))
        while open_pipes and stop.received is None:
            ready = connection.wait(open_pipes, _WAIT_SECONDS)
            for pipe in [pipe for pipe in open_pipes if pipe in ready]:
                said = received(pipe)
                if said is None:
                    open_pipes.remove(pipe)
                elif isinstance(said, Exception):
                    raise said
                else:
                    on_result(said)
                    with suppress(BrokenPipeError):  # it had been told before that there are no more
                        pipe.send(next(waiting, None))


def received(pipe: connection.Connection) -> Any:
    """What a process sends.

    Raises:
        OSError: it was killed.
    """
    try:
        return pipe.recv()
    except (EOFError, ConnectionResetError):  # the latter if it had not read all that it was sent
        raise OSError("a process of the arena was killed (out of memory?): try fewer --processes") from None


def _num_together(match: Match, means: ExecutionConfig) -> int:
    if means.together is not None:
        return means.together
    has_programs = any(parse_agent(player).kind == "mjai" for player in match.players)
    return TOGETHER_WITH_PROGRAMS if has_programs else TOGETHER


@contextmanager
def _players(match: Match, means: ExecutionConfig) -> Iterator[Mapping[str, Agent]]:
    """By letter; closed in the end."""
    made: dict[str, Agent] = {}
    try:
        for letter, text in zip(PLAYERS, match.players, strict=True):
            lots, use_bf16 = SeededSampler(match.seed, letter), match.precision == "bf16"
            made[letter] = make_agent(parse_agent(text), lots, match.vocabulary, means.device, use_bf16=use_bf16)
        yield made
    finally:
        for player in made.values():
            player.close()


def _play_here(
    match: Match,
    games: Sequence[GameKey],
    means: ExecutionConfig,
    on_result: Callable[[GameResult], object],
    stop: StopRequest,
) -> None:
    waiting, together = list(reversed(games)), _num_together(match, means)
    with _players(match, means) as players:
        hall = BatchedGames(match, players, means.records, on_result=on_result)
        while (waiting or len(hall)) and stop.received is None:
            while waiting and len(hall) < together:
                hall.begin(waiting.pop())
            hall.advance()


@contextmanager
def _workers(match: Match, means: ExecutionConfig, num: int) -> Iterator[list[connection.Connection]]:
    """Processes at work, by their pipes; ended in the end, whatever they are at."""
    context = get_context("spawn")  # neither threads nor the pipes of others are inherited
    pipes: list[connection.Connection] = []
    processes = []
    try:
        for _ in range(num):
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(theirs, match, means), daemon=True)
            process.start()
            theirs.close()
            pipes.append(ours)
            processes.append(process)
        yield pipes
    finally:
        for pipe in pipes:
            pipe.close()
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _leave(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)  # in order: programs are closed, which could go on without us


def _work(pipe: Any, match: Match, means: ExecutionConfig) -> None:
    """A process: plays the games that it is told to until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    signal.signal(signal.SIGTERM, _leave)
    try:
        with _players(match, means) as players:
            hall = BatchedGames(match, players, means.records, on_result=pipe.send)
            has_more = True
            while has_more or len(hall):
                while has_more and (not len(hall) or pipe.poll()):
                    key = pipe.recv()
                    has_more = key is not None
                    if key is not None:
                        hall.begin(key)
                hall.advance()
        pipe.send(None)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the parent has ended
    except (ValueError, OSError) as error:
        is_ours = type(error) in (ValueError, OSError, IllegalAction)
        pipe.send(error if is_ours else OSError(str(error)))
    except Exception as error:  # the parent tells what was played until then, and then this
        pipe.send(RuntimeError("".join(traceback.format_exception(error))))
