"""The effects of SIGTERM and Ctrl-C on a program."""

import signal

import pytest

from annotate.runtime.signals import Stopped, noting_stop_signals, stopping_at_once


def test_sigterm_stops_at_once_with_the_status_of_shells() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Stopped, match="stopped by SIGTERM") as stopped, stopping_at_once():
        signal.raise_signal(signal.SIGTERM)
    assert stopped.value.status == 143
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_deferred_signal_stops_nothing_until_it_is_repeated() -> None:
    with stopping_at_once(), noting_stop_signals() as request:
        assert request.received is None
        signal.raise_signal(signal.SIGTERM)
        assert request.received == signal.SIGTERM
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
