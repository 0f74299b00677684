"""Ctrl-C and SIGTERM: deferred, so that a program stops at a safe point, or raised as exceptions."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


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
        self.received = signal.SIGTERM if number == signal.SIGALRM else signal.Signals(number)


@contextmanager
def noting_stop_signals() -> Iterator[StopRequest]:
    """Defers the first Ctrl-C or SIGTERM within the block to the yielded request; the second is a KeyboardInterrupt."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    # the alarm repeats a stop that was swallowed within `stopping_at_once`
    is_stop = isinstance(signal.getsignal(signal.SIGALRM), _Reraiser)
    before = {number: signal.signal(number, request) for number in (*_SIGNALS, *[signal.SIGALRM] * is_stop)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def stopping_at_once() -> Iterator[None]:
    """Makes SIGTERM within the block raise Stopped, as Ctrl-C raises KeyboardInterrupt, so that clean-up code runs.

    An exception raised while Python finalises an object (an import alone does that) is swallowed: it is raised again.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reraiser = _Reraiser(sys.unraisablehook)
    handlers: dict[int, Callable[[int, FrameType | None], None]] = {signal.SIGTERM: _stop, signal.SIGALRM: reraiser}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    sys.unraisablehook = reraiser.hook
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = reraiser.previous_hook
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)  # cancels the repetition of an earlier stop
    raise Stopped(number, f"stopped by {signal.Signals(number).name}")


class _Reraiser:
    """Raises swallowed Stopped and KeyboardInterrupt again: receives them as the hook of swallowed exceptions, and is
    the handler of SIGALRM.

    Args:
        previous_hook: the hook of all other exceptions.
    """

    def __init__(self, previous_hook: Callable[["UnraisableHookArgs"], object]) -> None:
        self.previous_hook = previous_hook
        self._swallowed: BaseException | None = None

    def hook(self, swallowed: "UnraisableHookArgs") -> None:
        if isinstance(swallowed.exc_value, Stopped | KeyboardInterrupt):
            self._swallowed = swallowed.exc_value
            signal.setitimer(signal.ITIMER_REAL, 0.001)  # deferred: what is raised here is swallowed as well
        else:
            self.previous_hook(swallowed)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._swallowed is not None:
            raise self._swallowed
