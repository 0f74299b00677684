"""The Ray back end: one actor for each worker, on this machine or on a cluster.

Only Ray's core is used. An actor does whole units, seconds of work each, so that Ray's own work, a millisecond for each
call, does not count. An actor that is lost, alone or with its machine, is replaced by a new one, and its units go to
whichever actor is free first: nothing waits for a machine that does not come back.
"""

import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic

from annotate.runtime.signals import StopRequest
from kanachan.play.ray_cluster import RayCluster
from kanachan.play.units import (
    AHEAD,
    MOST_TRIES,
    Report,
    Result,
    Setup,
    Task,
    Unit,
    Waiting,
    Worker,
    lost_text,
    print_line,
)

_WAIT_SECONDS = 0.2  # between two checks for a stop


class _Actor:
    """A worker, as Ray runs it in a process of its own."""

    def __init__(self, setup: Setup) -> None:
        os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported; workers share the cores of a machine
        self._setup = setup

    def begin(self) -> None:
        self._do: Worker = Worker(self._setup)

    def do(self, unit: Any) -> Any:
        return self._do(unit)


@dataclass(eq=False)
class _Member(Generic[Unit]):
    """An actor, from the time at which it was requested of Ray."""

    actor: Any
    tasks: dict[Any, Task[Unit]] = field(default_factory=dict)
    """units that it has, by the references of their results, in the order in which it received them"""
    is_ready: bool = False


class RayBackend(Generic[Unit, Result]):
    """Workers that are actors of Ray.

    Args:
        workers: None: one for each core of the cluster.
        cluster: is closed with the back end.
    """

    def __init__(
        self, setup: Setup[Unit, Result], workers: int | None, cluster: RayCluster, report: Report = print_line
    ) -> None:
        self._setup = setup
        self._report = report
        self._cluster = cluster
        self._num = cluster.num_cores if workers is None else workers
        self._members: list[_Member[Unit]] = []
        self._awaited: dict[Any, _Member[Unit]] = {}
        self._failed_starts = 0

    def results(self, units: Iterable[Unit], stop: StopRequest | None = None) -> Generator[tuple[Unit, Result]]:
        """Yields units and results as they come, until all units are done or a stop is requested (`Backend`)."""
        ray, waiting = self._cluster.ray, Waiting(units)
        setup = ray.put(self._setup)
        try:
            for _ in range(self._num):
                self._start(setup)
            while self._assign(waiting) and (stop is None or stop.received is None):
                done, _ = ray.wait(list(self._awaited), timeout=_WAIT_SECONDS)
                for reference in done:
                    yield from self._received(reference, setup, waiting)
        finally:
            self._end(self._members)

    def _start(self, setup: Any) -> None:
        actor = self._cluster.ray.remote(num_cpus=1, max_restarts=0)(_Actor).remote(setup)
        member = _Member[Unit](actor)
        self._members.append(member)
        self._awaited[actor.begin.remote()] = member

    def _assign(self, waiting: Waiting[Unit]) -> bool:
        """Gives units to all actors that have few; returns whether any unit is not done yet."""
        ready = [member for member in self._members if member.is_ready]
        for length in range(AHEAD):
            for member in ready:
                if len(member.tasks) == length and (task := waiting.take()) is not None:
                    reference = member.actor.do.remote(task.unit)
                    member.tasks[reference] = task
                    self._awaited[reference] = member
        return any(member.tasks for member in self._members) or not waiting.is_empty

    def _received(self, reference: Any, setup: Any, waiting: Waiting[Unit]) -> Iterator[tuple[Unit, Result]]:
        """Handles what an actor has returned, and yields it if it is a result."""
        ray = self._cluster.ray
        member = self._awaited.pop(reference, None)
        if member is None:  # of an actor that was lost meanwhile
            return
        try:
            result = ray.get(reference)
        except ray.exceptions.RayTaskError as error:
            raise _cause(error) from None
        except (ray.exceptions.RayActorError, ray.exceptions.ObjectLostError) as error:
            self._replace(member, error, setup, waiting)
            return
        if member.is_ready:
            yield member.tasks.pop(reference).unit, result
        else:
            member.is_ready, self._failed_starts = True, 0

    def _replace(self, member: _Member[Unit], error: Exception, setup: Any, waiting: Waiting[Unit]) -> None:
        tasks = list(member.tasks.values())
        self._end([member])
        if not member.is_ready:
            self._failed_starts += 1
            if self._failed_starts == MOST_TRIES:
                raise OSError(f"Ray cannot start a worker: {_last_line(error)}")
        elif tasks:
            self._report(lost_text([task.unit for task in tasks], "its process was killed, or its machine failed"))
        waiting.put_back(tasks)
        self._start(setup)

    def _end(self, members: list[_Member[Unit]]) -> None:
        """Ends actors at once, whatever they are doing."""
        for member in list(members):
            with suppress(Exception):  # it is lost already, or the whole cluster is
                self._cluster.ray.kill(member.actor)
            self._members.remove(member)
            self._awaited = {reference: other for reference, other in self._awaited.items() if other is not member}

    def close(self) -> None:
        """Ends all actors, and Ray if it was started here."""
        self._end(self._members)
        self._cluster.close()


def _cause(error: Any) -> Exception:
    """Returns the exception of the actor: itself if it is a user's error, else a RuntimeError with the traceback."""
    if isinstance(error.cause, ValueError | OSError):
        return error.cause
    return RuntimeError(str(error))


def _last_line(error: Exception) -> str:
    return [line.strip() for line in str(error).splitlines() if line.strip()][-1]
