"""The effects of SIGTERM and Ctrl-C on a program."""

import signal
import sys
import time
from collections.abc import Callable

import pytest

from annotate.runtime.signals import Stopped, noting_stop_signals, stopping_at_once


class Cleared:
    """An object whose finaliser runs code, in which exceptions are swallowed."""

    def __init__(self, action: Callable[[], object]) -> None:
        self.action = action

    def __del__(self) -> None:
        self.action()


def test_sigterm_stops_at_once_with_the_status_of_shells() -> None:
    with pytest.raises(Stopped, match="stopped by SIGTERM") as stopped, stopping_at_once():
        signal.raise_signal(signal.SIGTERM)
    assert stopped.value.status == 143


def test_sigterm_stops_the_program_although_python_swallows_its_exception() -> None:
    before = signal.getsignal(signal.SIGALRM), sys.unraisablehook
    with pytest.raises(Stopped), stopping_at_once():
        Cleared(lambda: signal.raise_signal(signal.SIGTERM))
        time.sleep(60)
    assert (signal.getsignal(signal.SIGALRM), sys.unraisablehook) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_a_stop_that_was_swallowed_does_not_interrupt_a_block_that_defers_stops() -> None:
    with stopping_at_once():
        Cleared(lambda: signal.raise_signal(signal.SIGTERM))
        with noting_stop_signals() as request:
            time.sleep(0.1)
        assert request.received == signal.SIGTERM


def test_a_second_sigterm_does_not_interrupt_the_clean_up() -> None:
    cleared = False
    with pytest.raises(Stopped), stopping_at_once():
        try:
            Cleared(lambda: signal.raise_signal(signal.SIGTERM))
            signal.raise_signal(signal.SIGTERM)
        finally:
            time.sleep(0.1)
            cleared = True
    assert cleared


def test_other_exceptions_that_python_swallows_are_reported_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda swallowed: reported.append(swallowed.exc_type))
    with stopping_at_once():
        Cleared(lambda: 1 // 0)
    assert reported == [ZeroDivisionError]


def test_a_deferred_signal_stops_nothing_until_it_is_repeated() -> None:
    with noting_stop_signals() as request:
        assert request.received is None
        signal.raise_signal(signal.SIGTERM)
        assert request.received == signal.SIGTERM
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
