"""Plays the games of a match: in this process, or in several, each with its own engines and its own copies of the
networks. Games do not depend on each other, nor on how many advance together, nor on the number of processes.

A process receives the keys of games through a pipe, a new one for each result that it sends back.
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
from kanachan.play.match_games import match_games

TOGETHER = 128
TOGETHER_WITH_PROGRAMS = 2
_WAIT_SECONDS = 0.2  # between two checks for Ctrl-C


@dataclass(frozen=True, kw_only=True)
class ExecutionConfig:
    """Settings of the execution, which do not change the results."""

    processes: int = 1
    together: int | None = None
    """games that advance together in a process; None: `TOGETHER` or `TOGETHER_WITH_PROGRAMS`"""
    device: str = "cpu"
    records: Path | None = None
    """folder for the games' records"""


def play_match(
    match: Match,
    games: Sequence[GameKey],
    execution: ExecutionConfig,
    on_result: Callable[[GameResult], object],
    stop: StopRequest,
) -> None:
    """Plays games until all have ended or a stop is requested.

    Raises:
        IllegalAction, ValueError: a player has chosen an action that is not possible, or cannot be created.
        OSError: a process was killed.
    """
    if execution.processes == 1 or len(games) <= 1:
        _play_here(match, games, execution, on_result, stop)
        return
    waiting = iter(games)
    with _workers(match, execution, min(execution.processes, len(games))) as pipes:
        open_pipes = list(pipes)
        for _ in range(_num_together(match, execution)):
            for pipe in pipes:
                pipe.send(next(waiting, None))
        while open_pipes and stop.received is None:
            ready = connection.wait(open_pipes, _WAIT_SECONDS)
            for pipe in [pipe for pipe in open_pipes if pipe in ready]:
                message = received(pipe)
                if message is None:
                    open_pipes.remove(pipe)
                elif isinstance(message, Exception):
                    raise message
                else:
                    on_result(message)
                    with suppress(BrokenPipeError):  # the process has received None already, and has exited
                        pipe.send(next(waiting, None))


def received(pipe: connection.Connection) -> Any:
    """Receives a message of a process.

    Raises:
        OSError: the process was killed.
    """
    try:
        return pipe.recv()
    except (EOFError, ConnectionResetError):  # the latter if it had not read all messages
        raise OSError("a process of the arena was killed (out of memory?): try fewer --processes") from None


def _num_together(match: Match, execution: ExecutionConfig) -> int:
    if execution.together is not None:
        return execution.together
    has_programs = any(parse_agent(player).kind == "mjai" for player in match.players)
    return TOGETHER_WITH_PROGRAMS if has_programs else TOGETHER


@contextmanager
def _agents(match: Match, execution: ExecutionConfig) -> Iterator[Mapping[str, Agent]]:
    """Yields the agents by letter, and closes them in the end."""
    agents: dict[str, Agent] = {}
    try:
        for letter, text in zip(PLAYERS, match.players, strict=True):
            sampler, use_bf16 = SeededSampler(match.seed, letter), match.precision == "bf16"
            agents[letter] = make_agent(
                parse_agent(text), sampler, match.vocabulary, execution.device, use_bf16=use_bf16
            )
        yield agents
    finally:
        for agent in agents.values():
            agent.close()


def _play_here(
    match: Match,
    games: Sequence[GameKey],
    execution: ExecutionConfig,
    on_result: Callable[[GameResult], object],
    stop: StopRequest,
) -> None:
    waiting, together = list(reversed(games)), _num_together(match, execution)
    with _agents(match, execution) as agents:
        running = match_games(match, agents, execution.records, on_result=on_result)
        while (waiting or len(running)) and stop.received is None:
            while waiting and len(running) < together:
                running.begin(waiting.pop())
            running.advance()


@contextmanager
def _workers(match: Match, execution: ExecutionConfig, num: int) -> Iterator[list[connection.Connection]]:
    """Starts processes and yields their pipes; terminates the processes in the end."""
    context = get_context("spawn")  # inherits neither threads nor the pipes of other processes
    pipes: list[connection.Connection] = []
    processes = []
    try:
        for _ in range(num):
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(theirs, match, execution), daemon=True)
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
    sys.exit(128 + number)  # an exception, so that programs are closed, which would run on otherwise


def _work(pipe: Any, match: Match, execution: ExecutionConfig) -> None:
    """Plays, in a process, the games whose keys it receives, until it receives None."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    signal.signal(signal.SIGTERM, _leave)
    try:
        with _agents(match, execution) as agents:
            running = match_games(match, agents, execution.records, on_result=pipe.send)
            has_more = True
            while has_more or len(running):
                while has_more and (not len(running) or pipe.poll()):
                    key = pipe.recv()
                    has_more = key is not None
                    if key is not None:
                        running.begin(key)
                running.advance()
        pipe.send(None)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the parent has ended
    except (ValueError, OSError) as error:
        is_ours = type(error) in (ValueError, OSError, IllegalAction)
        pipe.send(error if is_ours else OSError(str(error)))
    except Exception as error:  # the parent reports the results until then, and then this
        pipe.send(RuntimeError("".join(traceback.format_exception(error))))
