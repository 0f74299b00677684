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


class Stopped(Exception):
    """The program was asked to stop, and has done so in order."""

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
        self.asked = signal.Signals(number)


@contextmanager
def noting_stop_signals() -> Iterator[StopRequest]:
    """Within, the first Ctrl-C or SIGTERM is only noted; the second is a KeyboardInterrupt."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.signal(number, request) for number in _SIGNALS}
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
    handlers = {signal.SIGTERM: _stop, signal.SIGALRM: _stop_again}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    told, sys.unraisablehook = sys.unraisablehook, _keep_stopping(sys.unraisablehook)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = told
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped(number, f"stopped by {signal.Signals(number).name}")


def _stop_again(number: int, frame: FrameType | None) -> None:
    _stop(signal.SIGTERM, frame)


def _keep_stopping(tell: Callable[["UnraisableHookArgs"], object]) -> Callable[["UnraisableHookArgs"], object]:
    """A hook that hears of swallowed exceptions, and tells of all but Stopped."""

    def hook(swallowed: "UnraisableHookArgs") -> None:
        if isinstance(swallowed.exc_value, Stopped):
            signal.setitimer(signal.ITIMER_REAL, 0.001)  # in a moment: what is raised in here is swallowed as well
        else:
            tell(swallowed)

    return hook
