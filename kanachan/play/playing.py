"""Plays many games in this process, in several processes, or on a cluster. Each process has its own engines and its own
copies of the networks; with GPUs, one additional process per GPU computes the networks for all workers. A game depends
neither on other games, nor on how many games advance together, nor on the workers.
"""

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Generic

from annotate.game.record import Event
from annotate.runtime.process_pool import ProcessPool
from annotate.runtime.resources import num_cores
from annotate.runtime.signals import StopRequest
from annotate.runtime.units import Result
from kanachan.play.agent import GameKey
from kanachan.play.agent_factory import agents_of
from kanachan.play.game import Game
from kanachan.play.match import Match
from kanachan.play.rollout import BatchedGames
from kanachan.play.selfplay import SelfPlay
from kanachan.play.together import room_for_caches, usual_together
from kanachan.policy_config import BackendName

if TYPE_CHECKING:
    from kanachan.play.remote_network import ServerAddress


@dataclass(frozen=True, kw_only=True)
class Execution:
    """Where and how games are played; these settings do not change the games."""

    backend: BackendName = "inline"
    workers: int | None = None
    """number of workers; None: one per core"""
    address: str | None = None
    """address of a Ray cluster"""
    together: int | None = None
    """number of games that advance together in a worker; None: `kanachan.play.together.usual_together`"""
    device: str = "cpu"
    """device of the networks, as given to the option `--device`"""
    records: Path | None = None
    """folder for the games' records"""

    def shares_networks(self, device: str) -> bool:
        """Returns whether servers compute the networks for all workers: if several workers share local GPUs."""
        return device != "cpu" and self.backend != "inline" and self.workers != 1 and self.address is None


@dataclass(frozen=True, kw_only=True)
class GameStream(Generic[Result]):
    """Plays games in one process, many together; a stream of units (`annotate.runtime.units.Serve`).

    Args:
        finish: returns the result of a finished game, given the events of its record.
        fail: see `on_failure` of `BatchedGames`.
        server: process that computes the networks; None: this process.
    """

    series: Match | SelfPlay
    finish: Callable[[Game, list[Event]], Result]
    fail: Callable[[GameKey, BaseException], Result] | None = None
    execution: Execution = Execution()
    server: "ServerAddress | None" = None

    def __call__(self, keys: Iterator[GameKey], stop: StopRequest) -> Generator[tuple[GameKey, Result]]:
        """Yields the key and the result of each game as it ends, until a stop is requested. Raises the errors of
        `agents_of` and `BatchedGames` (IllegalAction, ValueError)."""
        with agents_of(self.series, self.execution.device, self.server) as agents:
            games = BatchedGames(self.series.begin, agents, self._finished, self.fail)
            yield from games.play(keys, self.together(), stop)

    def together(self, room: float = math.inf) -> int:
        """Returns how many games advance together if their caches may take `room` bytes."""
        series, use_bf16 = self.series, self.series.precision == "bf16"
        found = self.execution.together
        return found or usual_together(series.letters.values(), series.vocabulary, use_bf16=use_bf16, room=room)

    def _finished(self, game: Game, events: list[Event]) -> Result:
        if self.execution.records is not None:
            game.write_record(self.execution.records, events)
        return self.finish(game, events)


def play_games(
    stream: GameStream[Result], keys: Sequence[GameKey], stop: StopRequest
) -> Generator[tuple[GameKey, Result]]:
    """Plays games and yields each result as it comes, until all games have ended or a stop is requested. Raises the
    errors of the stream (IllegalAction, ValueError), and OSError if a worker cannot be started, if a process that
    others need has ended, or if workers with the same game were lost repeatedly."""
    if not keys:
        return
    series, execution = stream.series, stream.execution
    if execution.backend == "processes" and len(keys) == 1:
        execution = replace(execution, backend="inline")
    num_workers = 1 if execution.backend == "inline" else execution.workers or num_cores()
    servers: Sequence[ServerAddress] = ()
    with ExitStack() as held:
        if execution.shares_networks(series.device):
            # imports torch, which only networks need
            from kanachan.play.inference_server import devices_of_servers, inference_servers

            servers = held.enter_context(inference_servers(devices_of_servers(execution.device, num_workers)))
        room = math.inf  # with an address, other machines provide the memory
        if execution.address is None:
            room = room_for_caches(series.device, execution.device, servers, num_workers)
        together = stream.together(room)
        stream = replace(stream, execution=replace(execution, together=together))
        streams = [replace(stream, server=each) for each in servers] or [stream]
        if execution.backend == "inline":
            results = stream(iter(keys), stop)
        elif execution.backend == "processes":
            results = ProcessPool(streams, num_workers, together).results(keys, stop)
        else:
            from kanachan.play.ray_backend import RayBackend
            from kanachan.play.ray_cluster import ray_cluster

            ray = held.enter_context(ray_cluster(execution.workers, execution.address))
            results = RayBackend(streams, ray, execution.workers, together).results(keys, stop)
        yield from held.enter_context(closing(results))
