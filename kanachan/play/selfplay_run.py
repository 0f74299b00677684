"""Runs self-play: plays the games that a folder lacks, by a back end, and adds them to the folder."""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from annotate.runtime.signals import StopRequest
from annotate.runtime.workers import num_cores
from kanachan.data.played_games import PlayedGame, PlayedGames
from kanachan.play.backends import Backend, BackendName, make_backend
from kanachan.play.roller import Roller
from kanachan.play.together import room_for_caches, usual_together

if TYPE_CHECKING:
    from kanachan.play.remote_network import ServerAddress


class SelfPlayRun(NamedTuple):
    """The outcome of a run."""

    num_played: int
    """games that ended in this run"""
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Execution:
    """Where the games are played, which does not change them."""

    backend: BackendName = "inline"
    workers: int | None = None
    """None: one for each core"""
    address: str | None = None
    """of a Ray cluster"""

    def shares_networks(self, device: str) -> bool:
        """Returns whether servers compute the networks for all workers: those that share the GPUs of this machine.

        Args:
            device: the kind of device that networks are on.
        """
        return device != "cpu" and self.backend != "inline" and self.workers != 1 and self.address is None


def run_selfplay(
    roller: Roller, games: PlayedGames, execution: Execution, on_game: Callable[[PlayedGame], object], stop: StopRequest
) -> SelfPlayRun:
    """Plays the games that the folder lacks, until all are there or a stop is requested.

    Args:
        games: an opened folder.
        on_game: is called with each game.

    Raises:
        ValueError: a player cannot be created, or has chosen an action that is not possible.
        OSError: a worker cannot be started, or the disk is full.
    """
    start, num_played = time.monotonic(), 0
    with closing(_played(roller, games.missing, execution, stop)) as played:
        for number, game in played:
            games.add(number, game)
            num_played += 1
            on_game(game)
            if stop.received is not None:
                break
    games.write()
    return SelfPlayRun(num_played, time.monotonic() - start)


def _played(
    roller: Roller, numbers: Sequence[int], execution: Execution, stop: StopRequest
) -> Generator[tuple[int, PlayedGame]]:
    if not numbers:
        return
    with ExitStack() as held:
        servers: Sequence[ServerAddress] = ()
        num_workers = 1 if execution.backend == "inline" else execution.workers or num_cores()
        if execution.shares_networks(roller.selfplay.device):
            # torch, which only networks need
            from kanachan.play.inference_server import devices_of_servers, inference_servers

            devices = devices_of_servers(roller.device, num_workers)
            servers = held.enter_context(inference_servers(devices))
        games = roller.selfplay
        if roller.together is None and execution.address is None:  # otherwise the memory is of other machines
            room = room_for_caches(games.device, roller.device, servers, num_workers)
            use_bf16 = games.precision == "bf16"
            together = usual_together(games.players, games.vocabulary, use_bf16=use_bf16, room=room)
            roller = replace(roller, together=together)
        rollers = [replace(roller, server=each) for each in servers] or [roller]
        backend: Backend[int, PlayedGame] = make_backend(
            execution.backend, rollers, execution.workers, execution.address, ahead=roller.num_together
        )
        held.enter_context(closing(backend))
        yield from held.enter_context(closing(backend.results(numbers, stop)))
