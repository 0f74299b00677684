"""Ctrl-C and SIGTERM: noted first, so that a program can stop where nothing is half done, or obeyed in order."""

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
    """The program was asked to stop, and has done so in order. No Exception, as KeyboardInterrupt is none: libraries
    must not take it for a mistake."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(text)
        self.status = 128 + number
        """exit status, as shells have it"""


class StopRequest:
    """Whether the program was asked to stop."""

    asked: signal.Signals | None = None
    """by which signal"""

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.asked is not None:  # asked twice: at once then
            raise KeyboardInterrupt
        self.asked = signal.SIGTERM if number == signal.SIGALRM else signal.Signals(number)


@contextmanager
def noting_stop_signals() -> Iterator[StopRequest]:
    """Within, the first Ctrl-C or SIGTERM is only noted; the second is a KeyboardInterrupt."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    # the alarm is a stop that was swallowed within `stopping_at_once`
    is_stop = isinstance(signal.getsignal(signal.SIGALRM), _Insistence)
    before = {number: signal.signal(number, request) for number in (*_SIGNALS, *[signal.SIGALRM] * is_stop)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def stopping_at_once() -> Iterator[None]:
    """Within, SIGTERM raises Stopped, as Ctrl-C raises KeyboardInterrupt, so that what was begun is cleared away.

    What is raised while Python clears an object away (an import alone does that) is swallowed: it is raised again.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    insistence = _Insistence(sys.unraisablehook)
    handlers: dict[int, Callable[[int, FrameType | None], None]] = {signal.SIGTERM: _stop, signal.SIGALRM: insistence}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    sys.unraisablehook = insistence.hear
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = insistence.tell
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)  # of a stop before this one: once is enough
    raise Stopped(number, f"stopped by {signal.Signals(number).name}")


class _Insistence:
    """Raises again what was swallowed of Stopped and KeyboardInterrupt: hears of it as the hook of swallowed
    exceptions, and is the handler of SIGALRM.

    Args:
        tell: the hook that is told of all others.
    """

    def __init__(self, tell: Callable[["UnraisableHookArgs"], object]) -> None:
        self.tell = tell
        self._swallowed: BaseException | None = None

    def hear(self, swallowed: "UnraisableHookArgs") -> None:
        if isinstance(swallowed.exc_value, Stopped | KeyboardInterrupt):
            self._swallowed = swallowed.exc_value
            signal.setitimer(signal.ITIMER_REAL, 0.001)  # in a moment: what is raised in here is swallowed as well
        else:
            self.tell(swallowed)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._swallowed is not None:
            raise self._swallowed
