"""Stops a run on a signal, or saves a checkpoint when it is time: all processes agree on it between two steps."""

import os
import signal
from enum import IntEnum
from types import FrameType

import lightning as L
import torch

_BATCHES_BETWEEN_CHECKS = 8  # on several GPUs


class RunStopped(Exception):
    """Raised when a signal has stopped the run and its checkpoint is complete."""

    def __init__(self, signal_name: str, step: int) -> None:
        super().__init__(f"stopped by {signal_name} after step {step}")
        self.signal_name = signal_name


class StopSignals:
    """A handler of `NUMBERS` that records a stop signal. It only sets a flag; all processes agree on the flag at the
    end of a step."""

    NUMBERS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)

    def __init__(self) -> None:
        self.received: signal.Signals | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT:  # a second Ctrl-C does not wait for the step
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.write(2, b"\nstopping after this step; again to stop at once\n")
        self.received = signal.Signals(number)


class Wish(IntEnum):
    """Request of a process after a step, in order of urgency; the most urgent one of all processes is carried out."""

    NOTHING = 0
    CHECKPOINT = 1
    STOP = 2


class WishExchange:
    """Finds the most urgent wish of all processes of a run. On several GPUs, they exchange their wishes while they
    continue, so that no process waits for its GPU."""

    def __init__(self) -> None:
        self._asked: tuple[torch.Tensor, torch.cuda.Event] | None = None
        """the exchange that was started last"""

    def most_urgent(self, own: Wish, trainer: L.Trainer, number: int, batches: int) -> Wish:
        """Returns the most urgent wish; every process must call it with the same numbers. Several GPUs exchange wishes
        about every eighth batch, where each call returns the result of the preceding exchange. `number`: number of the
        call; `batches`: batches between two calls."""
        if trainer.world_size == 1:  # Lightning's strategies for several processes would ask the GPU even then
            return own
        device = trainer.strategy.root_device
        if device.type != "cuda":
            return Wish(int(_sent(own, device)))
        if number % max(1, _BATCHES_BETWEEN_CHECKS // batches):
            return Wish.NOTHING
        found = Wish.NOTHING if self._asked is None else _received(*self._asked)
        self._asked = None if found else _copied(_sent(own, device))
        return found


def _sent(own: Wish, device: torch.device) -> torch.Tensor:
    """Starts to compute the maximum over all processes, which must call it in the same order."""
    # a copy from unpinned memory and Lightning's reduce would both wait for the GPU
    wish = torch.full((), int(own), dtype=torch.int32, device=device)
    torch.distributed.all_reduce(wish, torch.distributed.ReduceOp.MAX)
    return wish


def _copied(wish: torch.Tensor) -> tuple[torch.Tensor, torch.cuda.Event]:
    """Starts to copy a number from the GPU; returns the copy and the event after which it is there."""
    copy = torch.empty((), dtype=torch.int32, pin_memory=True).copy_(wish, non_blocking=True)
    event = torch.cuda.Event()  # type: ignore[no-untyped-call]
    event.record()
    return copy, event


def _received(copy: torch.Tensor, event: torch.cuda.Event) -> Wish:
    event.synchronize()
    return Wish(int(copy))
