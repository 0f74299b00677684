"""The Ray back end: one actor per worker, on this machine or on a cluster.

Only Ray's core is used. An actor returns its finished results as the answer to a call, and each call brings it as many
new units: Ray's overhead, a millisecond per call, is small compared with seconds of work. An actor lost alone or with
its machine is replaced. Only actors that have started receive units. Therefore nothing waits for a machine that does
not come back: its replacements start where other actors have ended.
"""

import os
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle
from queue import SimpleQueue
from threading import Thread
from typing import Any, Generic

from annotate.runtime.signals import StopRequest
from annotate.runtime.units import AHEAD, Result, Serve, Task, Unit, Waiting, done, print_lost

_WAIT_SECONDS = 0.2  # between two checks for a stop
_START_SECONDS = 30.0  # longest wait of the first units for all actors to start, so that each gets its share
_MOST_FAILED_STARTS = 3


class _Actor:
    """A worker, which Ray runs in its own process; a thread computes the units."""

    def __init__(self) -> None:
        os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported; workers share the cores of a machine
        self._units: SimpleQueue[Any] = SimpleQueue()
        self._results: SimpleQueue[Any] = SimpleQueue()

    def begin(self, serve: Serve, folder: str) -> None:
        """Starts the thread, in the working folder of the driver, to which paths are relative."""
        os.chdir(folder)
        Thread(target=self._run, args=(serve,), daemon=True).start()

    def exchange(self, units: list[Any]) -> list[Any]:
        """Receives units, with None as their end, and returns the available results, at least one, with None as their
        end. Raises the exception of the stream, after all results before it."""
        for unit in units:
            self._units.put(unit)
        results = [self._results.get()]
        while not self._results.empty():
            results.append(self._results.get())
        if isinstance(results[-1], BaseException):
            if len(results) == 1:
                raise results[-1]
            self._results.put(results.pop())  # the thread adds no more results
        return results

    def _run(self, serve: Serve) -> None:
        try:
            for unit_and_result in serve(iter(self._units.get, None), StopRequest()):
                self._results.put(unit_and_result)
            self._results.put(None)
        except BaseException as error:  # panics of the rules engine are not subclasses of Exception
            is_plain = isinstance(error, Exception)
            self._results.put(error if is_plain else RuntimeError(f"{type(error).__name__}: {error}"))


@dataclass(eq=False)
class _Member(Generic[Unit]):
    """An actor, from the time when it was requested from Ray."""

    actor: Any
    has_started: bool = False
    is_serving: bool = False
    """whether it has received units and its stream has not ended"""
    is_complete: bool = False
    """whether it was told that there are no more units; it can then take none from a lost actor"""
    tasks: list[Task[Unit]] = field(default_factory=list)
    """its unfinished units, in the order in which it received them"""


class RayBackend(Generic[Unit, Result]):
    """Workers that are Ray actors; `workers` None: one per core of the cluster. `serves` are assigned to the actors in
    turn; `ray`: the module from `ray_cluster`."""

    def __init__(
        self,
        serves: Sequence[Serve[Unit, Result]],
        ray: Any,
        workers: int | None = None,
        ahead: int = AHEAD,
    ) -> None:
        self._ray = ray
        self._num = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._ahead = ahead
        self._serves = cycle([self._ray.put(serve) for serve in serves])  # stored once for all actors
        self._members: list[_Member[Unit]] = []
        self._awaited: dict[Any, _Member[Unit]] = {}
        """actors by the reference of the call whose answer is awaited"""
        self._failed_starts = 0

    def results(self, units: Iterable[Unit], stop: StopRequest) -> Generator[tuple[Unit, Result]]:
        """Yields units and results as they come, like `ProcessPool.results`."""
        waiting = Waiting(units)
        try:
            for _ in range(self._num):
                self._start()
            end_of_start = time.monotonic() + _START_SECONDS
            while stop.received is None:
                if time.monotonic() > end_of_start or all(member.has_started for member in self._members):
                    end_of_start = 0.0
                    self._give(waiting)
                if waiting.is_empty and not any(member.is_serving for member in self._members):
                    break
                answered, _ = self._ray.wait(list(self._awaited), timeout=_WAIT_SECONDS)
                for reference in answered:
                    yield from self._received(reference, waiting)
        finally:
            self._end(self._members)

    def _start(self) -> None:
        actor = self._ray.remote(num_cpus=1, max_restarts=0)(_Actor).remote()
        member = _Member[Unit](actor)
        self._members.append(member)
        self._awaited[actor.begin.remote(next(self._serves), os.getcwd())] = member

    def _give(self, waiting: Waiting[Unit]) -> None:
        """Gives the first units, in equal numbers, to all actors that have started and have no units."""
        idle = [member for member in self._members if member.has_started and not member.is_serving]
        for _ in range(self._ahead):
            for member in idle:
                if (task := waiting.take()) is not None:
                    member.tasks.append(task)
        for member in idle:
            if member.tasks:
                member.is_serving = True
                units: list[Unit | None] = [task.unit for task in member.tasks]
                self._exchange(member, units + [None] * (len(units) < self._ahead))

    def _exchange(self, member: _Member[Unit], units: list[Unit | None]) -> None:
        member.is_complete = None in units
        self._awaited[member.actor.exchange.remote(units)] = member

    def _received(self, reference: Any, waiting: Waiting[Unit]) -> Iterator[tuple[Unit, Result]]:
        """Handles the answer of an actor, and yields its results."""
        member = self._awaited.pop(reference)
        try:
            answer = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise _cause(error) from None
        except (self._ray.exceptions.RayActorError, self._ray.exceptions.ObjectLostError) as error:
            self._replace(member, error, waiting)
            return
        if answer is None:
            member.has_started, self._failed_starts = True, 0
            return
        results = [each for each in answer if each is not None]
        done_units = [done(member.tasks, unit) for unit, _ in results]
        if answer[-1] is None:
            self._end([member])  # its core becomes free for the replacement of a lost actor
        else:
            tasks = [None if member.is_complete else waiting.take() for _ in results]
            member.tasks += [task for task in tasks if task is not None]
            self._exchange(member, [None if task is None else task.unit for task in tasks])
        yield from zip(done_units, (result for _, result in results), strict=True)

    def _replace(self, member: _Member[Unit], error: Exception, waiting: Waiting[Unit]) -> None:
        self._end([member])
        if not member.has_started:
            self._failed_starts += 1
            if self._failed_starts == _MOST_FAILED_STARTS:
                raise OSError(f"Ray cannot start a worker: {_last_line(error)}")
        elif member.tasks:
            print_lost(member.tasks, "its process was killed, or its machine failed")
            waiting.put_back(member.tasks)
        else:  # it had finished, and only its end was not received
            return
        self._start()

    def _end(self, members: list[_Member[Unit]]) -> None:
        """Ends actors immediately, even while they are working."""
        for member in list(members):
            with suppress(Exception):  # the actor or the whole cluster is lost already
                self._ray.kill(member.actor)
            self._members.remove(member)
        self._awaited = {reference: member for reference, member in self._awaited.items() if member in self._members}


def _cause(error: Any) -> Exception:
    """Returns the actor's exception itself if it is a user error, else a RuntimeError with the traceback."""
    return error.cause if isinstance(error.cause, ValueError | OSError) else RuntimeError(str(error))


def _last_line(error: Exception) -> str:
    return [line.strip() for line in str(error).splitlines() if line.strip()][-1]
