"""Ctrl-C and SIGTERM: deferred, so that a program stops at a safe point, or raised as exceptions; and the end of a
process with its parent."""

import ctypes
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

_PR_SET_PDEATHSIG = 1  # of linux/prctl.h


class Stopped(BaseException):
    """Raised after an orderly stop by a signal. Not an Exception, as KeyboardInterrupt is not: libraries must not
    handle it as an error."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(text)
        self.status = 128 + number
        """exit status, as shells have it"""


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
    """Defers the first Ctrl-C or SIGTERM within the block to the yielded request; the second is a KeyboardInterrupt."""
    request = StopRequest()
    with _handling((signal.SIGINT, signal.SIGTERM), request):
        yield request


def stopping_at_once() -> AbstractContextManager[None]:
    """Makes SIGTERM within the block raise Stopped, as Ctrl-C raises KeyboardInterrupt, so that clean-up code runs."""
    return _handling((signal.SIGTERM,), _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped(number, f"stopped by {signal.Signals(number).name}")


@contextmanager
def _handling(signals: Sequence[signal.Signals], handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handles signals within the block, in the main thread; no other thread may."""
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
    """Has the kernel kill this process as soon as its parent has ended, however it did: otherwise it would hold locks
    and devices. Only Linux can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
