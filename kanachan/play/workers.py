"""Plays the games of a match: in this process, or in several, each with its own engines and its own copies of the
networks; for each GPU, one more process computes the networks for all. Games do not depend on each other, nor on how
many advance together, nor on the number of processes.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from annotate.runtime.signals import StopRequest
from kanachan.play.agent import GameKey
from kanachan.play.agent_factory import agents_of
from kanachan.play.backends import Backend, make_backend
from kanachan.play.match import PLAYERS, GameResult, Match
from kanachan.play.match_games import match_games
from kanachan.play.together import room_for_caches, usual_together

if TYPE_CHECKING:
    from kanachan.play.remote_network import ServerAddress


@dataclass(frozen=True, kw_only=True)
class ExecutionConfig:
    """Settings of the execution, which do not change the results."""

    processes: int = 1
    together: int | None = None
    """games that advance together in a process; None: `kanachan.play.together.usual_together`"""
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
        IllegalAction, ValueError: a player has chosen an action that is not possible, or cannot be created; or
            processes were killed again and again that played the same game.
        OSError: a process cannot be started, or has ended that others need.
    """
    is_alone = execution.processes == 1 or len(games) <= 1
    servers: Sequence[ServerAddress] = ()
    with ExitStack() as held:
        if match.device != "cpu" and not is_alone:
            # torch, which only networks need
            from kanachan.play.inference_server import devices_of_servers, inference_servers

            devices = devices_of_servers(execution.device, execution.processes)
            servers = held.enter_context(inference_servers(devices))
        num_processes = 1 if is_alone else execution.processes
        room = room_for_caches(match.device, execution.device, servers, num_processes)
        together = execution.together or usual_together(
            match.players, match.vocabulary, use_bf16=match.precision == "bf16", room=room
        )
        stream = MatchStream(match, execution, together)
        streams = [replace(stream, server=each) for each in servers] or [stream]
        backend: Backend[GameKey, GameResult] = make_backend(
            "inline" if is_alone else "processes", streams, execution.processes, ahead=together
        )
        held.enter_context(closing(backend))
        for _, result in held.enter_context(closing(backend.results(games, stop))):
            on_result(result)


@dataclass(frozen=True)
class MatchStream:
    """Plays games of a match in one process, many together; a stream of units (`kanachan.play.units.Serve`).

    Args:
        together: games that advance together.
        server: a process that computes the networks; None: this one does.
    """

    match: Match
    execution: ExecutionConfig
    together: int
    server: "ServerAddress | None" = None

    def __call__(self, games: Iterator[GameKey], stop: StopRequest) -> Generator[tuple[GameKey, GameResult]]:
        """Yields the key and the result of each game as they end, until a stop is requested."""
        ended: list[GameResult] = []
        match = self.match
        made = agents_of(
            dict(zip(PLAYERS, match.players, strict=True)),
            match.seed,
            match.vocabulary,
            self.execution.device,
            use_bf16=match.precision == "bf16",
            server=self.server,
        )
        with made as agents:
            running = match_games(match, agents, self.execution.records, on_result=ended.append)
            has_more = True
            while stop.received is None:
                has_more = has_more and running.fill(games, self.together)
                if not len(running):
                    return
                try:
                    running.advance()
                except (ValueError, OSError):  # of a player; games may have ended before
                    yield from ((result.game, result) for result in ended)
                    raise
                yield from ((result.game, result) for result in ended)
                ended.clear()
