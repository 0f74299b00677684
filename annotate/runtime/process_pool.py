"""A pool of processes that share units of work. A process that is killed is replaced, and its units are done again.

A process receives units through a pipe: a few at first, then one for each result that it sends back, and None if no
unit is left for it.
"""

import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import cycle
from multiprocessing import Pipe, connection, forkserver, get_context, parent_process, resource_tracker
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from types import FrameType
from typing import Any, Generic

from annotate.runtime.signals import StopRequest
from annotate.runtime.units import AHEAD, Result, Serve, Task, Unit, Waiting, done, print_lost

_WAIT_SECONDS = 0.2  # between two checks for a stop
_MOST_STARTS = 5  # attempts to start a process while its fork server ends
_STOPS = {signal.SIGINT, signal.SIGTERM}
_END_SECONDS = 10.0  # time for a process to close its resources


@dataclass
class _Member(Generic[Unit]):
    pipe: connection.Connection
    process: BaseProcess
    serve: Serve[Unit, Any]
    tasks: list[Task[Unit]] = field(default_factory=list)

    is_complete: bool = False
    """whether it has been told that no unit is left for it"""

    def give(self, task: Task[Unit] | None) -> None:
        if task is None:
            self.is_complete = True
        else:
            self.tasks.append(task)
        with suppress(BrokenPipeError, ConnectionResetError):  # it has ended or is lost, as the next `recv` will show
            self.pipe.send(None if task is None else task.unit)


class ProcessPool(Generic[Unit, Result]):
    """Processes that run functions, each on its own stream of units. `serves`: the functions, assigned in turn.
    `ahead`: number of units that a process has at a time."""

    def __init__(self, serves: Sequence[Serve[Unit, Result]], num_processes: int, ahead: int = AHEAD) -> None:
        self._serves = serves
        self._num = num_processes
        self._ahead = ahead
        self._members: list[_Member[Unit]] = []

    def results(self, units: Iterable[Unit | None], stop: StopRequest) -> Generator[tuple[Unit, Result]]:
        """Yields units and results as they come, until all units are done or a stop is requested. Close the generator
        if it is not read to its end. `units`: a None stands for a unit that is not ready before the next result has
        been taken.

        Raises:
            UnitError: several processes were lost while they had the same unit.
            ValueError, OSError: raised by a function; RuntimeError: a function raised any other exception.
        """
        waiting = Waiting(units)
        try:
            first = [task for _ in range(self._num) if (task := waiting.take()) is not None]
            for task, serve in zip(first, cycle(self._serves), strict=False):
                self._start(serve).give(task)
            while self._members and stop.received is None:
                self._give(waiting)
                ready = connection.wait([member.pipe for member in self._members], _WAIT_SECONDS)
                for member in [member for member in self._members if member.pipe in ready]:
                    yield from self._received(member, waiting)
        finally:
            self._end(list(self._members))

    def _give(self, waiting: Waiting[Unit]) -> None:
        """Gives units to the processes that have fewer than `ahead`."""
        while lacking := [each for each in self._members if len(each.tasks) < self._ahead and not each.is_complete]:
            task = waiting.take()
            if task is None and not waiting.is_empty:
                return
            min(lacking, key=lambda member: len(member.tasks)).give(task)

    def _received(self, member: _Member[Unit], waiting: Waiting[Unit]) -> Iterator[tuple[Unit, Result]]:
        """Handles a message of a process, and yields it if it is a result."""
        try:
            message = member.pipe.recv()
        except (EOFError, OSError):  # OSError: it was killed within a message, or before it had read all messages
            self._replace(member, waiting)
            return
        if message is None and member.tasks:  # it could not read all of its units
            self._replace(member, waiting)
        elif message is None:
            self._end([member])
        elif isinstance(message, Exception):
            raise message
        else:
            yield done(member.tasks, message[0]), message[1]

    def _replace(self, member: _Member[Unit], waiting: Waiting[Unit]) -> None:
        self._end([member])
        if member.is_complete and not member.tasks:  # it has done all units; only its last message was lost
            return
        code = member.process.exitcode
        reason = f"killed by {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit status {code}"
        print_lost(member.tasks, reason)
        waiting.put_back(member.tasks)
        self._start(member.serve)

    def _start(self, serve: Serve[Unit, Result]) -> _Member[Unit]:
        ours, theirs = Pipe()
        process = start_process(_work, theirs, serve)
        theirs.close()
        member = _Member[Unit](ours, process, serve)
        self._members.append(member)
        return member

    def _end(self, members: list[_Member[Unit]]) -> None:
        """Ends processes, even while they work."""
        for member in members:
            member.pipe.close()
            self._members.remove(member)
        end_processes([member.process for member in members])


def start_process(target: Callable[..., object], *arguments: Any) -> BaseProcess:
    """Starts a process that calls a function. It ignores Ctrl-C; SIGTERM, or the end of its parent, ends it by an
    exception, so that its resources are closed. Raises OSError if it cannot be started."""
    for _ in range(_MOST_STARTS):
        process = _context().Process(target=_begin, args=(dict(os.environ), target, *arguments), daemon=True)
        try:
            process.start()
            return process
        except (ConnectionError, EOFError):  # the server is being killed; after its end there is a new one
            time.sleep(_WAIT_SECONDS)
    raise OSError("the server process that forks the workers ends at its start: too little memory?")


def _context() -> ForkServerContext | SpawnContext:
    """Returns the context whose processes are forked from a server that has imported this process's modules once: they
    start at once, share its memory, and inherit neither threads nor each other's pipes."""
    context = get_context("forkserver")
    context.set_forkserver_preload(sorted(name for name in sys.modules if name.startswith(("annotate.", "kanachan."))))
    resource_tracker.ensure_running()  # first, as its start would unblock the signals
    # The server inherits this: a signal to all processes does not end it, and it finds the modules of this process.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    path = {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)), "PYTHONSAFEPATH": "1"}
    environment = {name: os.environ.get(name) for name in path}
    os.environ.update(path)
    try:
        forkserver.ensure_running()
    except OSError:  # no folder for its socket, or the socket's path is too long: nothing has been started yet
        return get_context("spawn")
    finally:
        for name, value in environment.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return context


def _begin(environment: dict[str, str], target: Callable[..., object], *arguments: Any) -> None:
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, leave)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)
    threading.Thread(target=_wait_for_parent, daemon=True).start()
    target(*arguments)


def end_processes(processes: Sequence[BaseProcess]) -> None:
    """Asks processes to end, and kills any process that has not ended in time."""
    for process in processes:
        process.terminate()
    for process in processes:
        process.join(_END_SECONDS)
        if process.is_alive():
            process.kill()
            process.join()


def _work(pipe: Any, serve: Serve[Unit, Result]) -> None:
    """Runs in a worker process: receives units and sends their results, until it receives None."""
    units: SimpleQueue[Any] = SimpleQueue()
    # read while a result is sent, as the parent may be sending too
    threading.Thread(target=_receive, args=(pipe, units), daemon=True).start()
    try:
        with closing(serve(iter(units.get, None), StopRequest())) as results:
            for unit, result in results:
                pipe.send((unit, result))
        pipe.send(None)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the parent has ended
    except SystemExit:
        raise
    except BaseException as error:  # a panic of the rules engine is not an Exception
        pipe.send(portable(error))
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it ends anyway; an exception at the exit would be printed


def _receive(pipe: Any, units: "SimpleQueue[Any]") -> None:
    """Passes the parent's messages on to `units`, until a None or the parent's end. Ends the process if a message
    cannot be read (out of memory?), so that another process does the work."""
    try:
        with suppress(EOFError, OSError):
            while (unit := pipe.recv()) is not None:
                units.put(unit)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    units.put(None)


def _wait_for_parent() -> None:
    """Sends SIGTERM to this process when its parent has ended."""
    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)


def portable(error: BaseException) -> Exception:
    """Returns the exception to send: the same one for a user's error, else a RuntimeError with the traceback."""
    if not isinstance(error, ValueError | OSError):
        return RuntimeError("".join(traceback.format_exception(error)))
    try:
        return pickle.loads(pickle.dumps(error))
    except Exception:  # it cannot be created from its arguments
        return OSError(str(error))


def leave(number: int, frame: FrameType | None) -> None:
    """Ends a process at a signal by an exception, so that its resources, such as programs, are closed."""
    sys.exit(128 + number)
