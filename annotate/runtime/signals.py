"""Handles Ctrl-C and SIGTERM, deferred so that a program stops at a safe point, or raised as exceptions; also ends
processes with their parent."""

import ctypes
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

_PR_SET_PDEATHSIG = 1  # from linux/prctl.h


class Stopped(BaseException):
    """Raised after an orderly stop by a signal. Like KeyboardInterrupt it is not an Exception, as libraries must not
    handle it as an error."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(text)
        self.status = 128 + number
        """exit status, as in shells"""


class StopRequest:
    """A signal handler that records the first request to stop."""

    received: signal.Signals | None = None
    """the signal; None: no request so far"""

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None:  # the second request stops at once
            raise KeyboardInterrupt
        self.received = signal.Signals(number)


@contextmanager
def noting_stop_signals() -> Iterator[StopRequest]:
    """Defers the first Ctrl-C, SIGTERM or SIGUSR1 (of Slurm) within the block to the yielded request; the second is a
    KeyboardInterrupt."""
    request = StopRequest()
    with handling((signal.SIGINT, signal.SIGTERM, signal.SIGUSR1), request):
        yield request


def stopping_at_once() -> AbstractContextManager[None]:
    """Makes SIGTERM within the block raise Stopped, as Ctrl-C raises KeyboardInterrupt, so that clean-up code runs."""
    return handling((signal.SIGTERM,), _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped(number, f"stopped by {signal.Signals(number).name}")


@contextmanager
def handling(signals: Sequence[signal.Signals], handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handles signals within the block if this is the main thread; other threads may not."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in signals}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


def end_with_parent() -> None:
    """Makes the kernel kill this process as soon as its parent has ended in any way; otherwise it would hold locks and
    devices. Only on Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
