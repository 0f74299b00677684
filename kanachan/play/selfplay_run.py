"""Runs self-play: plays the games that a folder lacks, by a back end, and adds them to the folder."""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from annotate.runtime.signals import StopRequest
from annotate.runtime.workers import num_cores
from kanachan.data.played_games import PlayedGame, PlayedGames
from kanachan.play.backends import BackendName, make_backend
from kanachan.play.process_pool import ProcessPool
from kanachan.play.roller import Roller

_MOST_OF_A_BLOCK = 128
_BLOCKS_PER_WORKER = 4


@dataclass(frozen=True)
class Block:
    """Games that a worker of a cluster plays together; their results are sent at once."""

    numbers: tuple[int, ...]

    def __str__(self) -> str:
        return f"games {self.numbers[0]} ... {self.numbers[-1]}"


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
    if execution.backend == "inline":
        with roller.agents() as agents:
            yield from roller.play(iter(numbers), agents, stop)
    elif execution.backend == "processes":
        # a process refills the places of games that have ended, so that its batches stay full
        num = min(num_cores() if execution.workers is None else execution.workers, len(numbers))
        yield from ProcessPool(roller, num, ahead=roller.num_together).results(numbers, stop)
    else:
        with closing(make_backend("ray", partial(_blocks, roller), execution.workers, execution.address)) as ray:
            for _, block in ray.results(_divided(numbers, execution.workers), stop):
                yield from block


def _divided(numbers: Sequence[int], workers: int | None) -> Iterator[Block]:
    """Divides games into blocks, a few for each worker."""
    size = _MOST_OF_A_BLOCK
    if workers is not None:
        size = max(1, min(size, len(numbers) // (workers * _BLOCKS_PER_WORKER)))
    return (Block(tuple(numbers[first : first + size])) for first in range(0, len(numbers), size))


def _blocks(roller: Roller) -> Callable[[Block], list[tuple[int, PlayedGame]]]:
    """Returns a function that plays a block of games, in a worker of its own."""
    agents = roller.agents().__enter__()
    return lambda block: list(roller.play(iter(block.numbers), agents))
